//! If-conversion of chains, switches, tangles and skipped bodies: text in, text
//! out.

use warpfold_analysis::uniformity::{Uniformity, UniformityOptions};
use warpfold_analysis::{BranchCounts, JoinRule, Profile};
use warpfold_ir::{Block, Function, parse_module, verify};
use warpfold_machine::{Cost, Machine};
use warpfold_opt::ifconv::legality::Blocker;
use warpfold_opt::ifconv::policy::{Cheapest, Policy, Question};
use warpfold_opt::report::{Force, Form, Priced, Verdict};
use warpfold_opt::{
    Assumed, Choice, Context, Conversion, Log, SourceBranch, choices, convert, convert_owned,
    mark_proven, misfits,
};

struct Case {
    func: Function,
    uniformity: Uniformity,
    machine: Machine,
    branches: Vec<SourceBranch>,
}

fn case(text: &str, machine: &str) -> Case {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut func = module.functions.into_iter().next().expect("one function");
    verify(&func).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let uniformity = Uniformity::new(&func, &UniformityOptions::default());
    mark_proven(&mut func, &uniformity);
    let branches = func
        .layout
        .iter()
        .filter(|&&b| func.term(b).is_conditional())
        .map(|&b| SourceBranch {
            origin: func.block(b).origin,
            opcode: "brif",
            hint: None,
        })
        .collect();
    Case {
        func,
        uniformity,
        machine: Machine::builtin(machine).expect("a shipped machine"),
        branches,
    }
}

impl Case {
    fn with<T>(
        &self,
        force: Option<Force>,
        profile: Option<&Profile>,
        choice: Option<&Choice>,
        run: impl FnOnce(&Context<'_>) -> T,
    ) -> T {
        run(&Context {
            branches: &self.branches,
            log: &Log::default(),
            uniformity: &self.uniformity,
            machine: &self.machine,
            joins: JoinRule::Default,
            profile,
            policy: &Cheapest,
            force,
            choice,
            assumed: Assumed::default(),
            merge: true,
            cleanup: false,
        })
    }

    fn convert(&self, force: Option<Force>, profile: Option<&Profile>) -> Conversion {
        let conversion = self.with(force, profile, None, |cx| convert(&self.func, cx));
        verify(&conversion.func).unwrap_or_else(|e| panic!("{e}\n{}", conversion.func));
        let owned = |cx: &Context<'_>| convert_owned(self.func.clone(), cx);
        let owned = self.with(force, profile, None, owned);
        assert_eq!(owned.func, conversion.func);
        assert_eq!(
            format!("{:?}", owned.report),
            format!("{:?}", conversion.report)
        );
        conversion
    }
}

fn lines(f: &Function) -> Vec<String> {
    let text = f.to_string();
    let body = text
        .lines()
        .filter(|l| l.starts_with("    ") || l.starts_with("block"));
    body.map(|l| l.trim().to_string()).collect()
}

fn priced(c: &Conversion) -> (Form, &Priced) {
    match &c.report.decisions[0].verdict {
        Verdict::Priced { form, details } => (*form, details),
        other => panic!("not priced: {other:?}"),
    }
}

#[test]
fn what_no_path_reaches_goes_though_nothing_else_changes() {
    let text = "function %f(i32) -> i32 {
block0(v0: i32):
    ret v0

block1:
    trap user1
}";
    let case = case(text, "unit");
    assert_eq!(case.func.layout.len(), 2);
    let converted = case.convert(None, None).func;
    assert_eq!(converted.layout, [Block::from_u32(0)]);
}

/// `if (a && b) x = p + p, store; else x = p * p`.
const CHAIN: &str = "function %f(pred varying, pred varying, i64 varying, i32 varying) -> i32 {
block0(v0: pred, v1: pred, v2: i64, v3: i32):
    br v0, block1, block3 @1:1

block1:
    br v1, block2, block3 @2:2

block2:
    v4 = iadd.i32 v3, v3
    store.i32 v3, v2
    jump block4(v4)

block3:
    v5 = imul.i32 v3, v3
    jump block4(v5)

