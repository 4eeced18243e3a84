//! If-conversion: text in, text and numbers out.

use warpfold_analysis::uniformity::{Uniformity, UniformityOptions};
use warpfold_analysis::{BranchCounts, JoinRule, Profile};
use warpfold_ir::{Block, Function, Origin, parse_module, verify};
use warpfold_machine::{Cost, Machine};
use warpfold_opt::ifconv::legality::Blocker;
use warpfold_opt::ifconv::policy::Cheapest;
use warpfold_opt::report::{CountSource, Decision, Force, Form, Priced, Verdict};
use warpfold_opt::{Assumed, Context, Conversion, Log, SourceBranch, convert, mark_proven};

struct Case {
    func: Function,
    machine: &'static str,
    force: Option<Force>,
    profile: Option<Profile>,
    merge: bool,
    cleanup: bool,
}

fn case(text: &str) -> Case {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let func = module.functions.into_iter().next().expect("one function");
    verify(&func).unwrap_or_else(|e| panic!("{e}"));
    Case {
        func,
        machine: "textbook",
        force: None,
        profile: None,
        merge: true,
        cleanup: false,
    }
}

impl Case {
    fn on(mut self, machine: &'static str) -> Self {
        self.machine = machine;
        self
    }

    fn force(mut self, force: Force) -> Self {
        self.force = Some(force);
        self
    }

    /// Counts of the branch that ends `block`, one pass of every block it
    /// leads to per execution that takes it.
    fn counts(mut self, block: u32, any_true: u64, any_false: u64, both: u64) -> Self {
        let profile = self.profile.get_or_insert_default();
        let b = Block::from_u32(block);
        profile.set_branch(b, BranchCounts::two_way(any_true, any_false, both));
        self
    }

    fn passes(mut self, block: u32, n: u64) -> Self {
        let profile = self.profile.get_or_insert_default();
        profile.add_passes(Block::from_u32(block), 0, n);
        self
    }

    fn run(&self) -> Conversion {
        let mut func = self.func.clone();
        let uniformity = Uniformity::new(&func, &UniformityOptions::default());
        mark_proven(&mut func, &uniformity);
        let branches: Vec<SourceBranch> = func
            .layout
            .iter()
            .filter(|&&b| func.term(b).is_conditional())
            .map(|&b| SourceBranch {
                origin: func.block(b).origin,
                opcode: "brif",
                hint: func.term(b).mark().and_then(|m| m.hint),
            })
            .collect();
        let machine = Machine::builtin(self.machine).expect("a shipped machine");
        let conversion = convert(
            &func,
            &Context {
                branches: &branches,
                log: &Log::default(),
                uniformity: &uniformity,
                machine: &machine,
                joins: JoinRule::Default,
                profile: self.profile.as_ref(),
                policy: &Cheapest,
                force: self.force,
                assumed: Assumed::default(),
                choice: None,
                merge: self.merge,
                cleanup: self.cleanup,
            },
        );
        verify(&conversion.func).unwrap_or_else(|e| panic!("{e}"));
        conversion
    }
}

fn lines(f: &Function) -> Vec<String> {
    f.to_string()
        .lines()
        .filter(|l| l.starts_with("    "))
        .map(|l| l.trim().to_string())
        .collect()
}

fn decision(c: &Conversion, inst: u32) -> &Decision {
    c.report
        .decisions
        .iter()
        .find(|d| d.origin.inst == inst)
        .expect("every branch has a decision")
}

fn priced(d: &Decision) -> (Form, &Priced) {
    match &d.verdict {
        Verdict::Priced { form, details } => (*form, details),
        other => panic!("not priced: {other:?}"),
    }
}

fn price(p: &Priced, form: Form) -> Option<Cost> {
    let mut estimates = p.estimates.iter();
    estimates.find(|e| e.form == form).map(|e| e.total)
}

