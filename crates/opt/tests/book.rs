//! The tables in the book's pages on if-conversion and policies are the code's.
//! `BLESS=1` rewrites them.

use std::path::Path;

fn check(page: &str, tables: &[(&str, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let mut want = page.clone();
    for (name, table) in tables {
        let (begin, end) = (
            format!("<!-- begin: {name} -->\n"),
            format!("<!-- end: {name} -->"),
        );
        let from = want.find(&begin).expect("the table has a place") + begin.len();
        let to = from + want[from..].find(&end).expect("the place has an end");
        want.replace_range(from..to, table);
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &want).expect("the page can be written");
    } else {
        assert_eq!(page, want, "run with BLESS=1 to update the page");
    }
}

#[test]
fn the_tables_are_the_codes() {
    check("if-conversion.md", &warpfold_opt::docs::tables());
}

#[test]
fn the_policies_are_the_codes() {
    check(
        "policies.md",
        &[("policies", warpfold_opt::docs::policies())],
    );
}