block4(v6: i32):
    ret v6
}";

/// One conjunction serves the guard of the store, and turned round the select.
#[test]
fn a_chain_has_one_predicate_for_both_sides() {
    let c = case(CHAIN, "unit").convert(Some(Force::Straight), None);
    assert_eq!(
        lines(&c.func),
        [
            "block0(v0: pred, v1: pred, v2: i64, v3: i32):",
            "v7 = and v0, v1 @1:1",
            "v4 = iadd.i32 v3, v3",
            "store.i32 v3, v2 if v7",
            "v5 = imul.i32 v3, v3 if !v7 else v4",
            "ret v5",
        ]
    );
    assert_eq!(priced(&c).1.shape, "chain");
    let mirrored = CHAIN.replace("br v1, block2, block3", "br v1, block3, block2");
    let c = case(&mirrored, "unit").convert(Some(Force::Straight), None);
    assert!(
        lines(&c.func).contains(&"v7 = andn v0, v1 @1:1".into()),
        "{}",
        c.func
    );
}

/// A skipped body: the vote, the jump, what stands in the body, and the value
/// that comes over the jump.
#[test]
fn a_skipped_side_stands_behind_a_vote_and_a_jump() {
    let c = case(CHAIN, "unit").convert(Some(Force::Skip), None);
    assert_eq!(
        lines(&c.func),
        [
            "block0(v0: pred, v1: pred, v2: i64, v3: i32):",
            "v7 = poison.i32 @1:1",
            "v8 = and v0, v1 @1:1",
            "v9 = vote_any v8 @1:1",
            "br uniform decided v9, block5, block6(v7)",
            "block5:",
            "v4 = iadd.i32 v3, v3",
            "store.i32 v3, v2 if v8",
            "jump block6(v4)",
            "block6(v10: i32):",
            "v11 = vote_all v8 @1:1",
            "br uniform decided v11, block8(v10), block7",
            "block7:",
            "v5 = imul.i32 v3, v3 if !v8 else v10",
            "jump block8(v5)",
            "block8(v12: i32):",
            "ret v12",
        ]
    );
    assert_eq!(priced(&c).0, Form::Skip);
}

/// A predicate that is the same in all lanes needs no vote.
#[test]
fn a_uniform_side_is_skipped_without_a_vote() {
    let text = "function %f(pred, i64 varying, i32 varying) {
block0(v0: pred, v1: i64, v2: i32):
    br v0, block1, block2 @1:1

block1:
    store.i32 v2, v1
    jump block2

block2:
    ret
}";
    let c = case(text, "unit").convert(Some(Force::Skip), None);
    assert!(
        c.func
            .to_string()
            .contains("br uniform decided v0, block3, block4"),
        "{}",
        c.func
    );
    assert!(!c.func.to_string().contains("vote"), "{}", c.func);
}

const SWITCH: &str = "function %f(i32 varying, i32 varying, i64 varying) -> i32 {
block0(v0: i32, v1: i32, v2: i64):
    switch v0, [block1, block2, block1], block3(v1) @1:1

block1:
    v3 = iadd.i32 v1, v1
    store.i32 v1, v2
    jump block3(v3)

block2:
    v4 = imul.i32 v1, v1
    jump block3(v4)

block3(v5: i32):
    ret v5
}";

/// Entries with one target are one predicate; each test is made once.
#[test]
fn a_switch_compares_its_index() {
    let c = case(SWITCH, "unit").convert(Some(Force::Straight), None);
    let text = lines(&c.func);
    let compares = text.iter().filter(|l| l.contains("icmp")).count();
    assert_eq!(compares, 3, "{}", c.func);
    assert!(
        text.iter().any(|l| l.contains("store.i32 v1, v2 if")),
        "{}",
        c.func
    );
    let (form, p) = priced(&c);
    assert_eq!((form, p.shape), (Form::Straight, "switch"));
    let shape = p.straight_shape.expect("legal");
    // Two comparisons and their disjunction, the third for the other side.
    assert_eq!((shape.predicates, shape.selects), (4, 0), "{}", c.func);
}

