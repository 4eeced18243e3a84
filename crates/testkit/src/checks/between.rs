//! Properties of decisions that hold *between* conversions: of one kernel by
//! machines that differ in one number, of a kernel and its mirror image, of a
//! kernel with its blocks in another order, and of what a conversion gave.
//!
//! All numbers are those of the profile of the launch, and of runs of what comes
//! out: predicted cost is held against executed cost on the way.
//!
//! - *Monotone*: where every branch costs more by the same amount, no more branches
//!   are executed; where one class of instructions costs more, no more of it issues.
//! - *Mirrored*: with conditions negated and sides swapped each branch has the same
//!   form and numbers, and so it has with the blocks in another order.
//! - *Settled*: deciding again about what came out changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use warpfold::analysis::uniformity::{Uniformity, UniformityOptions};
use warpfold::exec::{Counters, ExecOptions, run_functions};
use warpfold::ir::{Block, CostClass, Function, Origin};
use warpfold::machine::{Cost, Machine};
use warpfold::opt;
use warpfold::opt::ifconv::policy::Cheapest;
use warpfold::opt::report::{Decision, Form, StraightShape, Verdict};
use warpfold::{Before, Canonical, Lowered};

use super::{Failure, STEP_LIMIT, Subject, Tally, fail, run_options, settings, under};

/// What the raises of a number changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Raised {
    /// Pairs of machines compared.
    pub compared: u64,
    /// Of these, pairs between which the number went down.
    pub fell: u64,
}

impl Raised {
    /// Adds another kernel's.
    pub fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.fell += other.fell;
    }
}

/// Runs of what conversions of one kernel give, each different function once.
struct Executed<'a> {
    subject: &'a Subject,
    runs: HashMap<String, Counters>,
    /// How many instructions of each class the versions have at most.
    most: BTreeMap<CostClass, usize>,
}

impl Executed<'_> {
    /// What the kernel does when it is converted by cost for `machine`.
    fn by(&mut self, machine: &Machine) -> Result<Counters, Failure> {
        let settings = settings(machine, None, false);
        let road = |e: warpfold::Errors| fail("road", under(&settings), e.to_string());
        let optimized = self.subject.canonical.clone().convert(&settings);
        let optimized = optimized.map_err(road)?;
        let text = optimized.func().to_string();
        if !self.runs.contains_key(&text) {
            let run =
                optimized
                    .lowered()
                    .execute(optimized.func(), &self.subject.launch, &run_options());
            self.runs.insert(text.clone(), run.map_err(road)?.counters);
            let func = optimized.func();
            let mut held = BTreeMap::<CostClass, usize>::new();
            for (_, inst) in func.laid_out_insts() {
                let data = func.inst(inst);
                *held.entry(data.op.cost_class(data.ty)).or_default() += 1;
            }
            for (class, n) in held {
                let most = self.most.entry(class).or_default();
                *most = n.max(*most);
            }
        }
        let counters = self.runs[&text].clone();
        let (predicted, executed) = (optimized.report().predicted, counters.cost(machine));
        if predicted != Some(executed) {
            let predicted = predicted.unwrap_or_default();
            let message = format!("predicted {predicted}, executed {executed}\n{text}");
            return Err(fail("monotone", under(&settings), message));
        }
        Ok(counters)
    }

    /// Holds that `count` never rises from one of `machines` to the next.
    fn never_rises(
        &mut self,
        machines: impl Iterator<Item = Machine>,
        what: &str,
        count: impl Fn(&Counters) -> u64,
    ) -> Result<Raised, Failure> {
        let mut seen = Raised::default();
        let mut last: Option<u64> = None;
        for machine in machines {
            let now = count(&self.by(&machine)?);
            if let Some(last) = last {
                if now > last {
                    let message = format!("{what}: {last} before it was dearer, {now} then");
                    return Err(fail("monotone", machine.name, message));
                }
                seen.compared += 1;
                seen.fell += u64::from(now < last);
            }
            last = Some(now);
        }
        Ok(seen)
    }
}

