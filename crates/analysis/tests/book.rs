//! What the book's page on uniformity shows is what the analysis says: an
//! annotated kernel, scopes, idioms, thread ids and reasons. Also the ranks of
//! ends on the page on the execution model. `BLESS=1` rewrites the former.

use std::path::{Path, PathBuf};

use warpfold_analysis::EndKind;
use warpfold_analysis::uniformity::{
    LaunchShape, Reason, Scope, Uniformity, UniformityOptions, annotate,
};
use warpfold_ir::{Block, Function, Opcode, Value, parse_function, verify};

fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page)
}

fn read(page: &str) -> String {
    std::fs::read_to_string(path(page)).expect("the page is there")
}

/// Where the text of a marked place stands in a page.
fn place(page: &str, name: &str) -> std::ops::Range<usize> {
    let begin = format!("<!-- begin: {name} -->\n");
    let end = format!("<!-- end: {name} -->");
    let from = page.find(&begin).expect("the place is there") + begin.len();
    from..from + page[from..].find(&end).expect("the place has an end")
}

fn function(text: &str) -> Function {
    let func = parse_function(text).expect("the example is IR");
    verify(&func).expect("the example is valid");
    func
}

fn analyse(func: &Function, shape: LaunchShape) -> Uniformity {
    let options = UniformityOptions {
        shape,
        ..UniformityOptions::default()
    };
    Uniformity::new(func, &options)
}

/// The example with the findings that it has now; its old ones are comments.
fn example(page: &str) -> String {
    let text = &page[place(page, "example")];
    let func = function(&text.replace("```text\n", "").replace("```\n", ""));
    let uniformity = analyse(&func, LaunchShape::new([2, 1, 1], [64, 1, 1]));
    let text = annotate(&func, &uniformity);
    let code = |l: &str| l.split(" ; ").next().map_or(0, |c| c.chars().count());
    let wide = text.lines().filter(|l| l.contains(" ; ")).map(code).max();
    let wide = wide.unwrap_or(0);
    let mut out = "```text\n".to_owned();
    for line in text.lines() {
        match line.split_once(" ; ") {
            Some((code, note)) => out += &format!("{code:wide$} ; {note}\n"),
            None => out += &format!("{line}\n"),
        }
    }
    out + "```\n"
}

fn scopes() -> String {
    // A new scope does not compile until it has its line.
    let meaning = |s: Scope| match s {
        Scope::Const => "one number, known here",
        Scope::Grid => "one number for the launch",
        Scope::Block => "one number for each block",
        Scope::Warp => "one number for each warp",
        Scope::Lane => "lanes of one warp may differ",
    };
    let all = [
        Scope::Const,
        Scope::Grid,
        Scope::Block,
        Scope::Warp,
        Scope::Lane,
    ];
    assert!(all.is_sorted(), "from the most to the least uniform");
    let mut text = "| scope | meaning |\n|---|---|\n".to_owned();
    for s in all {
        text += &format!("| `{s}` | {} |\n", meaning(s));
    }
    text
}

/// What is computed, in words and in IR; the last value is meant.
const IDIOMS: &[(&str, &str)] = &[
    ("tid >> 5", "v4 = const.i32 5\nv5 = ushr.i32 v3, v4"),
    ("tid & ~31", "v4 = const.i32 -32\nv5 = band.i32 v3, v4"),
    (
        "tid / 32 % 2 == 0",
        "v4 = const.i32 32\nv5 = udiv.i32 v3, v4\nv6 = const.i32 2\nv7 = urem.i32 v5, v6\n\
         v8 = const.i32 0\nv9 = icmp.i32 eq v7, v8",
    ),
    ("tid < 32", "v4 = const.i32 32\nv5 = icmp.i32 ult v3, v4"),
    ("tid < 16", "v4 = const.i32 16\nv5 = icmp.i32 ult v3, v4"),
    ("tid & 1", "v4 = const.i32 1\nv5 = band.i32 v3, v4"),
    (
        "ctaid · ntid + tid",
        "v4 = ctaid_x\nv5 = ntid_x\nv6 = imul.i32 v4, v5\nv7 = iadd.i32 v6, v3",
    ),
    (
        "a + 4 · tid",
        "v4 = const.i32 4\nv5 = imul.i32 v3, v4\nv6 = iadd.i32 v0, v5",
    ),
    (
        "(a + 4 · tid) − 4 · tid",
        "v4 = const.i32 4\nv5 = imul.i32 v3, v4\nv6 = iadd.i32 v0, v5\nv7 = isub.i32 v6, v5",
    ),
    ("x − x", "v4 = isub.i32 v2, v2"),
    (
        "load of a uniform address, in a kernel that stores nowhere",
        "v4 = load.i32 v1",
    ),
    ("the same, `readonly`", "v4 = load.i32 readonly v1"),
    (
        "load of an address of the lane's own",
        "v4 = uextend.i64 v3\nv5 = iadd.i64 v1, v4\nv6 = load.i32 v5",
    ),
    (
        "atomic access (lanes take turns)",
        "v4 = atomic_add.i32 v0, v1",
    ),
    (
        "ballot of a lane's truth",
        "v4 = icmp.i32 ult v2, v0\nv5 = ballot v4",
    ),
];