/// Both ways into block3 pass one after the other; straight they would vote
/// together.
#[test]
fn a_vote_where_lanes_arrive_at_several_times_blocks() {
    let text = CHAIN.replace("    v5 = imul.i32 v3, v3\n", "    v5 = ballot v0\n");
    let c = case(&text, "unit").convert(Some(Force::Straight), None);
    let (form, p) = priced(&c);
    assert_eq!(form, Form::Branch);
    assert!(
        matches!(p.straight, Err(Blocker::Convergent { .. })),
        "{p:?}"
    );
    // On a side of its own it is guarded.
    let text = CHAIN.replace("    v4 = iadd.i32 v3, v3\n", "    v4 = ballot v1\n");
    let c = case(&text, "unit").convert(Some(Force::Straight), None);
    assert!(
        c.func.to_string().contains("v4 = ballot v1 if v7"),
        "{}",
        c.func
    );
}

/// The side is long and hardly ever entered: with the profile it is skipped
/// inside straight code, at exactly this price.
#[test]
fn a_rare_side_is_skipped_inside_straight_code() {
    let mut side = String::new();
    for i in 0..20 {
        side += &format!("    store.i32 v3, v2+{}\n", 4 * i);
    }
    let text = CHAIN.replace("    store.i32 v3, v2\n", &side);
    let block = Block::from_u32;
    let mut profile = Profile::new();
    profile.set_branch(block(0), BranchCounts::two_way(100, 100, 100));
    profile.set_branch(block(1), BranchCounts::two_way(2, 100, 2));
    for (b, passes, reached) in [
        (0, 100, 0),
        (1, 100, 100),
        (2, 2, 2),
        (3, 200, 100),
        (4, 100, 100),
    ] {
        profile.add_passes(block(b), 0, passes);
        let counts = profile.inside_mut(block(0), block(b), 0);
        (counts.reached, counts.alive) = (reached, 100);
    }
    let c = case(&text, "unit").convert(None, Some(&profile));
    let (form, p) = priced(&c);
    assert_eq!(form, Form::Skip);
    let total = |form| p.estimates.iter().find(|e| e.form == form).map(|e| e.total);
    // br, br; 2 · (iadd, 20 stores, jump); 200 · (imul, jump).
    assert_eq!(total(Form::Branch), Some(Cost::issues(200 + 2 * 22 + 400)));
    // and, iadd, 20 stores, imul.
    assert_eq!(total(Form::Straight), Some(Cost::issues(23 * 100)));
    // and, vote, br, imul; 2 · (iadd, 20 stores, jump).
    assert_eq!(total(Form::Skip), Some(Cost::issues(4 * 100 + 2 * 22)));
}

/// One body may be skipped and another not: each pair is an assignment.
#[test]
fn all_legal_assignments_are_listed() {
    let case = case(CHAIN, "unit");
    let list = |limit| case.with(None, None, None, |cx| choices(&case.func, cx, limit));
    let all = list(8).expect("there are five");
    assert_eq!(all.len(), 5, "{all:?}");
    assert!(all[0].straight.is_empty());
    assert_eq!(list(4), None);
    for choice in &all {
        let c = case.with(None, None, Some(choice), |cx| convert(&case.func, cx));
        verify(&c.func).unwrap_or_else(|e| panic!("{e}\n{}", c.func));
        let votes = c.func.to_string().matches("vote").count();
        let skipped = choice.straight.values().flatten().filter(|s| **s).count();
        assert_eq!(votes, skipped, "{}", c.func);
    }
}

