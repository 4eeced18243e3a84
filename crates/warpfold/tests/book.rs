//! What the book's page on launches lists is what the reader of launches
//! knows: its keys, names and limits, and what each form gives. `BLESS=1`
//! rewrites the last column of the tables of forms.

use std::path::{Path, PathBuf};

use warpfold::exec::{Arg, Launch, MAX_BLOCK_THREADS, MAX_SHARED, SHARED_BASE};
use warpfold::ir::print::Literal;
use warpfold::ir::{Function, FunctionBuilder, Type};
use warpfold::launch::{
    ArgKind, ArgOverride, LaunchSpec, MAX_BUFFER_BYTES, MAX_THREADS, Overrides,
};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/launch.md")
}

fn read() -> String {
    std::fs::read_to_string(path()).expect("the page is there")
}

/// Where the rows of a marked table stand in the page.
fn place(page: &str, name: &str) -> std::ops::Range<usize> {
    let begin = format!("<!-- begin: {name} -->\n");
    let end = format!("<!-- end: {name} -->");
    let table = page.find(&begin).expect("the table is there") + begin.len();
    let rule = page[table..].find("|---").expect("it has a head") + table;
    let from = page[rule..].find('\n').expect("it has rows") + rule + 1;
    from..from + page[from..].find(&end).expect("the place has an end")
}

/// The cells of a row; a `\|` is no border.
fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    let text = inner.replace("\\|", "\u{0}");
    let cells = text.split('|');
    cells.map(|c| c.trim().replace('\u{0}', "|")).collect()
}

fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The text of a cell that is one piece of code.
fn code(cell: &str) -> &str {
    cell.strip_prefix('`')
        .and_then(|c| c.strip_suffix('`'))
        .unwrap_or_else(|| panic!("`{cell}` is no piece of code"))
}

fn first_column(page: &str, name: &str) -> Vec<String> {
    let rows = page[place(page, name)].lines();
    rows.map(|r| code(&cells(r)[0]).to_owned()).collect()
}