/// Raising what every branch costs on top by the same amount never raises the
/// number of executed branches, skips included; raising what a class of
/// instructions costs never raises the number of its issues. First what the former
/// changed, then the latter, and of these those classes that hold one instruction
/// alone, whatever the form; `None` if a lane traps, since nothing is predicted then.
///
/// # Errors
/// The first number that rises.
pub fn check_monotone(
    subject: &Subject,
    machine: &Machine,
) -> Result<Option<[Raised; 3]>, Failure> {
    if !subject.baseline.before().traps.is_empty() {
        return Ok(None);
    }
    let mut executed = Executed {
        subject,
        runs: HashMap::new(),
        most: BTreeMap::new(),
    };
    let overheads = [0, 1, 3, 10, 40].into_iter().map(|raise| {
        let mut machine = machine.clone();
        for b in [
            &mut machine.b_proven,
            &mut machine.b_agree,
            &mut machine.b_split,
        ] {
            *b += Cost::issues(raise);
        }
        machine
    });
    let by_overhead = executed.never_rises(overheads, "branches", |c| c.branches.total())?;
    let [mut by_class, mut by_instruction] = [Raised::default(); 2];
    for &class in CostClass::ALL {
        let machines = [0, 2, 16].into_iter().map(|raise| {
            let mut machine = machine.clone();
            machine.issue[class.index()] += Cost::issues(raise);
            machine
        });
        let found = executed.never_rises(machines, class.name(), |c| c.class(class))?;
        by_class.add(found);
        // Terminators are control, whose class is never one instruction's.
        if class != CostClass::Ctl && executed.most.get(&class) == Some(&1) {
            by_instruction.add(found);
        }
    }
    Ok(Some([by_overhead, by_class, by_instruction]))
}

/// What a second conversion found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Again {
    /// Branches with counts that were decided once more.
    pub branches: u64,
    /// Regions that cannot be straight, by rule.
    pub blockers: BTreeMap<String, u64>,
}

/// What is the same of a branch however the kernel is written down.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Numbers {
    outcome: &'static str,
    shape: Option<&'static str>,
    /// Executions, splits, and executions by side, the smaller first.
    counts: Option<(u64, u64, [u64; 2])>,
    predicted: Option<Cost>,
    estimates: Vec<(Form, Cost)>,
    margin: Option<Cost>,
    /// Instructions, guarded, merged, selects, predicates, exits, skips.
    straight: Option<[u32; 7]>,
}

fn numbers(d: &Decision) -> Numbers {
    let details = match &d.verdict {
        Verdict::Priced { details, .. } => Some(&**details),
        _ => None,
    };
    let parts = |s: StraightShape| {
        [
            s.instructions,
            s.guarded,
            s.merged,
            s.selects,
            s.predicates,
            s.exits,
            s.skips,
        ]
    };
    Numbers {
        outcome: d.outcome(),
        shape: details.map(|p| p.shape),
        counts: d.counts.map(|c| {
            let mut sides = [c.any_true, c.any_false];
            sides.sort_unstable();
            (c.executions, c.splits, sides)
        }),
        predicted: d.predicted,
        estimates: details.map_or(Vec::new(), |p| {
            p.estimates.iter().map(|e| (e.form, e.total)).collect()
        }),
        margin: details.and_then(|p| p.margin),
        straight: details.and_then(|p| p.straight_shape).map(parts),
    }
}

/// The numbers of all branches of a kernel by their origins, and what it costs in all.
type Written = (BTreeMap<Origin, Numbers>, Option<Cost>);

fn written(canonical: &Canonical, machine: &Machine) -> Result<Written, Failure> {
    let settings = settings(machine, None, false);
    let optimized = canonical.clone().convert(&settings);
    let optimized = optimized.map_err(|e| fail("road", under(&settings), e.to_string()))?;
    let report = optimized.report();
    let decisions = report.decisions.iter().map(|d| (d.origin, numbers(d)));
    Ok((decisions.collect(), report.predicted))
}

/// The blocks of a function without what mirroring and reordering change.
fn unsigned(func: &Function) -> Vec<String> {
    let words = |line: &str| {
        let code = line.split(" @").next().unwrap_or_default();
        let words = code.split(|c: char| !c.is_alphanumeric());
        let code = |w: &&str| {
            !w.starts_with("block") && !NEGATIONS.iter().any(|(_, a, b)| w == a || w == b)
        };
        let mut words: Vec<&str> = words.filter(code).collect();
        if words.contains(&"br") {
            words.sort_unstable();
        }
        words.join(" ")
    };
    let mut blocks = vec![String::new()];
    for line in func.to_string().lines() {
        match blocks.last_mut() {
            Some(last) if !line.starts_with("block") => *last += &words(line),
            _ => blocks.push(words(line)),
        }
    }
    blocks.sort();
    blocks
}

/// A kernel and its [mirror image](mirrored) get the same forms at the same numbers.
/// How many branches were mirrored; `None` where there are none, or where the passes
/// before do something else with a negated comparison: it may be equal to another
/// one, or two exits may change places.
///
/// # Errors
/// The first branch that gets something else.
pub fn check_mirrored(text: &str, machine: &Machine) -> Result<Option<u64>, Failure> {
    let (mirror, branches) = mirrored(text);
    if branches == 0 {
        return Ok(None);
    }
    let read = |text| Subject::read(text, "mirrored.clif", Path::new("."));
    let [a, b] = [read(text)?.canonical, read(&mirror)?.canonical];
    same_numbers(&a, &b, machine).map(|same| same.then_some(branches))
}