/// Choices made by hand: each part that cannot be is said, and nothing wrong comes of it.
#[test]
fn what_no_assignment_can_have_is_said() {
    let case = case(CHAIN, "unit");
    let all = case.with(None, None, None, |cx| choices(&case.func, cx, 8));
    for choice in all.iter().flatten() {
        let said = case.with(None, None, Some(choice), |cx| misfits(&case.func, cx));
        assert_eq!(said, [], "{choice:?}");
    }
    let heads: Vec<Block> = all
        .iter()
        .flatten()
        .flat_map(|c| c.straight.keys().copied())
        .collect();
    let inside = heads.iter().max().expect("a head").as_u32();
    for block in (0..inside + 3)
        .chain([1_000, u32::MAX - 1])
        .map(Block::from_u32)
    {
        for skips in [vec![], vec![true; 2], vec![true; 9], vec![false; 9]] {
            let choice = Choice {
                straight: [(block, skips.clone())].into(),
            };
            let listed = all.iter().flatten().any(|c| {
                let pads = |s: &Vec<bool>| {
                    skips.len() <= s.len()
                        && s.iter().zip(&skips).all(|(a, b)| a == b)
                        && s[skips.len()..].iter().all(|s| !s)
                };
                c.straight.len() == 1 && c.straight.get(&block).is_some_and(pads)
            });
            let said = case.with(None, None, Some(&choice), |cx| misfits(&case.func, cx));
            assert_eq!(said.is_empty(), listed, "{choice:?}: {said:?}");
            let c = case.with(None, None, Some(&choice), |cx| convert(&case.func, cx));
            verify(&c.func).unwrap_or_else(|e| panic!("{e}\n{}", c.func));
        }
    }
}

/// Regions in a row and in each other.
#[test]
fn many_regions_are_decided_and_rewritten() {
    for nested in [false, true] {
        for n in [500, 1_000] {
            let text = many(n, nested);
            let case = case(&text, "ampere");
            let c = case.convert(None, None);
            assert_eq!(c.report.decisions.len(), n);
        }
    }
}

fn many(n: usize, nested: bool) -> String {
    let mut text =
        String::from("function %f(i64 varying, i32 varying) {\nblock0(v0: i64, v1: i32):\n");
    let mut value = 2;
    for i in 0..n {
        let (side, join) = match nested {
            true => (i + 1, 2 * n - i),
            false => (2 * i + 1, 2 * i + 2),
        };
        text += &format!("    v{value} = load.i32 v0+{}\n", 4 * i);
        text += &format!("    v{} = icmp.i32 slt v{value}, v1\n", value + 1);
        text += &format!(
            "    br v{}, block{side}, block{join} @{i}:1\n\nblock{side}:\n",
            value + 1
        );
        text += &format!("    store.i32 v1, v0+{}\n", 4 * i);
        value += 2;
        if !nested {
            text += &format!("    jump block{join}\n\nblock{join}:\n");
        }
    }
    if nested {
        for i in n + 1..=2 * n {
            text += &format!("    jump block{i}\n\nblock{i}:\n");
        }
    }
    text + "    ret\n}\n"
}