/// A diamond with `n` different dependent instructions on either side.
fn diamond(n: usize) -> String {
    let mut text = String::from(
        "function %f(pred varying, i32 varying) -> i32 {
block0(v0: pred, v1: i32):
    br v0, block1, block2 @1:1

block1:
",
    );
    let (mut a, mut b) = (String::from("v1"), String::from("v1"));
    for i in 0..n {
        text += &format!("    v{} = iadd.i32 {a}, v1\n", 10 + i);
        a = format!("v{}", 10 + i);
    }
    text += &format!("    jump block3({a})\n\nblock2:\n");
    for i in 0..n {
        text += &format!("    v{} = imul.i32 {b}, v1\n", 1000 + i);
        b = format!("v{}", 1000 + i);
    }
    text += &format!("    jump block3({b})\n\nblock3(v9: i32):\n    ret v9\n}}\n");
    text
}

/// The literature's arithmetic: with b = 5 a warp that agrees keeps the branch
/// from five instructions a side on, and a warp that splits never does.
#[test]
fn the_textbook_break_even_is_four_instructions_a_side() {
    for n in 1..=8u64 {
        for split in [false, true] {
            let case = case(&diamond(n as usize));
            let case = if split {
                case.counts(0, 2, 2, 2).passes(1, 2).passes(2, 2)
            } else {
                case.counts(0, 1, 1, 0).passes(1, 1).passes(2, 1)
            };
            let c = case.run();
            let (form, p) = priced(decision(&c, 1));
            let total = |f| {
                let e = p.estimates.iter().find(|e| e.form == f);
                e.expect("both forms are legal").total
            };
            let branch = if split { 2 * n + 5 } else { n + 5 };
            assert_eq!(total(Form::Branch), Cost::issues(2 * branch), "n = {n}");
            assert_eq!(total(Form::Straight), Cost::issues(2 * 2 * n), "n = {n}");
            let straight = split || n <= 4;
            assert_eq!(form == Form::Straight, straight, "n = {n}, split {split}");
            let margin = (2 * n).abs_diff(branch) * 2;
            assert_eq!(p.margin, Some(Cost::issues(margin)));
            // Branch without b equals straight code here.
            let b = if split { 0 } else { n };
            assert_eq!(p.break_even.b, Some(Cost::issues(b)));
        }
    }
}

#[test]
fn a_merge_takes_a_guard_where_that_is_cheaper_than_a_select() {
    let c = case(&diamond(1)).run();
    assert_eq!(
        lines(&c.func),
        [
            "v10 = iadd.i32 v1, v1",
            "v1000 = imul.i32 v1, v1 if !v0 else v10",
            "ret v1000"
        ]
    );
    let c = case(&diamond(1)).force(Force::Select).run();
    assert_eq!(
        lines(&c.func),
        [
            "v10 = iadd.i32 v1, v1",
            "v1000 = imul.i32 v1, v1",
            "v1001 = select.i32 v0, v10, v1000 @1:1",
            "ret v1001"
        ]
    );
    assert_eq!(decision(&c, 1).outcome(), "select");
}

#[test]
fn force_predicate_guards_every_instruction_of_the_sides() {
    let c = case(&diamond(2)).force(Force::Predicate).run();
    assert_eq!(
        lines(&c.func),
        [
            "v10 = iadd.i32 v1, v1 if v0",
            "v11 = iadd.i32 v10, v1 if v0",
            "v1000 = imul.i32 v1, v1 if !v0",
            "v1001 = imul.i32 v1000, v1 if !v0 else v11",
            "ret v1001"
        ]
    );
    let (_, p) = priced(decision(&c, 1));
    let shape = p.straight_shape.expect("legal");
    assert_eq!(
        (shape.instructions, shape.guarded, shape.selects),
        (4, 4, 0)
    );
}

#[test]
fn force_branch_changes_nothing() {
    let case = case(&diamond(1)).force(Force::Branch);
    let c = case.run();
    assert_eq!(c.func.to_string(), case.func.to_string());
    let (form, p) = priced(decision(&c, 1));
    assert_eq!(form, Form::Branch);
    assert!(
        p.margin.is_some_and(|m| m < Cost::ZERO),
        "cost was overridden"
    );
}

