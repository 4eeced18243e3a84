//! The pages of the book that this crate renders are up to date.

use std::path::Path;

fn compare(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page).expect("docs/ can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/{name} differs from the table; run with BLESS=1 to rewrite it"
    );
}

#[test]
fn coverage() {
    compare("clif.md", &warpfold_clif::coverage_page());
}

#[test]
fn intrinsics() {
    compare("intrinsics.md", &warpfold_clif::intrinsics_page());
}