/// Selects that are one other instruction, and selects that only look so.
#[test]
fn selects_become_the_instructions_that_they_are() {
    let convert = |ty: &str, compare: &str, then: &str, otherwise: &str| {
        let text = format!(
            "function %f({ty} varying, {ty} varying, i32 varying, i32 varying) -> {ty} {{
block0(v0: {ty}, v1: {ty}, v2: i32, v3: i32):
    v4 = fcvt_from_sint.f32 v2
    v5 = fcvt_from_uint.f32 v3
    v6 = const.i32 0
    v7 = const.i32 1
    v8 = ineg.i32 v2
    {compare}
    br v9, block1({then}), block1({otherwise}) @1:1

block1(v10: {ty}):
    ret v10
}}"
        );
        let c = case(&text, "unit").convert(Some(Force::Straight), None);
        let all = lines(&c.func);
        all.iter()
            .find_map(|l| l.strip_suffix(" @1:1").and_then(|l| l.split_once(" = ")))
            .map(|(_, what)| what.to_string())
            .unwrap_or_else(|| panic!("{}", c.func))
    };
    let icmp = |cc: &str, a: &str, b: &str| format!("v9 = icmp.i32 {cc} {a}, {b}");
    let fcmp = |cc: &str, a: &str, b: &str| format!("v9 = fcmp.f32 {cc} {a}, {b}");
    for (cc, then, otherwise, what) in [
        ("slt", "v2", "v3", "smin"),
        ("sle", "v3", "v2", "smax"),
        ("sgt", "v2", "v3", "smax"),
        ("ult", "v2", "v3", "umin"),
        ("uge", "v2", "v3", "umax"),
        ("eq", "v2", "v3", "select"),
        ("slt", "v2", "v6", "select"),
        ("slt", "v7", "v6", "bint"),
    ] {
        let found = convert("i32", &icmp(cc, "v2", "v3"), then, otherwise);
        assert!(
            found.starts_with(&format!("{what}.i32")),
            "{cc} {then}: {found}"
        );
    }
    for (cc, then, otherwise, what) in [
        ("slt", "v8", "v2", "iabs.i32 v2"),
        ("sge", "v2", "v8", "iabs.i32 v2"),
        ("ult", "v8", "v2", "select.i32 v9, v8, v2"),
        ("slt", "v2", "v8", "select.i32 v9, v2, v8"),
    ] {
        assert_eq!(convert("i32", &icmp(cc, "v2", "v6"), then, otherwise), what);
    }
    // Numbers from integers are no NaN and no negative zero; parameters may be.
    assert_eq!(
        convert("f32", &fcmp("lt", "v4", "v5"), "v4", "v5"),
        "fmin.f32 v5, v4"
    );
    assert_eq!(
        convert("f32", &fcmp("lt", "v0", "v5"), "v0", "v5"),
        "select.f32 v9, v0, v5"
    );
}

/// A condition that holds for the other lanes, with the sides swapped, is the same
/// region: same form, same numbers.
#[test]
fn a_mirrored_region_is_decided_alike() {
    let block = Block::from_u32;
    // Counts of both tests and passes of the sides: rare, even and unanimous.
    for (a, b, sides) in [
        ([9, 10, 9], [1, 9, 1], [1, 19]),
        ([10, 10, 10], [10, 10, 10], [10, 20]),
        ([10, 0, 0], [10, 0, 0], [10, 0]),
        ([1, 10, 1], [1, 1, 1], [1, 11]),
    ] {
        let mut seen = Vec::new();
        for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut text = CHAIN.to_owned();
            let mut profile = Profile::new();
            let mut test = |b: u32, mirrored, [t, f, both]: [u64; 3]| {
                let (t, f) = if mirrored { (f, t) } else { (t, f) };
                profile.set_branch(block(b), BranchCounts::two_way(t, f, both));
            };
            test(0, first, a);
            test(1, second, b);
            if first {
                text = text.replace("br v0, block1, block3", "br v0, block3, block1");
            }
            if second {
                text = text.replace("br v1, block2, block3", "br v1, block3, block2");
            }
            for (b, passes) in [(0, 10), (1, a[0]), (2, sides[0]), (3, sides[1]), (4, 10)] {
                profile.add_passes(block(b), 0, passes);
                let counts = profile.inside_mut(block(0), block(b), 0);
                (counts.reached, counts.alive) = (passes.min(10), 10);
            }
            for machine in ["unit", "textbook", "hopper"] {
                let c = case(&text, machine).convert(None, Some(&profile));
                let (form, p) = priced(&c);
                let totals: Vec<Cost> = p.estimates.iter().map(|e| e.total).collect();
                seen.push((machine, (form, totals, p.straight_shape)));
            }
        }
        for (machine, found) in &seen {
            let same = seen.iter().find(|(m, _)| m == machine).map(|(_, f)| f);
            assert_eq!(Some(found), same, "{machine}");
        }
    }
}