const MEMORY: &str = "function %f(pred varying, i64 varying, i64 varying, i32 varying) -> i32 {
block0(v0: pred, v1: i64, v2: i64, v3: i32):
    br v0, block1, block2 @1:1

block1:
    v4 = load.i32 notrap v1
    store.i32 v3, v1+4
    jump block3(v4)

block2:
    v5 = load.i32 v2
    v6 = load.i32 notrap can_move v2+8
    v7 = iadd.i32 v5, v6
    jump block3(v7)

block3(v8: i32):
    ret v8
}";

#[test]
fn memory_in_a_side_is_guarded_unless_it_can_move() {
    let c = case(MEMORY).force(Force::Straight).run();
    // v6 is bare and has lost the promise that held behind the branch only.
    assert_eq!(
        lines(&c.func),
        [
            "v4 = load.i32 notrap v1 if v0",
            "store.i32 v3, v1+4 if v0",
            "v5 = load.i32 v2 if !v0",
            "v6 = load.i32 can_move v2+8",
            "v7 = iadd.i32 v5, v6 if !v0 else v4",
            "ret v7"
        ]
    );
    let c = case(MEMORY).force(Force::Select).run();
    let (form, p) = priced(decision(&c, 1));
    assert_eq!(form, Form::Branch);
    assert!(matches!(p.straight, Err(Blocker::Unsafe { .. })));
}

/// Atomic accesses of both sides are guarded, in order, and never merged; math
/// functions are bare.
#[test]
fn atomics_in_a_side_are_guarded() {
    let text = "function %f(pred varying, i64 varying, i32 varying, f32 varying) -> f32 {
block0(v0: pred, v1: i64, v2: i32, v3: f32):
    br v0, block1, block2 @1:1

block1:
    v4 = atomic_add.i32 v2, v1
    v5 = atomic_load.i32 can_move v1
    v6 = sin.f32 v3
    v9 = fadd.f32 v6, v3
    jump block3(v9)

block2:
    v7 = atomic_add.i32 v2, v1
    atomic_store.i32 v7, v1
    jump block3(v3)

block3(v8: f32):
    ret v8
}";
    let c = case(text).force(Force::Straight).run();
    assert_eq!(
        lines(&c.func),
        [
            "v4 = atomic_add.i32 v2, v1 if v0",
            "v5 = atomic_load.i32 can_move v1 if v0",
            "v6 = sin.f32 v3",
            "v9 = fadd.f32 v6, v3 if v0 else v3",
            "v7 = atomic_add.i32 v2, v1 if !v0",
            "atomic_store.i32 v7, v1 if !v0",
            "ret v9"
        ]
    );
    let c = case(text).force(Force::Select).run();
    let (form, p) = priced(decision(&c, 1));
    assert_eq!(form, Form::Branch);
    assert!(matches!(p.straight, Err(Blocker::Unsafe { .. })));
    // A fence keeps the branch.
    let fenced = text.replace("    atomic_store.i32 v7, v1\n", "    fence\n");
    let c = case(&fenced).force(Force::Straight).run();
    let (form, p) = priced(decision(&c, 1));
    assert_eq!(form, Form::Branch);
    assert!(matches!(p.straight, Err(Blocker::Sync { .. })));
}

#[test]
fn a_load_that_must_be_guarded_takes_the_other_value_as_its_else() {
    let c = case(
        "function %f(pred varying, i64 varying, i32 varying) -> i32 {
block0(v0: pred, v1: i64, v2: i32):
    br v0, block1, block2(v2) @1:1

block1:
    v3 = load.i32 v1
    jump block2(v3)

block2(v4: i32):
    ret v4
}",
    )
    .on("hopper")
    .force(Force::Straight)
    .run();
    assert_eq!(lines(&c.func), ["v3 = load.i32 v1 if v0 else v2", "ret v3"]);
}

