//! Hints, policies and priors along the road.

use std::sync::Arc;

use warpfold::ir::{Hint, Terminator};
use warpfold::launch::Overrides;
use warpfold::machine::Machine;
use warpfold::opt::policy::ByModel;
use warpfold::opt::report::{CountSource, Force, Form};
use warpfold::{
    BranchHint, Decider, Lowered, Optimized, Options, Settings, Source, Syntax, policy, render,
};

#[path = "../examples/policy.rs"]
#[expect(dead_code, reason = "only a part of the example is called here")]
mod example;

fn lowered(text: &str) -> Lowered {
    let source = Source::parse(text, "f.clif", Syntax::Clif).unwrap();
    let kernel = source.kernel(&Overrides::default(), &Options::default());
    kernel.unwrap().lowered
}

fn settings() -> Settings {
    Settings::new(Machine::builtin("textbook").unwrap())
}

fn convert(text: &str, settings: &Settings) -> Optimized {
    let canonical = lowered(text).clean().unwrap().canonicalise().unwrap();
    canonical.convert(settings).unwrap()
}

/// What became of the branch on `line`, and what is said of its hint.
fn fate(optimized: &Optimized, line: u32) -> (&'static str, Option<(bool, String)>) {
    let mut all = optimized.report().decisions.iter();
    let d = all.find(|d| d.origin.line == line).expect("a branch");
    let hint = d.hint.as_ref().map(|h| {
        let refused = h.refused.as_ref();
        (
            refused.is_none(),
            refused.map_or(String::new(), |r| r.why.clone()),
        )
    });
    (d.outcome(), hint)
}

/// A triangle of `body` around another branch, and a guard before it.
fn kernel(guard: &str, outer: &str, inner: &str, body: &str) -> String {
    format!(
        "function %f(i32, i64) {{
    ;! nothing
block0(v0: i32, v1: i64):
    v2 = iconst.i32 7
    v3 = icmp ult v0, v2
    brif v3, block1, block6{guard}
block1:
    v4 = icmp ugt v0, v2
    brif v4, block2, block5{outer}
block2:
    v5 = icmp eq v0, v2
    brif v5, block3, block4{inner}
block3:
{body}
    jump block4
block4:
{body}
    jump block5
block5:
    store v2, v1+8
    return
block6:
    return
}}"
    )
    .replace("    ;! nothing\n", "")
}

const SMALL: &str = "    store v2, v1";
const GUARD: u32 = 5;
const OUTER: u32 = 8;
const INNER: u32 = 11;

/// More than any branch costs.
fn large() -> String {
    let line = |i| format!("    store v2, v1+{}\n", 8 * i);
    (0..300).map(line).collect()
}

#[test]
fn without_hints_cost_decides() {
    let small = convert(&kernel("", "", "", SMALL), &settings());
    assert_eq!(fate(&small, GUARD), ("exit", None));
    assert_eq!(fate(&small, OUTER), ("straight", None));
    let large = convert(&kernel("", "", "", &large()), &settings());
    assert_eq!(fate(&large, OUTER).0, "branch");
    assert_eq!(fate(&large, INNER).0, "branch");
}

#[test]
fn flatten_beats_cost_and_policies_but_no_knob_and_no_rule() {
    let followed = Some((true, String::new()));
    let hint = " ; warpfold: flatten";
    let text = kernel("", "", hint, &large());
    let by_cost = convert(&text, &settings());
    assert_eq!(fate(&by_cost, INNER), ("straight", followed.clone()));
    assert_eq!(fate(&by_cost, OUTER), ("branch", None));
    let by_policy = Settings {
        policy: policy("always-branch").unwrap(),
        ..settings()
    };
    assert_eq!(
        fate(&convert(&text, &by_policy), INNER),
        ("straight", followed.clone())
    );
    let knob = Settings {
        force: Some(Force::Branch),
        ..settings()
    };
    let why = "overridden by `branch`".to_owned();
    assert_eq!(
        fate(&convert(&text, &knob), INNER),
        ("branch", Some((false, why)))
    );
    // The outer one takes the inner one along.
    let outer = convert(&kernel("", hint, hint, &large()), &settings());
    assert_eq!(fate(&outer, OUTER), ("straight", followed.clone()));
    assert_eq!(fate(&outer, INNER), ("straight", followed.clone()));
    // A guarded exit is straight code.
    let guard = convert(&kernel(hint, "", "", SMALL), &settings());
    assert_eq!(fate(&guard, GUARD), ("exit", followed));
    // A fence is not moved.
    let fenced = kernel("", "", hint, "    fence");
    let fenced = convert(&fenced, &settings());
    let (form, hint) = fate(&fenced, INNER);
    assert_eq!(
        (form, hint),
        (
            "branch",
            Some((false, "`fence @7:13` synchronises".to_owned()))
        )
    );
    let text = render::text(&render::explain(&fenced), render::Paint::PLAIN);
    assert!(
        text.contains("  hint       `flatten` refused: `fence @7:13` synchronises\n"),
        "{text}"
    );
    let json = render::json(&render::explain(&fenced));
    let json: String = json.split_whitespace().collect();
    let want = r#""hint":{"hint":"flatten","honoured":false,"blocker":"sync","why":"`fence@7:13`synchronises"}"#;
    assert!(json.contains(want), "{json}");
}