/// A long arm that half the warps go through as a whole stays a branch: 100 and an
/// overhead of 5 each time, against 100 always, or a vote and an overhead always.
#[test]
fn a_long_arm_of_a_warp_that_agrees_stays_a_branch() {
    let mut arm = String::new();
    let mut last = String::from("v1");
    for i in 0..100 {
        arm += &format!("    v{} = iadd.i32 {last}, v1\n", 10 + i);
        last = format!("v{}", 10 + i);
    }
    let text = format!(
        "function %f(pred varying, i32 varying) -> i32 {{
block0(v0: pred, v1: i32):
    br v0, block1, block2(v1) @1:1

block1:
{arm}    jump block2({last})

block2(v2: i32):
    ret v2
}}"
    );
    let block = Block::from_u32;
    let mut profile = Profile::new();
    profile.set_branch(block(0), BranchCounts::two_way(1, 1, 0));
    for (b, n) in [(0, 2), (1, 1), (2, 2)] {
        profile.add_passes(block(b), 0, n);
    }
    profile.inside_mut(block(0), block(1), 0).reached = 1;
    profile.inside_mut(block(0), block(1), 0).alive = 2;
    let c = case(&text, "textbook").convert(None, Some(&profile));
    let (form, p) = priced(&c);
    assert_eq!(form, Form::Branch);
    let totals: Vec<(Form, Cost)> = p.estimates.iter().map(|e| (e.form, e.total)).collect();
    let issues = |form, n| (form, Cost::issues(n));
    assert_eq!(
        totals,
        [
            issues(Form::Branch, 100 + 2 * 5),
            issues(Form::Skip, 100 + 2 * (1 + 5)),
            issues(Form::Straight, 2 * 100),
        ]
    );
}

/// What a rewrite has made is settled: a second run changes nothing.
#[test]
fn a_second_run_changes_nothing() {
    for text in [CHAIN, SWITCH] {
        for force in [Force::Skip, Force::Straight] {
            let once = case(text, "unit").convert(Some(force), None);
            let text = once.func.to_string();
            let twice = case(&text, "unit").convert(Some(force), None);
            assert_eq!(lines(&twice.func), lines(&once.func));
            for d in &twice.report.decisions {
                if let Verdict::Priced { details, .. } = &d.verdict {
                    assert!(matches!(details.straight, Err(Blocker::Decided { .. })));
                }
            }
        }
    }
}

/// The decision by cost, asked for totals alone or for all there is; notes the
/// totals.
#[derive(Debug)]
struct Noting {
    by_totals: bool,
    totals: std::cell::RefCell<Vec<Vec<(Form, Cost)>>>,
}

impl Policy for Noting {
    fn name(&self) -> &str {
        "noting"
    }

    fn by_totals(&self) -> bool {
        self.by_totals
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let estimates = question.options.estimates.iter();
        let totals = estimates.map(|e| (e.form, e.total)).collect();
        self.totals.borrow_mut().push(totals);
        Cheapest.choose(question)
    }

    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        Cheapest.skips(question, first)
    }
}

/// Totals are what the lines sum up to, and what is not reported is decided and
/// emitted alike.
#[test]
fn what_nobody_asks_for_makes_no_difference() {
    // The chain's join has another predecessor here.
    let entered = CHAIN
        .replace("block0(v0: pred, v1: pred, v2: i64, v3: i32):\n    br v0, block1, block3 @1:1", "block0(v0: pred, v1: pred, v2: i64, v3: i32):\n    br v1, block5, block4(v3) @3:3\n\nblock5:\n    br v0, block1, block3 @1:1");
    let mut straight = 0;
    for text in [CHAIN, SWITCH, &entered] {
        for machine in ["unit", "textbook", "ampere", "hopper"] {
            let case = case(text, machine);
            let run = |by_totals: bool, reported: bool| {
                let policy = Noting {
                    by_totals,
                    totals: Default::default(),
                };
                let c = case.with(None, None, None, |cx| {
                    let branches = if reported { cx.branches } else { &[] };
                    let cx = Context {
                        policy: &policy,
                        branches,
                        ..*cx
                    };
                    convert(&case.func, &cx)
                });
                (lines(&c.func), policy.totals.into_inner())
            };
            let all = run(false, true);
            straight += usize::from(all.0 != lines(&case.func));
            for (by_totals, reported) in [(true, true), (true, false), (false, false)] {
                assert_eq!(run(by_totals, reported), all, "{machine}\n{text}");
            }
        }
    }
    assert!(straight > 0, "nothing was rewritten");
}
