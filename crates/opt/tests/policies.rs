//! Every policy at its exact thresholds: one below, at, one above.

use std::cell::RefCell;

use warpfold_analysis::uniformity::{Uniformity, UniformityOptions};
use warpfold_analysis::{BranchCounts, JoinRule, Profile};
use warpfold_ir::{Block, parse_module, verify};
use warpfold_machine::{Cost, Machine};
use warpfold_opt::ifconv::policy::{Policy, Question};
use warpfold_opt::policy::{POLICIES, find};
use warpfold_opt::report::Form::{self, Branch, Skip, Straight};
use warpfold_opt::report::Verdict;
use warpfold_opt::{Assumed, Context, Conversion, Log, SourceBranch, convert, mark_proven};

/// Hears what another policy answers.
#[derive(Debug)]
struct Ear<'a> {
    policy: &'a dyn Policy,
    heard: RefCell<Vec<(Block, Form)>>,
}

impl Policy for Ear<'_> {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let form = self.policy.choose(question);
        let head = question.regions[question.region].head;
        self.heard.borrow_mut().push((head, form));
        form
    }

    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        self.policy.skips(question, first)
    }
}

/// A conditional to ask about.
#[derive(Clone)]
struct Cond {
    then: Vec<(&'static str, usize)>,
    other: Vec<(&'static str, usize)>,
    joined: usize,
    uniform: bool,
    /// Lanes on the then side, of 64.
    lanes: Option<u64>,
    b: Option<u64>,
    machine: &'static str,
}

fn cond(then: &[(&'static str, usize)], other: &[(&'static str, usize)]) -> Cond {
    Cond {
        then: then.to_vec(),
        other: other.to_vec(),
        joined: 1,
        uniform: false,
        lanes: None,
        b: None,
        machine: "textbook",
    }
}

/// `n` additions on the then side.
fn triangle(n: usize) -> Cond {
    cond(&[("add", n)], &[])
}

fn diamond(n: usize, m: usize) -> Cond {
    cond(&[("add", n)], &[("add", m)])
}

impl Cond {
    fn uniform(mut self) -> Self {
        self.uniform = true;
        self
    }

    fn joined(mut self, n: usize) -> Self {
        self.joined = n;
        self
    }

    fn lanes(mut self, n: u64) -> Self {
        self.lanes = Some(n);
        self
    }

    fn b(mut self, b: u64) -> Self {
        self.b = Some(b);
        self
    }

    fn on(mut self, machine: &'static str) -> Self {
        self.machine = machine;
        self
    }

    fn text(&self) -> String {
        let varying = if self.uniform { "" } else { " varying" };
        let mut text = format!(
            "function %f(pred{varying}, i32 varying, i32 varying, i64 varying, f32 varying, i64) {{
block0(v0: pred, v1: i32, v2: i32, v3: i64, v4: f32, v5: i64):
"
        );
        // Values that differ by side, whatever the sides compute.
        let args = |first: &str, rest: &str| {
            let args: Vec<&str> = (0..self.joined)
                .map(|i| if i == 0 { first } else { rest })
                .collect();
            match args.len() {
                0 => String::new(),
                _ => format!("({})", args.join(", ")),
            }
        };
        let mut next = 10;
        let mut side = |insts: &[(&str, usize)], start: &str| {
            let mut body = String::new();
            let mut last = start.to_owned();
            for &(op, n) in insts {
                for _ in 0..n {
                    let v = format!("v{next}");
                    next += 1;
                    let inst = match op {
                        "add" => format!("iadd.i32 {last}, v1"),
                        "mul" => format!("imul.i32 {last}, v1"),
                        "div" => format!("udiv.i32 {last}, v1"),
                        "neg" => format!("ineg.i32 {last}"),
                        "xor" => format!("bxor.i32 {last}, v1"),
                        "less" => format!("icmp.i32 slt {last}, v1"),
                        "shift" => format!("ishl.i32 {last}, v1"),
                        "sin" => "sin.f32 v4".to_owned(),
                        "load" => format!("load.i32 can_move v3+{next}"),
                        "scalar" => "iadd.i64 v5, v5".to_owned(),
                        "scalar load" => format!("load.i32 can_move v5+{next}"),
                        "store" => {
                            body += &format!("    store.i32 v1, v3+{next}\n");
                            continue;
                        }
                        op => panic!("{op}"),
                    };
                    body += &format!("    {v} = {inst}\n");
                    if !matches!(op, "sin" | "less" | "scalar" | "load" | "scalar load") {
                        last = v;
                    }
                }
            }
            (body, last)
        };
        let (then, t) = side(&self.then, "v1");
        let (other, e) = side(&self.other, "v2");
        let diamond = !other.is_empty();
        let target = match diamond {
            true => "block2".to_owned(),
            false => format!("block3{}", args("v2", "v2")),
        };
        text += &format!("    br v0, block1, {target} @1:1\n\nblock1:\n{then}");
        text += &format!("    jump block3{}\n\n", args(&t, "v1"));
        if diamond {
            text += &format!("block2:\n{other}    jump block3{}\n\n", args(&e, "v2"));
        }
        let params: Vec<String> = (0..self.joined)
            .map(|i| format!("v{}: i32", 900 + i))
            .collect();
        let params = match params.len() {
            0 => String::new(),
            _ => format!("({})", params.join(", ")),
        };
        text + &format!("block3{params}:\n    ret\n}}\n")
    }
}

/// What a policy answers for every region of `text`, by head.
fn answers(policy: &dyn Policy, text: &str, cond: &Cond) -> Vec<(Block, Form)> {
    decided(policy, text, cond).0
}

/// The same, and what comes of it.
fn decided(policy: &dyn Policy, text: &str, cond: &Cond) -> (Vec<(Block, Form)>, Conversion) {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut func = module.functions.into_iter().next().expect("one function");
    verify(&func).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let uniformity = Uniformity::new(&func, &UniformityOptions::default());
    mark_proven(&mut func, &uniformity);
    let branch = |&b: &Block| SourceBranch {
        origin: func.block(b).origin,
        opcode: "br",
        hint: None,
    };
    let conditional = |b: &&Block| func.term(**b).is_conditional();
    let branches: Vec<SourceBranch> = func.layout.iter().filter(conditional).map(branch).collect();
    let mut machine = Machine::builtin(cond.machine).expect("it ships");
    if let Some(b) = cond.b {
        let b = Cost::issues(b);
        (machine.b_proven, machine.b_agree, machine.b_split) = (b, b, b);
    }
    let profile = cond.lanes.map(|lanes| {
        let mut profile = Profile::new();
        let mut counts = BranchCounts::two_way(1, 1, 1);
        counts.lanes = [lanes, 64 - lanes].into_iter().collect();
        profile.set_branch(Block::from_u32(0), counts);
        profile
    });
    let ear = Ear {
        policy,
        heard: RefCell::default(),
    };
    let conversion = convert(
        &func,
        &Context {
            branches: &branches,
            log: &Log::default(),
            uniformity: &uniformity,
            machine: &machine,
            joins: JoinRule::Default,
            profile: profile.as_ref(),
            policy: &ear,
            force: None,
            choice: None,
            assumed: Assumed::default(),
            merge: true,
            cleanup: false,
        },
    );
    (ear.heard.into_inner(), conversion)
}

fn expect(name: &str, cases: &[(Cond, Form)]) {
    let row = find(name).unwrap_or_else(|| panic!("no policy {name}"));
    assert_eq!(row.policy.name(), name);
    for (cond, want) in cases {
        let text = cond.text();
        let heard = answers(row.policy, &text, cond);
        assert_eq!(heard, [(Block::from_u32(0), *want)], "{name} of\n{text}");
    }
}

#[test]
fn the_extremes_look_at_nothing() {
    expect(
        "always-branch",
        &[(triangle(0), Branch), (diamond(1, 1), Branch)],
    );
    expect(
        "always-straight",
        &[
            (triangle(500), Straight),
            (diamond(99, 1).uniform(), Straight),
        ],
    );
}

#[test]
fn llvm_simplifycfg() {
    expect(
        "llvm-simplifycfg",
        &[
            // A join of two edges: both arms cost at most 4, at most 3 values.
            (diamond(2, 1), Straight),
            (diamond(2, 2), Straight),
            (diamond(3, 2), Branch),
            (triangle(4), Straight),
            (triangle(5), Branch),
            (cond(&[("mul", 4)], &[]), Straight),
            (diamond(1, 1).joined(3), Straight),
            (diamond(1, 1).joined(4), Branch),
            (cond(&[("sin", 1)], &[]), Straight),
            (cond(&[("sin", 1), ("add", 1)], &[]), Branch),
            (cond(&[("div", 1)], &[]), Branch),
            (cond(&[("store", 1)], &[]), Branch),
        ],
    );
}

#[test]
fn llvm_speculative_execution() {
    expect(
        "llvm-speculative-execution",
        &[
            (triangle(6), Straight),
            (triangle(7), Straight),
            (triangle(8), Branch),
            (cond(&[("sin", 1), ("add", 3)], &[]), Straight),
            (cond(&[("sin", 1), ("add", 4)], &[]), Branch),
            (triangle(7).uniform(), Branch),
            (diamond(1, 1), Branch),
            (cond(&[("add", 1), ("store", 1)], &[]), Branch),
        ],
    );
}

#[test]
fn llvm_early_ifcvt() {
    // Unknown latencies are 1 cycle: a chain of n and a select against nothing.
    expect(
        "llvm-early-ifcvt",
        &[
            (triangle(2).b(8), Straight),
            (triangle(3).b(8), Straight),
            (triangle(4).b(8), Branch),
            // Equal arms only grow by the select.
            (diamond(30, 30).b(2), Straight),
            (diamond(31, 31).b(2), Branch),
            (diamond(30, 30).b(1), Branch),
            // Ampere: 4 cycles, and 1 for the select, of which none is known.
            (triangle(1).b(9).on("ampere"), Branch),
            (triangle(1).b(10).on("ampere"), Straight),
            (cond(&[("load", 1)], &[]).b(1000), Branch),
        ],
    );
}

#[test]
fn nir() {
    for (name, n) in [("nir-8", 8), ("nir-16", 16), ("nir-64", 64)] {
        expect(
            name,
            &[
                (diamond(n - 2, 1), Straight),
                (diamond(n - 1, 1), Straight),
                (diamond(n, 1), Branch),
                (triangle(n), Straight),
                (triangle(n + 1), Branch),
                (cond(&[("add", n), ("neg", 5)], &[]), Straight),
                (cond(&[("sin", 1)], &[]), Branch),
                (cond(&[("load", 1)], &[]), Branch),
            ],
        );
    }
}

#[test]
fn aco_16() {
    expect(
        "aco-16",
        &[
            (triangle(15), Straight),
            (triangle(16), Straight),
            (triangle(17), Skip),
            (diamond(16, 16), Straight),
            (diamond(16, 17), Skip),
            (cond(&[("scalar", 8)], &[]), Straight),
            (cond(&[("scalar", 8), ("add", 1)], &[]), Skip),
            (cond(&[("load", 1)], &[]), Straight),
            (cond(&[("scalar load", 1)], &[]), Skip),
            (triangle(1).uniform(), Branch),
        ],
    );
}

#[test]
fn amdgpu_skip_12() {
    expect(
        "amdgpu-skip-12",
        &[
            (triangle(11), Straight),
            (triangle(12), Skip),
            (triangle(13), Skip),
            (diamond(11, 11), Straight),
            (diamond(11, 12), Skip),
            (triangle(1).uniform(), Branch),
        ],
    );
}

#[test]
fn amdgpu_skip_p() {
    // On textbook a branch costs b = 5. Even odds: Then ≤ 5 + 1.
    expect(
        "amdgpu-skip-p",
        &[
            (triangle(5).lanes(32), Straight),
            (triangle(6).lanes(32), Straight),
            (triangle(7).lanes(32), Skip),
            // P = 3/4: Then ≤ 5 + 3.
            (triangle(8).lanes(48), Straight),
            (triangle(9).lanes(48), Skip),
            (triangle(5).lanes(0), Straight),
            (triangle(6).lanes(0), Skip),
            (triangle(600).lanes(64), Straight),
            // The other side has what is left.
            (diamond(8, 5).lanes(48), Straight),
            (diamond(8, 6).lanes(48), Skip),
            (triangle(1).uniform(), Branch),
        ],
    );
}

#[test]
fn nak_4() {
    expect(
        "nak-4",
        &[
            (diamond(2, 2), Straight),
            (diamond(3, 3), Straight),
            (diamond(3, 4), Branch),
            (triangle(1), Branch),
        ],
    );
}

#[test]
fn cuda_guide() {
    expect(
        "cuda-guide",
        &[
            (diamond(3, 3), Straight),
            (diamond(4, 3), Straight),
            (diamond(4, 4), Branch),
            (triangle(3).uniform(), Straight),
            (triangle(4).uniform(), Straight),
            (triangle(5).uniform(), Branch),
        ],
    );
}

#[test]
fn ptxas() {
    expect(
        "ptxas",
        &[
            (triangle(7), Straight),
            (triangle(8), Straight),
            (triangle(9), Branch),
            (triangle(6).uniform(), Straight),
            (triangle(7).uniform(), Branch),
            // The jump that closes the then side counts.
            (diamond(7, 8), Straight),
            (diamond(8, 8), Branch),
            // The then side alone.
            (diamond(7, 9), Skip),
            (diamond(8, 9), Branch),
            (diamond(5, 6).uniform(), Straight),
            (diamond(6, 6).uniform(), Branch),
            (triangle(20).joined(4), Straight),
            (triangle(20).joined(3), Branch),
            (triangle(21).joined(4), Branch),
            (diamond(10, 9).joined(4), Straight),
            (diamond(10, 10).joined(4), Branch),
            (diamond(7, 13).joined(4), Skip),
            (cond(&[("load", 1), ("add", 19)], &[]), Straight),
            (cond(&[("load", 1), ("add", 20)], &[]), Branch),
            (cond(&[("div", 1)], &[]), Branch),
        ],
    );
}

#[test]
fn ispc() {
    expect(
        "ispc",
        &[
            (diamond(2, 2), Straight),
            (diamond(3, 2), Straight),
            (diamond(3, 3), Skip),
            (cond(&[("sin", 1), ("add", 1)], &[]), Straight),
            (cond(&[("sin", 1), ("add", 2)], &[]), Skip),
            // The same address in all lanes: 2; any address: 8.
            (cond(&[("scalar load", 1), ("add", 3)], &[]), Straight),
            (cond(&[("scalar load", 1), ("add", 4)], &[]), Skip),
            (cond(&[("load", 1)], &[]), Skip),
            (cond(&[("div", 1)], &[]), Skip),
            (triangle(1).uniform(), Branch),
        ],
    );
}

#[test]
fn rv_boscc() {
    expect(
        "rv-boscc",
        &[
            (triangle(99).lanes(25), Straight),
            (triangle(100).lanes(25), Skip),
            // 25/64 = 0.39, 26/64 = 0.41.
            (triangle(100).lanes(26), Straight),
            (diamond(5, 100).lanes(38), Straight),
            (diamond(5, 100).lanes(39), Skip),
            (triangle(100).lanes(25).uniform(), Branch),
        ],
    );
}

#[test]
fn ilgpu() {
    expect(
        "ilgpu",
        &[
            (diamond(7, 7), Straight),
            (diamond(8, 8), Straight),
            (diamond(9, 8), Branch),
            (diamond(8, 4), Straight),
            (diamond(8, 3), Branch),
            (triangle(4), Straight),
            (triangle(5), Branch),
            (cond(&[("load", 1)], &[]), Branch),
        ],
    );
}

#[test]
fn noir() {
    // C < C/2 + 10, rounded down: up to 18.
    expect(
        "noir",
        &[
            (diamond(3, 3), Straight),
            (cond(&[("add", 5), ("xor", 2)], &[]), Straight),
            (cond(&[("add", 6), ("xor", 1)], &[]), Branch),
            (cond(&[("less", 3), ("add", 1)], &[]), Straight),
            (cond(&[("less", 3), ("xor", 4)], &[]), Branch),
            (cond(&[("shift", 1)], &[]), Branch),
            (cond(&[("load", 1)], &[]), Branch),
        ],
    );
}

#[test]
fn arm_ifcvt() {
    // T ≤ p·T + 1 + b/10: even odds and b = 5 give T ≤ 3.
    expect(
        "arm-ifcvt",
        &[
            (triangle(2).lanes(32), Straight),
            (triangle(3).lanes(32), Straight),
            (triangle(4).lanes(32), Branch),
            (triangle(4).lanes(32).b(10), Straight),
            (triangle(1).lanes(0), Straight),
            (triangle(2).lanes(0), Branch),
            (triangle(300).lanes(64), Straight),
            (diamond(3, 0).lanes(32), Straight),
            (diamond(2, 1).lanes(32), Straight),
            (diamond(2, 2).lanes(32), Branch),
        ],
    );
}

#[test]
fn dotnet() {
    expect(
        "dotnet",
        &[
            (diamond(6, 7), Straight),
            (diamond(7, 7), Straight),
            (diamond(8, 1), Branch),
            (cond(&[("mul", 1), ("load", 1)], &[]), Straight),
            (cond(&[("mul", 1), ("load", 1), ("add", 1)], &[]), Branch),
            (cond(&[("div", 1)], &[]), Branch),
        ],
    );
    let in_loop = "function %f(pred varying, i32 varying) {
block0(v0: pred, v1: i32):
    jump block1(v1)

block1(v2: i32):
    br v0, block2, block3(v2) @1:1

block2:
    v3 = iadd.i32 v2, v2
    jump block3(v3)

block3(v4: i32):
    v5 = icmp.i32 slt v4, v1
    br v5, block1(v4), block4 @2:2

block4:
    ret
}";
    let policy = find("dotnet").unwrap().policy;
    let heard = answers(policy, in_loop, &triangle(1));
    assert_eq!(heard, [(Block::from_u32(1), Branch)]);
}

/// A triangle of `n` additions, which a diamond's then side holds beside `m`.
fn nest(n: usize, m: usize) -> String {
    let mut text = String::from(
        "function %f(pred varying, i32 varying, pred varying) {
block0(v0: pred, v1: i32, v2: pred):
    br v0, block1, block4(v1) @1:1

block1:
    br v2, block2, block3(v1) @2:2

block2:
",
    );
    let mut last = "v1".to_owned();
    for i in 10..10 + n {
        text += &format!("    v{i} = iadd.i32 {last}, v1\n");
        last = format!("v{i}");
    }
    text += &format!("    jump block3({last})\n\nblock3(v3: i32):\n");
    let mut last = "v3".to_owned();
    for i in 100..100 + m {
        text += &format!("    v{i} = iadd.i32 {last}, v1\n");
        last = format!("v{i}");
    }
    text + &format!("    jump block4({last})\n\nblock4(v4: i32):\n    ret\n}}\n")
}

/// Rules that convert from the inside out see a nested conditional as its code
/// and a select, or not at all.
#[test]
fn nested_conditionals_count_once_they_are_gone() {
    let forms = |name: &str, n, m| {
        let policy = find(name).expect("it ships").policy;
        let heard = answers(policy, &nest(n, m), &triangle(1));
        let [(inner, first), (outer, second)] = heard[..] else {
            panic!("{heard:?}")
        };
        assert_eq!([inner, outer], [1, 0].map(Block::from_u32));
        (first, second)
    };
    // 4 + 1 select + 3 = 8.
    assert_eq!(forms("nir-8", 4, 3), (Straight, Straight));
    assert_eq!(forms("nir-8", 4, 4), (Straight, Branch));
    assert_eq!(forms("nir-8", 9, 0), (Branch, Branch));
    assert_eq!(forms("cuda-guide", 4, 2), (Straight, Straight));
    assert_eq!(forms("cuda-guide", 4, 3), (Straight, Branch));
    // Noir looks at no conditional with another inside.
    assert_eq!(forms("noir", 1, 1), (Straight, Branch));
    // The skip of the outer side covers the inner one: 5 + 1 + 6 = 12.
    assert_eq!(forms("amdgpu-skip-12", 5, 5), (Straight, Straight));
    assert_eq!(forms("amdgpu-skip-12", 5, 6), (Straight, Skip));
}

#[test]
fn the_table_names_each_policy_once() {
    let names: Vec<&str> = POLICIES.iter().map(|row| row.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), names.len());
    assert_eq!(names[0], "cost");
    for row in POLICIES {
        assert_eq!(row.policy.name(), row.name);
        assert!(row.rule.ends_with('.') && !row.source.is_empty(), "{row:?}");
    }
}