#[test]
fn a_load_at_an_address_that_may_be_poison_is_guarded_too() {
    let c = case(
        "function %f(pred varying, i64 varying) -> i32 {
block0(v0: pred, v1: i64):
    v9 = const.i32 0
    br v0, block1, block2(v9) @1:1

block1:
    v3 = load.i64 v1
    v4 = load.i32 can_move v3
    jump block2(v4)

block2(v5: i32):
    ret v5
}",
    )
    .force(Force::Straight)
    .run();
    assert_eq!(
        lines(&c.func),
        [
            "v9 = const.i32 0",
            "v3 = load.i64 v1 if v0",
            "v4 = load.i32 can_move v3 if v0 else v9",
            "ret v4"
        ]
    );
}

const NEST: &str = "function %f(pred varying, pred varying, i64 varying, i32 varying) -> i32 {
block0(v0: pred, v1: pred, v2: i64, v3: i32):
    br v0, block1, block5(v3) @1:1

block1:
    v4 = iadd.i32 v3, v3
    br v1, block2, block3 @2:2

block2:
    store.i32 v3, v2
    jump block4(v4)

block3:
    v5 = udiv.i32 v3, v4
    v6 = load.i32 v2
    v7 = iadd.i32 v5, v6
    jump block4(v7)

block4(v8: i32):
    v9 = imul.i32 v8, v8
    jump block5(v9)

block5(v10: i32):
    ret v10
}";

#[test]
fn a_nest_becomes_straight_with_one_predicate_per_side_that_needs_one() {
    let c = case(NEST).on("unit").force(Force::Straight).run();
    assert_eq!(
        lines(&c.func),
        [
            "v4 = iadd.i32 v3, v3",
            "v11 = and v0, v1 @1:1",
            "store.i32 v3, v2 if v11",
            "v12 = andn v0, v1 @1:1",
            "v5 = udiv.i32 v3, v4 if v12",
            "v6 = load.i32 v2 if v12",
            "v7 = iadd.i32 v5, v6 if !v1 else v4",
            "v9 = imul.i32 v7, v7 if v0 else v3",
            "ret v9"
        ]
    );
    let inner = decision(&c, 2);
    assert_eq!(
        inner.verdict,
        Verdict::WithRegion {
            head: Origin::new(1, 1),
            form: Form::Straight
        }
    );
}

#[test]
fn the_inner_region_alone_is_converted_where_that_is_cheapest() {
    // The outer branch hardly ever runs its side; when it does, it splits.
    let c = case(NEST)
        .on("unit")
        .counts(0, 1, 100, 1)
        .passes(0, 100)
        .counts(1, 1, 1, 1)
        .passes(1, 1)
        .passes(2, 1)
        .passes(3, 1)
        .passes(4, 1)
        .passes(5, 100)
        .run();
    let (outer, _) = priced(decision(&c, 1));
    let (inner, p) = priced(decision(&c, 2));
    assert_eq!((outer, inner), (Form::Branch, Form::Straight));
    // br, store, jump, udiv, load, iadd, jump against those without br and
    // jumps; the guards cost nothing and no predicate is needed.
    assert_eq!(price(p, Form::Branch), Some(Cost::issues(7)));
    assert_eq!(price(p, Form::Straight), Some(Cost::issues(4)));
    assert_eq!(
        lines(&c.func),
        [
            "br decided v0, block1, block5(v3) @1:1",
            "v4 = iadd.i32 v3, v3",
            "store.i32 v3, v2 if v1",
            "v5 = udiv.i32 v3, v4 if !v1",
            "v6 = load.i32 v2 if !v1",
            "v7 = iadd.i32 v5, v6 if !v1 else v4",
            "v9 = imul.i32 v7, v7",
            "jump block5(v9)",
            "ret v10"
        ]
    );
    // Every issue has its payer, so the parts add up to the whole.
    let parts: Cost = c.report.decisions.iter().filter_map(|d| d.predicted).sum();
    // Outer: 100 br + iadd, imul, jump; inner: 4; the rest is the 100 rets.
    assert_eq!(parts, Cost::issues(100 + 3 + 4));
    assert_eq!(c.report.predicted, Some(Cost::issues(100 + 3 + 4 + 100)));
    assert_eq!(
        c.report.predicted_kept,
        Some(Cost::issues(100 + 3 + 7 + 100))
    );
}

