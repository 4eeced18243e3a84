//! The book's page on reports lists every key of every report, with what the
//! code says of it; real reports have these keys and no others. `BLESS=1`
//! rewrites the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use warpfold::exec::timing::{LoadLevel, TimingModel};
use warpfold::launch::Overrides;
use warpfold::machine::{MACHINES, Machine};
use warpfold::opt::policy::POLICIES;
use warpfold::{
    Canonical, Decider, Options, RunChecks, RunOptions, Settings, Source, Syntax, compare, render,
};

/// The files that say what reports are made of.
const SOURCES: [&str; 4] = [
    include_str!("../src/render/model.rs"),
    include_str!("../src/render/uniformity.rs"),
    include_str!("../src/render/policies.rs"),
    include_str!("../src/profile.rs"),
];

#[derive(Clone, Debug)]
struct Field {
    name: String,
    ty: String,
    doc: String,
    flat: bool,
}

/// The fields of all structs, as far as they are serialised.
fn structs() -> BTreeMap<String, Vec<Field>> {
    let mut all = BTreeMap::new();
    for source in SOURCES {
        let mut current: Option<(String, Vec<Field>)> = None;
        let (mut doc, mut skip, mut flat) = (Vec::new(), false, false);
        for line in source.lines() {
            let text = line.trim();
            if let Some(rest) = text.strip_prefix("/// ") {
                doc.push(rest.to_owned());
            } else if text.starts_with("#[serde(skip)]") {
                skip = true;
            } else if text.starts_with("#[serde(flatten)]") {
                flat = true;
            } else if text.starts_with("#[") {
            } else if let Some(head) = text
                .strip_prefix("pub struct ")
                .or(text.strip_prefix("struct "))
                .filter(|head| head.ends_with('{'))
            {
                let name = head.split(['<', ' ']).next().unwrap().to_owned();
                current = Some((name, Vec::new()));
                doc.clear();
            } else if text == "}" {
                if let Some((name, fields)) = current.take() {
                    all.insert(name, fields);
                }
            } else if let Some((_, fields)) = &mut current {
                let text = text.strip_prefix("pub ").unwrap_or(text);
                if let Some((name, ty)) = text.trim_end_matches(',').split_once(": ")
                    && !skip
                {
                    fields.push(Field {
                        name: name.to_owned(),
                        ty: ty.to_owned(),
                        doc: doc.join(" "),
                        flat,
                    });
                }
                (skip, flat) = (false, false);
                doc.clear();
            } else {
                (skip, flat) = (false, false);
                doc.clear();
            }
        }
    }
    all
}

/// One row: key with its path, type, meaning.
type Row = (String, String, String);

fn expand(structs: &BTreeMap<String, Vec<Field>>, name: &str, prefix: &str, rows: &mut Vec<Row>) {
    for field in &structs[name] {
        let mut ty = field.ty.as_str();
        let null = ty.starts_with("Option<");
        if let Some(inner) = ty.strip_prefix("Option<") {
            ty = &inner[..inner.len() - 1];
        }
        let list = ty.starts_with("Vec<");
        if let Some(inner) = ty.strip_prefix("Vec<") {
            ty = &inner[..inner.len() - 1];
        }
        if field.flat && ty == "Named" {
            let path = format!("{prefix}*");
            rows.push((
                path,
                "number".into(),
                "One of its figures by its name.".into(),
            ));
            continue;
        }
        if field.flat {
            expand(structs, ty, prefix, rows);
            continue;
        }
        let mut path = format!("{prefix}{}", field.name);
        if list {
            path += "[]";
        }
        let object = structs.contains_key(ty);
        let kind = match ty {
            _ if object => "object",
            "Named" => "object of numbers",
            ty if ty.starts_with("BTreeMap") => "object of numbers",
            ty if ty.starts_with('[') => "list of numbers",
            "String" | "&'static str" | "&'a str" => "text",
            "bool" => "bool",
            _ => "number",
        };
        let kind = match (list, null) {
            (true, _) => format!("list of {kind}s")
                .replace("bools", "bool")
                .replace("texts", "text"),
            (false, true) => format!("{kind} or null"),
            (false, false) => kind.to_owned(),
        };
        assert!(!field.doc.is_empty(), "{name}.{} has no doc", field.name);
        rows.push((path.clone(), kind, field.doc.clone()));
        if ty == "Named" || ty.starts_with("BTreeMap") {
            rows.push((
                format!("{path}.*"),
                "number".into(),
                "One of them by its name.".into(),
            ));
        }
        if object {
            expand(structs, ty, &format!("{path}."), rows);
        }
    }
}