#[test]
fn keep_beats_everything() {
    let followed = Some((true, String::new()));
    let hint = " ; warpfold: keep";
    for force in [None].into_iter().chain(Force::ALL.map(Some)) {
        let settings = Settings {
            force,
            ..settings()
        };
        let guard = convert(&kernel(hint, "", "", SMALL), &settings);
        assert_eq!(
            fate(&guard, GUARD),
            ("branch", followed.clone()),
            "{force:?}"
        );
        let inner = convert(&kernel("", " ; warpfold: flatten", hint, SMALL), &settings);
        assert_eq!(
            fate(&inner, INNER),
            ("branch", followed.clone()),
            "{force:?}"
        );
        // What is around it cannot become straight.
        let (form, hint) = fate(&inner, OUTER);
        assert_eq!(form, "branch", "{force:?}");
        let (honoured, why) = hint.unwrap();
        assert!(!honoured && why.contains("is kept by a hint"), "{why}");
        let kept = inner.func();
        let branches = kept
            .layout
            .iter()
            .filter(|&&b| matches!(kept.term(b), Terminator::Br { .. }));
        assert_eq!(branches.count(), 2, "{force:?}");
    }
    // A branch on a constant goes all the same, and the report says so.
    let text = kernel("", "", hint, SMALL).replace("icmp eq v0, v2", "icmp eq v2, v2");
    let (form, hint) = fate(&convert(&text, &settings()), INNER);
    assert_eq!(form, "folded");
    assert!(!hint.unwrap().0);
}

#[test]
fn hints_from_a_program_are_those_of_comments() {
    let text = kernel("", "", "", &large());
    let plain = lowered(&text);
    let inner = plain.branches().iter().find(|b| b.origin.line == INNER);
    let inner = inner.unwrap().origin;
    let hint = BranchHint {
        form: Some(Hint::Flatten),
        prior: Some("p=1/1024,rho=1".parse().unwrap()),
    };
    let hinted = plain.clone().with_hint(inner, hint).unwrap();
    let commented = lowered(&kernel(
        "",
        "",
        " ; warpfold: flatten p=1/1024 rho=1",
        &large(),
    ));
    assert_eq!(hinted.func(), commented.func());
    let report = |l: Lowered| {
        let canonical = l.clean().unwrap().canonicalise().unwrap();
        canonical.convert(&settings()).unwrap().report().clone()
    };
    let report = (report(hinted), report(commented));
    assert_eq!(report.0, report.1);
    let mut decisions = report.0.decisions.iter();
    let counts = decisions
        .find(|d| d.origin == inner)
        .unwrap()
        .counts
        .unwrap();
    // The outer branch is uniform, too, and taken half the time.
    assert_eq!((counts.source, counts.any_true), (CountSource::Uniform, 32));
    let nowhere = plain
        .with_hint(warpfold::ir::Origin::new(99, 0), hint)
        .unwrap_err();
    assert_eq!(
        nowhere.to_string(),
        "f.clif: a hint for a branch that is not there: inst99"
    );
}

/// Inlined copies have the hints and priors of their source.
#[test]
fn hints_go_with_inlined_code() {
    let text = format!(
        "{}\nfunction %k(i32, i64) {{
    fn0 = %f(i32, i64)
block0(v0: i32, v1: i64):
    call fn0(v0, v1)
    v3 = iconst.i64 4096
    v2 = iadd v1, v3
    call fn0(v0, v2)
    return
}}",
        kernel("", "", " ; warpfold: keep p=1/16", SMALL)
    );
    let source = Source::parse(&text, "f.clif", Syntax::Clif).unwrap();
    let overrides = Overrides {
        function: Some("k".to_owned()),
        ..Overrides::default()
    };
    let kernel = source.kernel(&overrides, &Options::default()).unwrap();
    let canonical = kernel.lowered.clean().unwrap().canonicalise().unwrap();
    let optimized = canonical.convert(&settings()).unwrap();
    let all = optimized.report().decisions.iter();
    let inner: Vec<_> = all.filter(|d| d.origin.line == INNER).collect();
    assert_eq!(inner.len(), 2);
    for d in inner {
        assert_eq!(d.form(), Some(Form::Branch));
        let counts = d.counts.unwrap();
        // A sixteenth of the executions, each of which all lanes share.
        assert_eq!(
            (counts.executions / 16, counts.splits),
            (counts.any_true, 0)
        );
    }
}

#[test]
fn the_example_decides_by_its_own_rule_and_model() {
    let forms = |decider: Decider| {
        let outcome = example::outcome(decider).unwrap();
        assert!(outcome.all_same(), "{}", outcome.sameness());
        let report = outcome.optimized().report();
        let forms: Vec<_> = report.decisions.iter().filter_map(|d| d.form()).collect();
        (report.policy.clone(), forms)
    };
    let [small, latency] = example::deciders();
    // Two instructions and two lanes in three; one instruction and one lane in 64.
    let (name, by_rule) = forms(small);
    assert_eq!(name, "small");
    assert_eq!(by_rule, [Form::Straight, Form::Branch]);
    // 4 + 4 + a guard or select against 10 + 10 for branch and jump, and b.
    let (name, by_model) = forms(latency);
    assert_eq!(name, "latency");
    assert_eq!(by_model, [Form::Straight, Form::Straight]);
}

/// The machine's own prices as a model decide as the machine does.
#[test]
fn the_machine_is_a_cost_model() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let mut regions = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "clif") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for name in ["textbook", "pascal", "blackwell"] {
            let machine = Machine::builtin(name).unwrap();
            let by_cost = Settings::new(machine.clone());
            let by_model = Settings {
                policy: Arc::new(ByModel(machine)),
                ..by_cost.clone()
            };
            let [a, b] = [by_cost, by_model].map(|s| convert(&text, &s));
            assert_eq!(a.func(), b.func(), "{} on {name}", path.display());
            assert_eq!(a.report().decisions, b.report().decisions);
            regions += a.report().decisions.len();
        }
    }
    assert!(regions > 60, "{regions}");
}