#[test]
fn both_edges_to_one_block_choose_by_the_edge() {
    for (text, want) in [
        ("block1(v1), block1(v2)", "select.i32 v0, v1, v2"),
        ("block1(v2), block1(v1)", "select.i32 v0, v2, v1"),
    ] {
        let c = case(&format!(
            "function %f(pred varying, i32 varying, i32 varying) -> i32 {{
block0(v0: pred, v1: i32, v2: i32):
    br v0, {text} @1:1

block1(v3: i32):
    ret v3
}}"
        ))
        .force(Force::Straight)
        .run();
        assert!(lines(&c.func)[0].contains(want), "{}", c.func);
        assert_eq!(lines(&c.func)[1], "ret v4");
    }
}

#[test]
fn a_join_with_another_predecessor_keeps_its_jump() {
    let c = case(
        "function %f(i32 varying, i32 varying, i64 varying) -> i32 {
block0(v0: i32, v1: i32, v2: i64):
    v3 = const.i32 0
    jump block1(v3)

block1(v4: i32):
    v5 = icmp.i32 slt v4, v1
    br v5, block2, block5 @1:1

block2:
    v6 = icmp.i32 slt v4, v0
    br v6, block3, block4(v3) @2:2

block3:
    v7 = isub.i32 v0, v4
    jump block4(v7)

block4(v8: i32):
    store.i32 v8, v2
    v9 = const.i32 1
    v10 = iadd.i32 v4, v9
    br v6, block1(v10), block6(v10) @3:3

block5:
    v11 = const.i32 7
    jump block6(v11)

block6(v12: i32):
    ret v12
}",
    )
    .force(Force::Straight)
    .run();
    let text = c.func.to_string();
    assert!(text.contains("isub.i32 v0, v4 if v6 else v3"), "{text}");
    // The loop's own branches head no region.
    for inst in [1, 3] {
        let d = decision(&c, inst);
        assert!(
            matches!(&d.verdict, Verdict::NoRegion(why) if why.contains("cycle")),
            "{d:?}"
        );
        assert_eq!(d.form(), Some(Form::Branch));
    }
}

const LEAVING: &str = "function %f(pred varying, pred varying, i64 varying, i32 varying) {
block0(v0: pred, v1: pred, v2: i64, v3: i32):
    br v0, block1, block2 @1:1

block1:
    store.i32 v3, v2
    WHAT
    store.i32 v3, v2+4
    THEN

block2:
    store.i32 v3, v2+8
    ret
}";

#[test]
fn barriers_inside_block_every_form_but_the_branch() {
    let text = LEAVING
        .replace("WHAT", "barrier")
        .replace("THEN", "jump block2");
    for force in [Force::Straight, Force::Select, Force::Predicate] {
        let c = case(&text).force(force).run();
        let (form, p) = priced(decision(&c, 1));
        assert_eq!(form, Form::Branch);
        let blocker = p.straight.expect_err("illegal");
        if force != Force::Select {
            assert_eq!(blocker.name(), "sync");
        }
        assert_eq!(p.estimates.len(), 1);
    }
}