/// Every key of `value` with its path; `.*` stands for keys that are documented
/// so.
fn walk(value: &Value, prefix: &str, documented: &BTreeSet<String>, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let plain = format!("{prefix}{name}");
                let any = format!("{prefix}*");
                let list = format!("{plain}[]");
                let path = match value {
                    _ if documented.contains(&plain) => plain,
                    // An empty list is one, too.
                    Value::Array(_) => list,
                    _ if documented.contains(&any) => any,
                    _ => plain,
                };
                keys.insert(path.clone());
                walk(value, &format!("{path}."), documented, keys);
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(item, prefix, documented, keys);
            }
        }
        _ => {}
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn canonical(text: &str) -> (Canonical, warpfold::exec::Launch) {
    let source = Source::parse(text, "k.clif", Syntax::Clif).unwrap();
    let kernel = source
        .kernel(&Overrides::default(), &Options::default())
        .unwrap();
    let launch = kernel.launch(&root().join("tests/kernels")).unwrap();
    let canonical = kernel.lowered.clean().unwrap().canonicalise().unwrap();
    (canonical, launch)
}

/// Calls that are inlined and one that is not, a trap, refused hints, work that
/// clean-up removes.
const ODD: &str = "
;! block = 40
;! [[arg]]
;! varying = \"lane\"
;! [[arg]]
;! buffer = \"i32\"
;! len = 64
function %k(i32, i64) {
    fn0 = %f(i32) -> i32
    fn1 = %g(i32) -> i32
block0(v0: i32, v1: i64):
    v2 = call fn0(v0)
    v3 = call fn1(v2)
    v4 = iconst.i32 7
    v5 = icmp eq v3, v4
    trapnz v5, user1
    v6 = icmp ult v0, v4
    brif v6, block1, block2 ; warpfold: flatten
block1:
    v7 = call fn1(v3)
    store v7, v1
    jump block2
block2:
    v8 = icmp ugt v0, v4
    brif v8, block3, block4
block3:
    v9 = imul v3, v3
    v10 = iadd v9, v3
    store v10, v1+4
    jump block4
block4:
    v11 = imul v3, v3
    store v11, v1+8
    return
}

function %f(i32) -> i32 {
block0(v0: i32):
    v1 = iconst.i32 3
    v2 = icmp ult v0, v1
    brif v2, block1, block2(v0) ; warpfold: keep
block1:
    v3 = iadd v0, v1
    jump block2(v3)
block2(v4: i32):
    return v4
}

function %g(i32) -> i32 {
    fn0 = %g(i32) -> i32
block0(v0: i32):
    v1 = iconst.i32 100
    v2 = icmp ugt v0, v1
    brif v2, block1, block2(v0)
block1:
    v3 = isub v0, v1
    v4 = call fn0(v3)
    jump block2(v4)
block2(v5: i32):
    return v5
}
";

/// Reports of all kinds, by the table that is about them.
fn reports() -> Vec<(&'static str, Value)> {
    let parse = |text: String| serde_json::from_str::<Value>(&text).expect("it is JSON");
    let mut all = Vec::new();
    let mut kernels = vec![ODD.to_owned()];
    for name in [
        "clamp",
        "quadratic",
        "collatz",
        "guard_clause",
        "stencil3x3",
        "safe_div",
    ] {
        let path = root().join(format!("tests/kernels/{name}.clif"));
        kernels.push(std::fs::read_to_string(path).unwrap());
    }
    for text in &kernels {
        let (plain, launch) = canonical(text);
        let ampere = Machine::builtin("ampere").unwrap();
        let run = RunOptions {
            timeline: true,
            timing: Some(TimingModel::new(&ampere, LoadLevel::L1).unwrap()),
            checks: RunChecks {
                uniformity: true,
                poison: true,
                races: false,
            },
            ..RunOptions::default()
        };
        let profiled = plain.clone().profile(&launch, &run).unwrap();
        let settings = Settings::new(Machine::builtin("textbook").unwrap());
        for canonical in [plain.clone(), profiled.clone()] {
            let optimized = canonical.convert(&settings).unwrap();
            all.push(("report", parse(render::json(&render::explain(&optimized)))));
            let opt = render::opt(&optimized, "");
            all.push(("report", parse(render::json(&opt))));
            let outcome = optimized.measure(&launch, &run).unwrap();
            all.push(("report", parse(render::json(&render::run(&outcome)))));
        }
        let lowered = plain.before().lowered();
        let ran = lowered.execute(plain.func(), &launch, &run).unwrap();
        let shape = (launch.grid, launch.block);
        let doc = render::executed(lowered, plain.func(), &ran, shape, &settings.machine);
        all.push(("report", parse(render::json(&doc))));
        let uniformity = render::json_uniformity("k.clif", plain.func(), plain.uniformity());
        all.push(("uniformity", parse(uniformity)));
        for &b in &plain.func().layout {
            let of = render::Question::Block(b);
            let why = render::json_why("k.clif", plain.func(), plain.uniformity(), of);
            all.push(("why", parse(why)));
        }
        let file = profiled.profile_file(1).unwrap();
        all.push(("profile", parse(file.to_json())));
        let policies: Vec<Decider> = ["cost", "nak-4"]
            .map(|n| warpfold::policy(n).unwrap())
            .into();
        let compared = compare::policies(&profiled, &policies, &settings, &launch, &run).unwrap();
        let doc = render::Comparison::new("k.clif", "k", "textbook", &compared);
        all.push(("comparison", parse(render::json_comparison(&doc))));
    }
    let machines: Vec<Machine> = MACHINES.iter().map(|row| row.machine()).collect();
    all.push(("machines", parse(render::json_machines(&machines))));
    all.push(("policies", parse(render::json_policies(POLICIES))));
    all
}