/// A kernel with its blocks in the order that `draw` gives, its entry first and its
/// ends in their order, and with numbers in another order still, gets the same forms at
/// the same numbers. Whether there was another order.
///
/// # Errors
/// The first branch that gets something else.
pub fn check_order(subject: &Subject, draw: u64, machine: &Machine) -> Result<bool, Failure> {
    let road = |e: warpfold::Errors| fail("road", String::new(), e.to_string());
    let lowered = subject.canonical.before().lowered();
    let mut func = lowered.func().clone();
    if !reorder(&mut func, draw) {
        return Ok(false);
    }
    let func = renumbered(&func).map_err(|e| fail("numbers", String::new(), e))?;
    let canonical = Lowered::from_ir(func, lowered.options().clone())
        .and_then(Lowered::clean)
        .and_then(Before::canonicalise)
        .and_then(|c| c.profile(&subject.launch, &run_options()))
        .map_err(road)?;
    same_numbers(&subject.canonical, &canonical, machine)
}

/// Whether two versions are comparable; if they are, their numbers are the same.
fn same_numbers(a: &Canonical, b: &Canonical, machine: &Machine) -> Result<bool, Failure> {
    if unsigned(a.func()) != unsigned(b.func()) {
        return Ok(false);
    }
    let (numbers, cost) = written(a, machine)?;
    let (others, other_cost) = written(b, machine)?;
    let wrong = |message: String| {
        let message = format!("{message}\n{}\nand\n{}", a.func(), b.func());
        Err(fail("numbers", machine.name.clone(), message))
    };
    for (origin, numbers) in &numbers {
        let other = others.get(origin);
        if other != Some(numbers) {
            return wrong(format!("{origin}: {numbers:#?}\nbut {other:#?}"));
        }
    }
    if numbers.len() != others.len() || cost != other_cost {
        return wrong(format!("{cost:?}, but {other_cost:?}"));
    }
    Ok(true)
}

/// Deciding and rewriting what a conversion gave, without canonicalising it and with
/// the counts that its branches have by their origins, changes nothing. What was decided
/// the second time, and how many branches that were decided already were decided again.
///
/// # Errors
/// If something changes, or a branch that was kept counts otherwise than before.
pub fn check_settled(subject: &Subject, machine: &Machine) -> Result<Again, Failure> {
    let settings = settings(machine, None, false);
    let wrong = |message: String| fail("settled", under(&settings), message);
    let canonical = &subject.canonical;
    let first = canonical.clone().convert(&settings);
    let first = first.map_err(|e| wrong(e.to_string()))?;
    let (func, lowered) = (first.func(), first.lowered());
    let joins = lowered.options().joins;
    let options = ExecOptions {
        joins,
        profile: true,
        step_limit: STEP_LIMIT,
        ..ExecOptions::default()
    };
    let functions = lowered.linked(func);
    let run = run_functions(&functions, lowered.kernel(), &subject.launch, &options);
    let run = run.map_err(|e| wrong(e.to_string()))?;
    let profile = run.profile.unwrap_or_default();
    let mut again = 0;
    if let Some(counts) = canonical.counts() {
        let laid_out = canonical.func().layout.iter();
        let origins: HashMap<_, _> = laid_out
            .filter(|&&b| canonical.func().term(b).is_conditional())
            .map(|&b| (canonical.func().block(b).origin, b))
            .collect();
        for &b in &func.layout {
            if func.term(b).mark().is_none_or(|m| m.decided) {
                continue;
            }
            let before = origins
                .get(&func.block(b).origin)
                .and_then(|&b| counts.branch(b));
            if before != profile.branch(b) {
                let message = format!("{b}: {before:?}, then {:?}\n{func}", profile.branch(b));
                return Err(wrong(message));
            }
            again += 1;
        }
    }
    let shape = lowered.options().shape.unwrap_or_default();
    let uniformity = Uniformity::new(
        func,
        &UniformityOptions {
            shape,
            joins,
            ..UniformityOptions::default()
        },
    );
    let second = opt::convert(
        func,
        &opt::Context {
            branches: lowered.branches(),
            log: &opt::Log::default(),
            uniformity: &uniformity,
            machine,
            joins,
            profile: Some(&profile),
            policy: &Cheapest,
            force: None,
            choice: None,
            assumed: opt::Assumed {
                prior: settings.prior,
                priors: &BTreeMap::new(),
                shape,
            },
            merge: settings.merge,
            cleanup: false,
        },
    );
    let (before, after) = (func.to_string(), second.func.to_string());
    if before != after {
        return Err(wrong(format!("{before}\nbecomes\n{after}")));
    }
    Ok(Again {
        branches: again,
        blockers: Tally::of(&second.report).blockers,
    })
}