#[test]
fn exits_and_returns_of_a_side_are_guarded() {
    let text = LEAVING
        .replace("WHAT", "exit if v1")
        .replace("THEN", "jump block2");
    let c = case(&text).force(Force::Straight).run();
    assert_eq!(
        lines(&c.func),
        [
            "store.i32 v3, v2 if v0",
            "v4 = and v0, v1 @1:1",
            "exit if v4",
            "store.i32 v3, v2+4 if v0",
            "store.i32 v3, v2+8",
            "ret"
        ]
    );
    for (end, guarded) in [
        ("ret @7:7", "exit if v0 @7:7"),
        ("trap user1", "trap if v0, user1"),
    ] {
        let text = LEAVING.replace("    WHAT\n", "").replace("THEN", end);
        let c = case(&text).force(Force::Straight).run();
        assert_eq!(
            lines(&c.func),
            [
                "store.i32 v3, v2 if v0",
                "store.i32 v3, v2+4 if v0",
                guarded,
                "store.i32 v3, v2+8",
                "ret"
            ]
        );
        let c = case(&text).force(Force::Select).run();
        assert_eq!(priced(decision(&c, 1)).0, Form::Branch);
    }
}

/// Ten executions; in four of them every lane leaves at the exit.
#[test]
fn behind_an_exit_straight_code_issues_only_while_a_lane_is_left() {
    let text = LEAVING
        .replace("WHAT", "exit if v1")
        .replace("THEN", "jump block2");
    let mut case = case(&text)
        .on("unit")
        .force(Force::Straight)
        .counts(0, 10, 8, 8)
        .passes(0, 10)
        .passes(1, 10)
        .passes(2, 6);
    let profile = case.profile.as_mut().expect("counts were given");
    let block = Block::from_u32;
    profile.add_passes(block(1), 1, 5);
    for (b, segment, alive) in [(1, 0, 10), (1, 1, 6), (2, 0, 6)] {
        profile.inside_mut(block(0), block(b), segment).alive = alive;
    }
    let c = case.run();
    let (_, p) = priced(decision(&c, 1));
    // store, and, exit ten times; the second store six times.
    assert_eq!(price(p, Form::Straight), Some(Cost::issues(3 * 10 + 6)));
    // br ten times; store, exit ten times, store and jump five times.
    assert_eq!(p.estimates[0].total, Cost::issues(10 + 2 * 10 + 2 * 5));
    assert_eq!(c.report.predicted, Some(Cost::issues(3 * 10 + 6 + 2 * 6)));
}

#[test]
fn a_trap_in_a_side_is_guarded_by_both_and_keeps_its_order() {
    let c = case(
        "function %f(pred varying, pred varying, i64 varying, i32 varying) {
block0(v0: pred, v1: pred, v2: i64, v3: i32):
    br v0, block2, block1 @1:1

block1:
    store.i32 v3, v2
    trap if !v1, user7 @5:5
    store.i32 v3, v2+4
    jump block2

block2:
    ret
}",
    )
    .force(Force::Straight)
    .run();
    assert_eq!(
        lines(&c.func),
        [
            "store.i32 v3, v2 if !v0",
            "v4 = or v0, v1 @1:1",
            "trap if !v4, user7 @5:5",
            "store.i32 v3, v2+4 if !v0",
            "ret"
        ]
    );
}

#[test]
fn votes_in_a_side_see_the_lanes_of_the_side() {
    let c = case(
        "function %f(pred varying, pred varying, i32 varying) -> i32 {
block0(v0: pred, v1: pred, v2: i32):
    br v0, block1, block2(v2) @1:1

block1:
    v3 = ballot v1
    jump block2(v3)

block2(v4: i32):
    ret v4
}",
    )
    .force(Force::Straight)
    .run();
    assert_eq!(lines(&c.func), ["v3 = ballot v1 if v0 else v2", "ret v3"]);
}

