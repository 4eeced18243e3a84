//! What is expected of a branch without a profile, and what that decides.

use std::collections::BTreeMap;

use warpfold_analysis::uniformity::{LaunchShape, Uniformity, UniformityOptions};
use warpfold_analysis::{BranchCounts, JoinRule, Profile};
use warpfold_ir::{Block, Origin, parse_module, verify};
use warpfold_machine::{Cost, Machine};
use warpfold_opt::ifconv::policy::Cheapest;
use warpfold_opt::report::{CountSource, Counts, Form, Verdict};
use warpfold_opt::{Assumed, Context, Conversion, Log, Prior, SourceBranch, convert, mark_proven};

#[derive(Default)]
struct Given {
    prior: Option<&'static str>,
    /// Of the branch at inst1.
    own: Option<&'static str>,
    threads: Option<u32>,
    profile: Option<Profile>,
    b: Option<u64>,
}

fn decide(text: &str, given: Given) -> Conversion {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut func = module.functions.into_iter().next().expect("one function");
    verify(&func).unwrap_or_else(|e| panic!("{e}"));
    let block = given
        .threads
        .map_or([None; 3], |n| [Some(n), Some(1), Some(1)]);
    let shape = LaunchShape::unknown().with_block(block);
    let options = UniformityOptions {
        shape,
        ..UniformityOptions::default()
    };
    let uniformity = Uniformity::new(&func, &options);
    mark_proven(&mut func, &uniformity);
    let branches: Vec<SourceBranch> = func
        .layout
        .iter()
        .filter(|&&b| func.term(b).is_conditional())
        .map(|&b| SourceBranch {
            origin: func.block(b).origin,
            opcode: "brif",
            hint: None,
        })
        .collect();
    let prior = |text: &str| text.parse::<Prior>().expect("a prior");
    let mut machine = Machine::builtin("textbook").expect("it ships");
    if let Some(b) = given.b {
        let b = Cost::issues(b);
        (machine.b_proven, machine.b_agree, machine.b_split) = (b, b, b);
    }
    let own = given.own.map(|text| (Origin::new(1, 1), prior(text)));
    convert(
        &func,
        &Context {
            branches: &branches,
            log: &Log::default(),
            uniformity: &uniformity,
            machine: &machine,
            joins: JoinRule::Default,
            profile: given.profile.as_ref(),
            policy: &Cheapest,
            force: None,
            choice: None,
            assumed: Assumed {
                prior: given.prior.map_or_else(Prior::default, prior),
                priors: &own.into_iter().collect::<BTreeMap<_, _>>(),
                shape,
            },
            merge: true,
            cleanup: false,
        },
    )
}

fn counts(conversion: &Conversion, inst: u32) -> Counts {
    let mut all = conversion.report.decisions.iter();
    let decision = all.find(|d| d.origin.inst == inst).expect("it is decided");
    decision.counts.expect("a region has counts")
}

/// A branch on `cond` (which defines v9), with another on a parameter inside.
fn nested(cond: &str) -> String {
    format!(
        "function %f(i32, i32 varying, i64 varying, pred varying) {{
block0(v0: i32, v1: i32, v2: i64, v3: pred):
    v4 = lane_id
    v5 = const.i32 16
{cond}
    br v9, block1, block4 @1:1

block1:
    br v3, block2, block3 @2:2

block2:
    store.i32 v1, v2
    jump block3

block3:
    store.i32 v1, v2+4
    jump block4

block4:
    ret
}}"
    )
}

const LOW_HALF: &str = "    v9 = icmp.i32 ult v4, v5";
const PARAM: &str = "    v9 = icmp.i32 ult v1, v5";
const UNIFORM: &str = "    v9 = icmp.i32 ult v0, v5";
const TAIL: &str = "    v6 = tid_x\n    v9 = icmp.i32 ult v6, v0";