/// The list behind `known here: ` in the error that a header gives.
fn known(header: &str) -> Vec<String> {
    let error = LaunchSpec::from_source(header)
        .expect_err("there is something unknown")
        .to_string();
    let (_, list) = error.split_once("known here: ").expect(&error);
    list.split(", ").map(str::to_owned).collect()
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

#[test]
fn keys_and_names_are_the_readers() {
    let page = read();
    let told = |name| sorted(first_column(&page, name));
    assert_eq!(told("launch keys"), sorted(known(";! nonsense = 1")));
    let buffer = ";! [[arg]]\n;! buffer = \"i32\"\n;! len = 1\n;! nonsense = 1";
    assert_eq!(told("arg keys"), sorted(known(buffer)));
    let mut names = told("names");
    names.extend(["max".to_owned(), "min".to_owned()]);
    let thread = known(";! [[arg]]\n;! varying = \"nonsense\"");
    assert_eq!(sorted(names), sorted(thread));
    let element = known(";! [[arg]]\n;! buffer = \"i32\"\n;! len = 1\n;! init = \"nonsense\"");
    assert_eq!(element, ["i", "min", "max"]);
}

/// The words that a reader's complaint of too few or too many names.
fn quoted(error: &str) -> Vec<String> {
    let words = error.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

#[test]
fn every_form_is_in_its_table() {
    let page = read();
    let complaint = |header: &str| -> Vec<String> {
        let error = LaunchSpec::from_source(header).expect_err("it lacks something");
        quoted(&error.message).split_off(1)
    };
    let init = complaint(";! [[arg]]\n;! buffer = \"i32\"\n;! len = 1\n;! init = {}");
    assert_eq!(init, ["constant", "values", "random", "file"]);
    let varying = complaint(";! [[arg]]\n;! varying = {}");
    assert_eq!(varying, ["values", "random"]);
    for (table, words) in [("init forms", init), ("varying forms", varying)] {
        let forms = first_column(&page, table);
        for word in words {
            let key = format!("{{ {word} = ");
            assert!(forms.iter().any(|f| f.starts_with(&key)), "{table}: {word}");
        }
    }
    let elements = page.lines().find(|l| l.starts_with("| `buffer` |"));
    let elements = elements.expect("the row on buffers");
    for ty in Type::ALL {
        let header = format!(";! [[arg]]\n;! buffer = \"{ty}\"\n;! len = 1");
        let ok = LaunchSpec::from_source(&header).is_ok();
        assert_eq!(ok, elements.contains(&format!("`{ty}`")), "{ty}");
    }
}

#[test]
fn limits_are_the_codes() {
    let page = read().replace('\n', " ");
    for (n, what) in [
        (MAX_BLOCK_THREADS, "threads of a block"),
        (MAX_THREADS, "threads of a launch"),
        (MAX_BUFFER_BYTES, "bytes of buffers together"),
        (MAX_SHARED.into(), "bytes of shared memory"),
    ] {
        let limit = format!("{} {what}", grouped(n));
        assert!(page.contains(&limit), "{limit}");
    }
    // Both pages say whose limit of threads is whose.
    assert!(page.contains(&grouped(warpfold::exec::MAX_THREADS)));
    let model = include_str!("../../../docs/execution-model.md");
    let stated = format!("{} threads](launch.md#limits)", grouped(MAX_THREADS));
    assert!(model.contains(&stated), "{stated}");
}

/// Digits in threes.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let threes = digits.as_bytes().rchunks(3).rev();
    let threes: Vec<&str> = threes.map(|t| std::str::from_utf8(t).unwrap()).collect();
    threes.join(",")
}

/// A kernel with these parameters.
fn kernel(types: &[Type]) -> Function {
    let mut b = FunctionBuilder::new("k");
    for &ty in types {
        b.param(ty, false);
    }
    b.ret(&[]);
    b.finish()
}

fn list(numbers: impl IntoIterator<Item = String>) -> String {
    let numbers: Vec<String> = numbers.into_iter().collect();
    format!("`{}`", numbers.join(", "))
}

/// The launch of a spec; buffers go to `i64` parameters, others to `i32` ones,
/// to `i64` if they are addresses.
fn launch(spec: &LaunchSpec) -> Launch {
    let types: Vec<Type> = spec
        .args
        .iter()
        .map(|arg| match &arg.kind {
            ArgKind::Buffer { .. } => Type::I64,
            ArgKind::Varying(v) if v.base.is_some() => Type::I64,
            _ => Type::I32,
        })
        .collect();
    spec.build(&kernel(&types), Path::new("/nonexistent"))
        .expect("the form is right")
}

/// What the last argument of a launch passes.
fn passes(spec: &LaunchSpec) -> String {
    let launch = launch(spec);
    let argument = spec.args.last().expect("there is one");
    let number = |bits: u128| Literal(Type::I32, bits).to_string();
    match (&argument.kind, launch.args.last().expect("as many")) {
        (ArgKind::Buffer { .. }, _) => {
            let bytes = launch.memory.bytes(launch.memory.len() - 1);
            list(bytes.chunks(4).map(|c| {
                let bits = u32::from_le_bytes(c.try_into().expect("four"));
                number(bits.into())
            }))
        }
        (_, Arg::Uniform(bits)) => list([number(*bits)]),
        (ArgKind::Varying(v), Arg::Varying(lanes)) => {
            let lanes = lanes[..4].iter();
            match v.base.as_deref() {
                None => list(lanes.map(|&bits| number(bits))),
                Some(name) => {
                    let base = match name {
                        "shared" => SHARED_BASE,
                        _ => launch.memory.address(0),
                    };
                    list(lanes.map(|&a| format!("{name} + {}", a - u128::from(base))))
                }
            }
        }
        (kind, _) => panic!("{kind:?}"),
    }
}

/// A buffer called `in`, so that there is one to refer to.
const IN: &str = ";! [[arg]]\n;! name = \"in\"\n;! buffer = \"i32\"\n;! len = 4\n";

fn stated(header: &str) -> LaunchSpec {
    LaunchSpec::from_source(&format!("{IN}{header}")).expect("the form is right")
}

fn overridden(spec: &str) -> LaunchSpec {
    let mut base = stated("");
    let arg: ArgOverride = format!("1={spec}").parse().expect("the form is right");
    let overrides = Overrides {
        args: vec![arg],
        ..Overrides::default()
    };
    base.apply(&overrides).expect("it is the next argument");
    base
}

/// What thread 101 of blocks of 64 gets.
fn in_thread_101(expr: &str) -> String {
    let mut spec = stated(&format!(";! [[arg]]\n;! varying = \"{expr}\"\n"));
    spec.grid = Some([2, 1, 1]);
    spec.block = Some([64, 1, 1]);
    match launch(&spec).args.last() {
        Some(Arg::Varying(lanes)) => list([Literal(Type::I32, lanes[101]).to_string()]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn forms_give_what_the_page_says() {
    let old = read();
    let mut new = old.clone();
    let init = |form: &str| {
        passes(&stated(&format!(
            ";! [[arg]]\n;! buffer = \"i32\"\n;! len = 4\n;! init = {form}\n"
        )))
    };
    let varying = |form: &str| passes(&stated(&format!(";! [[arg]]\n;! varying = {form}\n")));
    let arg = |form: &str| passes(&overridden(form));
    // The table, which cell holds the form, and what it gives.
    type Rule<'a> = (&'a str, usize, &'a dyn Fn(&str) -> String);
    let rules: [Rule<'_>; 5] = [
        ("init forms", 0, &init),
        ("varying forms", 0, &varying),
        ("names", 0, &in_thread_101),
        ("operators", 1, &in_thread_101),
        ("arg forms", 0, &arg),
    ];
    for (table, from, gives) in rules {
        let at = place(&new, table);
        let rows: String = new[at.clone()]
            .lines()
            .map(|line| {
                let mut cells = cells(line);
                let form = code(&cells[from]).to_owned();
                let last = cells.len() - 1;
                if cells[last] != "the file" {
                    cells[last] = gives(&form);
                }
                row(&cells)
            })
            .collect();
        new.replace_range(at, &rows);
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path(), &new).expect("the page can be written");
    } else {
        assert!(
            old == new,
            "docs/launch.md differs from the code; run with BLESS=1 to rewrite it"
        );
    }
}

/// Both forms that read a file, which the tables cannot show.
#[test]
fn files_are_read_from_the_kernels_folder() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("x.bin"), [1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    let header = ";! [[arg]]\n;! buffer = \"i32\"\n;! init = { file = \"x.bin\" }\n";
    for spec in [stated(header), overridden("buf:i32:2:@x.bin")] {
        let func = kernel(&[Type::I64, Type::I64]);
        let launch = spec.build(&func, folder).unwrap();
        assert_eq!(launch.memory.bytes(1), [1, 0, 0, 0, 2, 0, 0, 0]);
    }
}