#[test]
fn straight_code_is_at_most_eight_regions_deep() {
    let nest = |depth: u32| {
        let mut text = String::from("function %f(");
        text += &vec!["pred varying"; depth as usize].join(", ");
        text += ", i64 varying, i32 varying) {\nblock0(";
        for i in 0..depth {
            text += &format!("v{i}: pred, ");
        }
        let (addr, val) = (depth, depth + 1);
        text += &format!("v{addr}: i64, v{val}: i32):\n");
        for i in 0..depth {
            let (next, join) = (i + 1, depth + 1);
            text += &format!("    br v{i}, block{next}, block{join} @{i}:1\n\nblock{next}:\n");
            text += &format!("    store.i32 v{val}, v{addr}+{}\n", 4 * i);
        }
        text + &format!("    jump block{0}\n\nblock{0}:\n    ret\n}}\n", depth + 1)
    };
    let eight = case(&nest(8)).force(Force::Straight).run();
    assert_eq!(priced(decision(&eight, 0)).0, Form::Straight);
    let nine = case(&nest(9)).force(Force::Straight).run();
    let (form, p) = priced(decision(&nine, 0));
    assert_eq!(form, Form::Branch);
    assert_eq!(p.straight.map_err(Blocker::name), Err("depth"));
    assert_eq!(priced(decision(&nine, 1)).0, Form::Straight);
}

#[test]
fn without_a_profile_the_best_static_knowledge_counts() {
    let text = |cond: &str| {
        format!(
            "function %f(i32, i32 varying, i64 varying) {{
block0(v0: i32, v1: i32, v2: i64):
    v3 = lane_id
    v4 = const.i32 16
    {cond}
    br v5, block1, block2 @1:1

block1:
    store.i32 v1, v2
    jump block2

block2:
    ret
}}"
        )
    };
    for (cond, source, any_true, splits) in [
        ("v5 = icmp.i32 ult v3, v4", CountSource::Mask, 65536, 65536),
        ("v5 = icmp.i32 ult v0, v4", CountSource::Uniform, 32768, 0),
        ("v5 = icmp.i32 ult v1, v4", CountSource::Prior, 65536, 65536),
    ] {
        let c = case(&text(cond)).run();
        let counts = decision(&c, 1).counts.expect("a region has counts");
        assert_eq!(counts.source, source);
        assert_eq!(
            (counts.any_true, counts.splits),
            (any_true, splits),
            "{cond}"
        );
        assert_eq!(counts.executions, 65536);
        assert_eq!(c.report.predicted, None, "no launch, no total");
    }
}

#[test]
fn what_clean_up_removes_is_listed_with_its_price() {
    // The product is only used by the side that keeps its branch value.
    let mut case = case(
        "function %f(pred varying, i32 varying) -> i32 {
block0(v0: pred, v1: i32):
    br v0, block1, block2(v1) @1:1

block1:
    v2 = imul.i32 v1, v1
    jump block2(v1)

block2(v3: i32):
    ret v3
}",
    )
    .counts(0, 3, 4, 2)
    .passes(0, 5)
    .passes(1, 3)
    .passes(2, 5);
    case.cleanup = true;
    let c = case.run();
    assert_eq!(lines(&c.func), ["ret v1"]);
    assert_eq!(c.report.removed.len(), 1);
    assert_eq!(c.report.removed[0].text, "v2 = imul.i32 v1, v1");
    assert_eq!(c.report.removed[0].predicted, Cost::issues(5));
    assert_eq!(c.report.predicted, Some(Cost::issues(10)));
}

#[test]
fn the_address_of_a_speculated_load_keeps_what_it_is_off_its_side() {
    let c = case(
        "function %f(pred varying, i64 varying, i64 varying) -> i64, i32 {
block0(v0: pred, v1: i64, v2: i64):
    v9 = const.i32 0
    br v0, block1, block2(v1, v9) @1:1

block1:
    v3 = iadd.i64 v1, v2
    v4 = load.i32 can_move v3
    jump block2(v3, v4)

block2(v5: i64, v6: i32):
    ret v5, v6
}",
    )
    .force(Force::Straight)
    .run();
    // With `else v1` the load would read at v1 there, which nobody promised.
    assert_eq!(
        lines(&c.func),
        [
            "v9 = const.i32 0",
            "v3 = iadd.i64 v1, v2",
            "v4 = load.i32 can_move v3 if v0 else v9",
            "v10 = select.i64 v0, v3, v1 @1:1",
            "ret v10, v4"
        ]
    );
}