#[test]
fn the_last_warp_of_a_block_has_the_lanes_that_it_has() {
    let of = |threads| {
        counts(
            &decide(
                &nested(LOW_HALF),
                Given {
                    threads,
                    ..Given::default()
                },
            ),
            1,
        )
    };
    // Full warps have lanes on both sides.
    let full = of(Some(64));
    assert_eq!(
        (full.any_true, full.any_false, full.splits),
        (65536, 65536, 65536)
    );
    assert_eq!(full.source, CountSource::Mask);
    // Of 40 threads the second warp has 8 lanes, all of them below 16.
    let partial = of(Some(40));
    assert_eq!(
        (partial.any_true, partial.any_false, partial.splits),
        (65536, 32768, 32768)
    );
    let narrow = of(Some(16));
    assert_eq!(
        (narrow.any_true, narrow.any_false, narrow.splits),
        (65536, 0, 0)
    );
    let unknown = of(None);
    assert_eq!(unknown, full);
}

#[test]
fn a_prior_is_about_the_lanes_that_are_expected() {
    let inner = |outer: &str, given: Given| counts(&decide(&nested(outer), given), 2);
    let quarter = || Given {
        prior: Some("p=1/4"),
        ..Given::default()
    };
    // Sixteen lanes pass the mask: 1 − (3/4)^16 = 0.98998 of 65,536.
    assert_eq!(inner(LOW_HALF, quarter()).any_true, 64879);
    assert_eq!(inner(LOW_HALF, quarter()).splits, 64879);
    // Of 32 lanes 32·p = 8 are expected on a side that is nearly always
    // reached; 1 − (3/4)^8 = 0.8999 of the executions that reach it.
    let under_prior = inner(PARAM, quarter());
    assert_eq!(under_prior.executions, 65529);
    assert_eq!(under_prior.any_true, 58969);
    // With full correlation all lanes are there, and agree.
    let together = inner(
        PARAM,
        Given {
            prior: Some("p=1/4,rho=1"),
            ..Given::default()
        },
    );
    assert_eq!(
        (together.executions, together.any_true, together.splits),
        (16384, 4096, 0)
    );
    // Three of four warps of 4 threads have a lane that is true.
    let few = Given {
        threads: Some(4),
        ..quarter()
    };
    assert_eq!(counts(&decide(&nested(PARAM), few), 1).any_true, 44800);
}

#[test]
fn a_branchs_own_prior_goes_first_where_the_analysis_only_guesses() {
    let outer = |cond: &str, own| {
        let given = Given {
            own,
            threads: Some(1024),
            ..Given::default()
        };
        counts(&decide(&nested(cond), given), 1)
    };
    let tail = outer(TAIL, None);
    assert_eq!(
        (tail.source, tail.any_false),
        (CountSource::TailGuard, 2048)
    );
    let tail = outer(TAIL, Some("p=1/1024,rho=1"));
    assert_eq!(
        (tail.source, tail.any_true, tail.splits),
        (CountSource::Prior, 64, 0)
    );
    let uniform = outer(UNIFORM, None);
    assert_eq!(
        (uniform.source, uniform.any_true),
        (CountSource::Uniform, 32768)
    );
    let uniform = outer(UNIFORM, Some("p=1/16"));
    assert_eq!(
        (
            uniform.source,
            uniform.any_true,
            uniform.any_false,
            uniform.splits
        ),
        (CountSource::Uniform, 4096, 61440, 0)
    );
    // What is known stays known.
    let mask = outer(LOW_HALF, Some("p=1/16"));
    assert_eq!((mask.source, mask.any_true), (CountSource::Mask, 65536));
}

/// Dependent instructions on one side, with one result.
fn triangle(length: u32) -> String {
    let mut text = String::from(
        "function %f(pred varying, i32 varying) -> i32 {
block0(v0: pred, v1: i32):
    br v0, block1, block2(v1) @1:1

block1:
",
    );
    let mut last = String::from("v1");
    for i in 10..10 + length {
        text += &format!("    v{i} = imul.i32 {last}, v1\n");
        last = format!("v{i}");
    }
    text + &format!("    jump block2({last})\n\nblock2(v9: i32):\n    ret v9\n}}\n")
}

