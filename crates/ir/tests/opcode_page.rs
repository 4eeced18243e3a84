//! The committed opcode page is what the table says.

use std::path::Path;

#[test]
fn the_opcode_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/opcodes.md");
    let page = warpfold_ir::docs::opcode_page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let committed = std::fs::read_to_string(&path).expect("docs/opcodes.md exists");
    assert!(
        committed == page,
        "docs/opcodes.md differs from the opcode table; run with BLESS=1 to rewrite it"
    );
}

#[test]
fn every_opcode_has_one_row() {
    let page = warpfold_ir::docs::opcode_page();
    for op in warpfold_ir::Opcode::ALL {
        let rows = page.matches(&format!("\n| `{op}` |")).count();
        assert_eq!(rows, 1, "{op}");
    }
}