/// The function with its blocks numbered from the last in layout to the first.
fn renumbered(func: &Function) -> Result<Function, String> {
    let numbers: HashMap<String, usize> = func
        .layout
        .iter()
        .rev()
        .enumerate()
        .map(|(i, b)| (b.to_string(), i))
        .collect();
    let text = func.to_string();
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("block") {
        let end = rest[at + 5..].find(|c: char| !c.is_ascii_digit());
        let end = end.map_or(rest.len(), |n| at + 5 + n);
        out.push_str(&rest[..at]);
        match numbers.get(&rest[at..end]) {
            Some(n) => out.push_str(&format!("block{n}")),
            None => out.push_str(&rest[at..end]),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    warpfold::ir::parse_function(&out).map_err(|e| format!("{e}\n{out}"))
}

/// Each condition code and its negation.
const NEGATIONS: &[(&str, &str, &str)] = &[
    ("icmp", "eq", "ne"),
    ("icmp", "slt", "sge"),
    ("icmp", "sgt", "sle"),
    ("icmp", "ult", "uge"),
    ("icmp", "ugt", "ule"),
    ("fcmp", "eq", "ne"),
    ("fcmp", "lt", "uge"),
    ("fcmp", "le", "ugt"),
    ("fcmp", "gt", "ule"),
    ("fcmp", "ge", "ult"),
    ("fcmp", "ord", "uno"),
    ("fcmp", "one", "ueq"),
];

/// `text` with every branch turned round whose condition is a comparison that
/// nothing else uses: the comparison negated, the sides swapped. And how many.
pub fn mirrored(text: &str) -> (String, u64) {
    let words = |line: &str| -> Vec<String> {
        let code = line.split(';').next().unwrap_or_default();
        let words = code.split(|c: char| !c.is_alphanumeric());
        words.filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let mut uses: HashMap<String, u32> = HashMap::new();
    for word in text.lines().flat_map(words) {
        *uses.entry(word).or_default() += 1;
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut turned = 0;
    for at in 0..lines.len() {
        let Some(rest) = lines[at].trim_start().strip_prefix("brif ") else {
            continue;
        };
        let Some((cond, edges)) = rest.split_once(", ") else {
            continue;
        };
        // The edge ends with its arguments, or where the next begins.
        let end = match (edges.find('('), edges.find(", ")) {
            (Some(open), Some(comma)) if open < comma => edges.find(')').map(|close| close + 1),
            (_, comma) => comma,
        };
        let Some((then, otherwise)) = end.map(|end| (&edges[..end], &edges[end + 2..])) else {
            continue;
        };
        let branch = format!("    brif {cond}, {otherwise}, {then}");
        if uses.get(cond) != Some(&2) {
            continue;
        }
        let start = format!("{cond} = ");
        let negated = |line: &String| {
            let rest = line.trim_start().strip_prefix(&start)?;
            let mut parts = rest.splitn(3, ' ');
            let (op, code, args) = (parts.next()?, parts.next()?, parts.next()?);
            let row = NEGATIONS
                .iter()
                .find(|(o, a, b)| *o == op && (*a == code || *b == code))?;
            let other = if row.1 == code { row.2 } else { row.1 };
            Some(format!("    {start}{op} {other} {args}"))
        };
        let found = lines.iter().position(|line| negated(line).is_some());
        if let Some((def, line)) = found.and_then(|def| Some((def, negated(&lines[def])?))) {
            lines[def] = line;
            lines[at] = branch;
            turned += 1;
        }
    }
    (lines.join("\n") + "\n", turned)
}

/// Lays the blocks out in the order that `draw` gives, the entry first and blocks at
/// which lanes end in the order that they are in: where lanes join rests on that.
/// Whether anything changed.
fn reorder(func: &mut Function, mut draw: u64) -> bool {
    let ends = |&b: &Block| func.term(b).targets().is_empty();
    let (last, mut others): (Vec<Block>, Vec<Block>) =
        func.layout.iter().skip(1).copied().partition(ends);
    for i in (1..others.len()).rev() {
        draw = draw
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        others.swap(i, (draw >> 33) as usize % (i + 1));
    }
    let order: Vec<Block> = func
        .layout
        .iter()
        .take(1)
        .copied()
        .chain(others)
        .chain(last)
        .collect();
    let changed = order[..] != func.layout[..];
    func.layout = order;
    changed
}