/// Of a skip what is emitted is what the rule says, side by side.
#[test]
fn a_skip_jumps_over_the_sides_that_the_rule_skips() {
    let skips = |name: &str, cond: Cond| {
        let policy = find(name).expect("it ships").policy;
        let (_, conversion) = decided(policy, &cond.text(), &cond);
        let Verdict::Priced { form, details } = &conversion.report.decisions[0].verdict else {
            panic!("a region is priced")
        };
        let shape = details.straight_shape.expect("it is legal");
        let jumps = conversion.func.layout.iter();
        let jumps = jumps.filter(|&&b| conversion.func.term(b).is_conditional());
        // Of a branch the shape is that of straight code at its best.
        match form {
            Branch => (*form, 0),
            _ => {
                assert_eq!(shape.skips as usize, jumps.count());
                (*form, shape.skips)
            }
        }
    };
    assert_eq!(skips("amdgpu-skip-12", diamond(11, 11)), (Straight, 0));
    assert_eq!(skips("amdgpu-skip-12", diamond(11, 12)), (Skip, 1));
    assert_eq!(skips("amdgpu-skip-12", diamond(12, 12)), (Skip, 2));
    assert_eq!(skips("amdgpu-skip-12", triangle(40).uniform()), (Branch, 0));
    assert_eq!(skips("ptxas", diamond(7, 9)), (Skip, 1));
    assert_eq!(skips("ispc", diamond(3, 3)), (Skip, 2));
    assert_eq!(skips("nir-64", diamond(30, 30)), (Straight, 0));
    assert_eq!(skips("rv-boscc", diamond(5, 100).lanes(39)), (Skip, 1));
    assert_eq!(skips("aco-16", diamond(17, 16)), (Skip, 1));
    // Inside straight code, too: a uniform conditional, which stays a branch by
    // this rule, is jumped over there.
    let policy = find("amdgpu-skip-12").expect("it ships").policy;
    let text = nest(1, 1).replacen("pred varying) {", "pred) {", 1);
    let (heard, conversion) = decided(policy, &text, &triangle(1));
    assert_eq!(
        heard.iter().map(|h| h.1).collect::<Vec<_>>(),
        [Branch, Straight]
    );
    let outcomes: Vec<_> = conversion
        .report
        .decisions
        .iter()
        .map(|d| d.outcome())
        .collect();
    assert_eq!(outcomes, ["straight", "skip"]);
}