fn idioms() -> String {
    let mut text = "| with `a` uniform and `x` varying | claim |\n|---|---|\n".to_owned();
    for (words, lines) in IDIOMS {
        let func = function(&format!(
            "function %f(i32, i64, i32 varying) {{\n\
             block0(v0: i32, v1: i64, v2: i32):\nv3 = tid_x\n{lines}\nret\n}}\n"
        ));
        let last = Value::from_u32(lines.lines().count() as u32 + 3);
        let uniformity = analyse(&func, LaunchShape::one_dimensional());
        text += &format!("| {words} | `{}` |\n", uniformity.shape(last));
    }
    text
}

fn ids() -> String {
    let func = function("function %f() {\nblock0:\nv0 = tid_x\nv1 = tid_y\nv2 = tid_z\nret\n}\n");
    let mut text = "| block | `tid_x` | `tid_y` | `tid_z` |\n|---|---|---|---|\n".to_owned();
    let known = |b: [u32; 3]| LaunchShape::unknown().with_block(b.map(Some));
    for (name, shape) in [
        ("unknown", LaunchShape::unknown()),
        ("one dimension, any size", LaunchShape::one_dimensional()),
        ("64 × 1 × 1", known([64, 1, 1])),
        ("64 × 2 × 2", known([64, 2, 2])),
        ("65 × 2 × 1", known([65, 2, 1])),
        ("8 × 8 × 1", known([8, 8, 1])),
        ("8 × 4 × 2", known([8, 4, 2])),
    ] {
        let u = analyse(&func, shape);
        let claims: Vec<String> = (0..3)
            .map(|v| format!("`{}`", u.shape(Value::from_u32(v))))
            .collect();
        text += &format!("| {name} | {} |\n", claims.join(" | "));
    }
    text
}

fn reasons() -> String {
    let (value, block) = (Value::from_u32(1), Block::from_u32(2));
    let all = [
        Reason::Parameter(0),
        Reason::Source(Opcode::LaneId),
        Reason::Memory(Opcode::Load),
        Reason::Operand(value),
        Reason::Join { branch: block },
        Reason::Temporal {
            value,
            header: Block::from_u32(1),
            branch: block,
        },
        Reason::Separated { branch: block },
        Reason::Left { at: block },
        Reason::Waited { at: block },
        Reason::Called,
        Reason::Budget,
        Reason::Unknown,
    ];
    let mut text = "| reason | goes on with |\n|---|---|\n".to_owned();
    for reason in all {
        // A new reason does not compile until it is thought of here.
        let next = match reason {
            Reason::Operand(_) => "that value",
            Reason::Join { .. } | Reason::Temporal { .. } | Reason::Separated { .. } => {
                "that branch"
            }
            Reason::Parameter(_)
            | Reason::Source(_)
            | Reason::Memory(_)
            | Reason::Left { .. }
            | Reason::Waited { .. }
            | Reason::Called
            | Reason::Budget
            | Reason::Unknown => "nothing",
        };
        text += &format!("| … {reason} | {next} |\n");
    }
    text
}

#[test]
fn uniformity_page() {
    let old = read("uniformity.md");
    let mut want = old.clone();
    for (name, text) in [
        ("example", example(&old)),
        ("scopes", scopes()),
        ("idioms", idioms()),
        ("ids", ids()),
        ("reasons", reasons()),
    ] {
        let at = place(&want, name);
        want.replace_range(at, &text);
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path("uniformity.md"), &want).expect("the page can be written");
    } else {
        assert!(
            old == want,
            "docs/uniformity.md differs from the code; run with BLESS=1 to rewrite it"
        );
    }
}

/// The page's tables link every file of their folders, and no others.
#[test]
fn every_pattern_and_trap_has_its_file() {
    let page = read("uniformity.md");
    for (name, folder, least) in [("precision", "precision", 20), ("traps", "traps", 18)] {
        let from = format!("../tests/filetests/uniformity/{folder}/");
        let text = &page[place(&page, name)];
        let links = text.split(&from).skip(1);
        let mut linked: Vec<&str> = links.filter_map(|l| Some(l.split_once(')')?.0)).collect();
        linked.sort_unstable();
        let files = std::fs::read_dir(path(&from)).expect("the folder is there");
        let mut files: Vec<String> = files
            .map(|f| {
                f.expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        files.sort_unstable();
        assert_eq!(linked, files, "{folder}");
        assert!(files.len() >= least, "{folder}");
        for file in files {
            let text = std::fs::read_to_string(path(&format!("{from}{file}")));
            assert!(text.is_ok_and(|t| t.contains("notes=beside")), "{file}");
        }
    }
}

#[test]
fn ends_are_ranked_as_the_book_says() {
    let all = [
        EndKind::ReturnAfterBarrier,
        EndKind::Return,
        EndKind::Trap,
        EndKind::Loop,
    ];
    assert!(all.is_sorted(), "the order is the order of ranks");
    let mut table = "| rank | end |\n|---|---|\n".to_owned();
    for (i, kind) in all.into_iter().enumerate() {
        let what = match kind {
            EndKind::ReturnAfterBarrier => "a return that some barrier can reach",
            EndKind::Return => "any other return",
            EndKind::Trap => "a trap",
            EndKind::Loop => "a loop that never leaves",
        };
        table += &format!("| {} | {what} |\n", i + 1);
    }
    assert!(read("execution-model.md").contains(&table));
}