/// With b = 4, straight code costs its 20 instructions and a select, or a guard,
/// which is free here; a branch 20·P(any) + 4. A model that takes a lane's 1/16
/// for the warp's would keep every one of these branches at 20/16 + 4.
#[test]
fn the_warps_probability_decides_where_the_lanes_would_decide_otherwise() {
    let mut split = Profile::new();
    split.set_branch(Block::from_u32(0), BranchCounts::two_way(1, 1, 1));
    split.add_passes(Block::from_u32(0), 0, 1);
    split.add_passes(Block::from_u32(1), 0, 1);
    split.add_passes(Block::from_u32(2), 0, 1);
    let with = |prior| Given {
        prior: Some(prior),
        b: Some(4),
        ..Given::default()
    };
    let profiled = Given {
        profile: Some(split),
        b: Some(4),
        ..Given::default()
    };
    for (name, given, form, any_true) in [
        ("31 to 1", profiled, Form::Straight, 1),
        // 0.873 and 0.0308 of 65,536.
        ("independent 1/16", with("p=1/16"), Form::Straight, 57227),
        ("independent 1/1024", with("p=1/1024"), Form::Branch, 2017),
        ("correlated 1/16", with("p=1/16,rho=1"), Form::Branch, 4096),
    ] {
        let conversion = decide(&triangle(20), given);
        let decision = &conversion.report.decisions[0];
        let Verdict::Priced { details, .. } = &decision.verdict else {
            panic!("{name}: {:?}", decision.verdict)
        };
        let counts = counts(&conversion, 1);
        assert_eq!(counts.any_true, any_true, "{name}");
        let total = |form| {
            let mut all = details.estimates.iter();
            all.find(|e| e.form == form).expect("both are legal").total
        };
        let branch = 20 * any_true + 4 * counts.executions;
        assert_eq!(total(Form::Branch), Cost::issues(branch), "{name}");
        assert_eq!(
            total(Form::Straight),
            Cost::issues(20 * counts.executions),
            "{name}"
        );
        assert_eq!(decision.form(), Some(form), "{name}");
        let per_lane = 20 * counts.executions / 16 + 4 * counts.executions;
        assert!(
            per_lane < 20 * counts.executions,
            "a per-lane model keeps the branch"
        );
    }
}

/// Each break-even value is where the decision turns.
#[test]
fn decisions_turn_where_the_report_says() {
    let given = |prior, b| Given {
        prior: Some(prior),
        b: Some(b),
        ..Given::default()
    };
    let form = |length, prior, b| {
        let conversion = decide(&triangle(length), given(prior, b));
        conversion.report.decisions[0]
            .form()
            .expect("it is decided")
    };
    let conversion = decide(&triangle(20), given("p=1/16", 4));
    let Verdict::Priced { details, .. } = &conversion.report.decisions[0].verdict else {
        panic!("a region is priced")
    };
    let even = details.break_even;
    // 20 − 20·0.8732, and 4 / (1 − 0.8732).
    assert_eq!(even.b, Some(Cost(2535)));
    assert_eq!(form(20, "p=1/16", 2), Form::Branch);
    assert_eq!(form(20, "p=1/16", 3), Form::Straight);
    assert_eq!(even.lengths, [Some(Cost::issues(20)), None]);
    assert_eq!(even.then_length, Some(Cost(31549)));
    assert_eq!(even.else_length, None);
    assert_eq!(form(31, "p=1/16", 4), Form::Straight);
    assert_eq!(form(32, "p=1/16", 4), Form::Branch);
    // 20·P + 4 = 20 at P = 0.8, p = 1 − 0.2^(1/32) = 0.0490.
    assert_eq!(
        even.lane_true().map(|p| p.to_string()),
        Some("0.049051".to_owned())
    );
    assert_eq!(form(20, "p=0.0490", 4), Form::Branch);
    assert_eq!(form(20, "p=0.0491", 4), Form::Straight);
    // One draw for all lanes: at P = p = 0.8.
    let conversion = decide(&triangle(20), given("p=1/16,rho=1", 4));
    let Verdict::Priced { details, .. } = &conversion.report.decisions[0].verdict else {
        panic!("a region is priced")
    };
    let even = details.break_even.lane_true().map(|p| p.to_string());
    assert_eq!(even, Some("0.8".to_owned()));
}