const TABLES: [(&str, &str); 7] = [
    ("report", "Document"),
    ("uniformity", "UniformityDoc"),
    ("why", "WhyDoc"),
    ("machines", "MachinesDoc"),
    ("policies", "PoliciesDoc"),
    ("comparison", "ComparisonDoc"),
    ("profile", "ProfileFile"),
];

#[test]
fn every_key_is_documented_and_every_documented_key_occurs() {
    let structs = structs();
    let path = root().join("docs/report.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut want = page.clone();
    let reports = reports();
    for (table, name) in TABLES {
        let mut rows = Vec::new();
        expand(&structs, name, "", &mut rows);
        let mut text = String::from("| key | type | meaning |\n|---|---|---|\n");
        for (path, kind, doc) in &rows {
            text += &format!("| `{path}` | {kind} | {} |\n", doc.replace('|', "\\|"));
        }
        let begin = format!("<!-- begin: {table} -->\n");
        let from = want.find(&begin).expect("the table has a place") + begin.len();
        let end = format!("<!-- end: {table} -->");
        let to = from + want[from..].find(&end).expect("the place has an end");
        want.replace_range(from..to, &text);

        let documented: BTreeSet<String> = rows.iter().map(|(path, ..)| path.clone()).collect();
        let mut found = BTreeSet::new();
        for (_, report) in reports.iter().filter(|(of, _)| *of == table) {
            walk(report, "", &documented, &mut found);
        }
        let unknown: Vec<_> = found.difference(&documented).collect();
        let missing: Vec<_> = documented.difference(&found).collect();
        assert!(unknown.is_empty(), "{table}: not documented: {unknown:?}");
        assert!(missing.is_empty(), "{table}: in no report: {missing:?}");
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &want).unwrap();
    } else {
        assert!(
            page == want,
            "docs/report.md differs from the code; run with BLESS=1 to rewrite it"
        );
    }
}

/// Lines sum to components, components to prices; the same in text.
#[test]
fn the_arithmetic_adds_up() {
    let thousandths = |v: &Value| (v.as_f64().expect("a number") * 1000.0).round() as i64;
    let mut lines = 0;
    for (_, report) in reports().iter().filter(|(of, _)| *of == "report") {
        let branches = report["branches"].as_array();
        for estimate in branches
            .into_iter()
            .flatten()
            .flat_map(|b| b["estimates"].as_array().unwrap())
        {
            let mut total = 0;
            for component in estimate["components"].as_array().unwrap() {
                let mut sum = 0;
                for line in component["lines"].as_array().unwrap() {
                    let n = line["count"].as_i64().unwrap() * line["times"].as_i64().unwrap();
                    assert_eq!(
                        n * thousandths(&line["unit"]),
                        thousandths(&line["cost"]),
                        "{line}"
                    );
                    sum += thousandths(&line["cost"]);
                    lines += 1;
                }
                assert_eq!(sum, thousandths(&component["cost"]), "{component}");
                total += sum;
            }
            assert_eq!(total, thousandths(&estimate["total"]), "{estimate}");
        }
    }
    assert!(lines > 100, "{lines}");
}
