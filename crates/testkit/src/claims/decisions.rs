//! Claims about what is decided and known before anything runs.

use std::fmt::Write;

use warpfold::analysis::{BranchCounts, Cfg, JoinRule, Joins, Profile};
use warpfold::ir::{self, Block};
use warpfold::launch::Overrides;
use warpfold::machine::Machine;
use warpfold::opt::ifconv::legality::Blocker;
use warpfold::opt::report::{Force, Form, Priced, Verdict};
use warpfold::{Canonical, Options, Settings, Source, Syntax};

use super::sheet::Sheet;

type Done = Result<(), String>;

/// Two arms of so many different dependent operations; one without operations
/// is no arm.
fn arms(a: usize, b: usize) -> String {
    let mut text = String::from(
        ";! block = 32\nfunction %f(pred varying, i32 varying) -> i32 {\nblock0(v0: pred, v1: i32):\n",
    );
    let other = if b > 0 { "block2" } else { "block3(v1)" };
    let _ = writeln!(text, "    br v0, block1, {other}");
    for (block, op, n) in [(1, "iadd", a), (2, "imul", b)] {
        if n == 0 {
            continue;
        }
        let _ = writeln!(text, "\nblock{block}:");
        let mut last = 1;
        for i in 0..n {
            let next = 1000 * block + i;
            let _ = writeln!(text, "    v{next} = {op}.i32 v{last}, v1");
            last = next;
        }
        let _ = writeln!(text, "    jump block3(v{last})");
    }
    text + "\nblock3(v9: i32):\n    ret v9\n}\n"
}

fn canonical(text: &str) -> Result<Canonical, String> {
    let read = || {
        Source::parse(text, "claim.wf", Syntax::Wf)?
            .kernel(&Overrides::default(), &Options::default())?
            .lowered
            .as_written()?
            .canonicalise()
    };
    read().map_err(|e: warpfold::Errors| e.to_string())
}

/// Counts of the first branch: warps with a lane that takes each side, and with
/// lanes on both.
fn counts(sides: [u64; 2], both: u64) -> Profile {
    let mut profile = Profile::default();
    let first = Block::from_u32(0);
    profile.set_branch(first, BranchCounts::two_way(sides[0], sides[1], both));
    for (i, passes) in [1, 2].into_iter().zip(sides) {
        profile.add_passes(Block::from_u32(i), 0, passes);
    }
    profile
}

/// What is decided of the one branch, on the machine with b = 5: the form and
/// its price.
fn decided(
    text: &str,
    profile: Option<Profile>,
    force: Option<Force>,
) -> Result<(Form, Priced), String> {
    let mut canonical = canonical(text)?;
    if let Some(profile) = profile {
        canonical = canonical.with_profile(profile);
    }
    let machine = Machine::builtin("textbook").map_err(|e| e.to_string())?;
    let settings = Settings {
        force,
        cleanup: false,
        ..Settings::new(machine)
    };
    let optimized = canonical.convert(&settings).map_err(|e| e.to_string())?;
    match &optimized.report().decisions[..] {
        [d] => match &d.verdict {
            Verdict::Priced { form, details } => Ok((*form, (**details).clone())),
            other => Err(format!("not priced: {other:?}")),
        },
        all => Err(format!("{} decisions", all.len())),
    }
}

/// Prices of the branch and of straight code, each by executions.
fn prices(priced: &Priced, executions: f64) -> [f64; 2] {
    [Form::Branch, Form::Straight].map(|form| {
        let estimate = priced.estimates.iter().find(|e| e.form == form);
        // Not a price: the form is not legal.
        estimate.map_or(f64::NAN, |e| {
            e.total.thousandths() as f64 / 1000.0 / executions
        })
    })
}

pub(super) fn c51(s: &mut Sheet<'_>) -> Done {
    for split in [false, true] {
        for n in 1..=8u64 {
            let profile = match split {
                true => counts([2, 2], 2),
                false => counts([1, 1], 0),
            };
            let (form, priced) = decided(&arms(n as usize, n as usize), Some(profile), None)?;
            let branch = if split { 2 * n + 5 } else { n + 5 };
            let want = [branch as f64, 2.0 * n as f64];
            let chosen = if split || n <= 4 {
                "straight"
            } else {
                "branch"
            };
            let p = u8::from(split);
            s.equal(
                &format!("P(split) = {p}, n = {n}: branch, straight, choice"),
                (prices(&priced, 2.0), form.name()),
                (want, chosen),
            );
        }
    }
    Ok(())
}

pub(super) fn c56(s: &mut Sheet<'_>) -> Done {
    let (form, priced) = decided(&arms(100, 0), Some(counts([1, 1], 0)), None)?;
    s.equal(
        "a long arm: branch, straight, choice",
        (prices(&priced, 2.0), form.name()),
        ([55.0, 100.0], "branch"),
    );
    let barrier = ";! block = 32
function %f(pred varying, i32 varying) -> i32 {
block0(v0: pred, v1: i32):
    br v0, block1, block2(v1)

block1:
    v2 = iadd.i32 v1, v1
    barrier
    v3 = bxor.i32 v2, v1
    jump block2(v3)

block2(v4: i32):
    ret v4
}
";
    let call = barrier
        .replace("    barrier\n", "    v5 = call fn0(v2)\n")
        .replace("v3 = bxor.i32 v2", "v3 = bxor.i32 v5")
        .replace("block0(v0", "    fn0 = %g(i32) -> i32\n\nblock0(v0")
        + "\nfunction %g(i32) -> i32 {\nblock0(v0: i32):\n    ret v0\n}\n";
    for (what, text) in [("barrier", barrier), ("call", call.as_str())] {
        for force in Force::ALL {
            let (form, priced) = decided(text, None, Some(force))?;
            let blocker = match priced.straight {
                Err(Blocker::Sync { .. }) => "barrier",
                Err(Blocker::Call { .. }) => "call",
                Err(_) => "another",
                Ok(()) => "none",
            };
            s.equal(
                &format!("a {what}, forced to {}: form, blocker", force.name()),
                (form.name(), blocker),
                ("branch", what),
            );
        }
    }
    Ok(())
}

/// Of each branch: where it joins, where in the whole graph, and which comes
/// first.
pub(super) fn c74(s: &mut Sheet<'_>) -> Done {
    let files: [(&str, &[&str]); 5] = [
        (
            "c77-return-in-an-arm-default",
            &[
                "block0: block5, end, deferred",
                "block1: block3, end, deferred",
            ],
        ),
        (
            "c77-return-before-a-barrier-default-stack",
            &[
                "block0: block4, end, deferred",
                "block1: block4, end, deferred",
            ],
        ),
        ("c43-guard", &["block0: block2, end, deferred"]),
        (
            "c27-d-2",
            &[
                "block0: block9, block9, at the join",
                "block1: block4, block4, at the join",
                "block5: block8, block8, at the join",
            ],
        ),
        ("c31-1-32", &["block1: block3, block3, at the join"]),
    ];
    for (name, want) in files {
        let file = Sheet::file(name)?;
        // Without its `test` line a file is plain IR.
        let code = file.text.split_once('\n').map_or("", |(_, code)| code);
        let module = ir::parse_module(code).map_err(|e| e.to_string())?;
        let func = module.functions.first().ok_or("no function")?;
        let cfg = Cfg::new(func);
        let joins = Joins::new(func, &cfg, JoinRule::Default);
        let whole = Joins::new(func, &cfg, JoinRule::Cfg);
        let name_of = |b: Option<Block>| b.map_or("end".to_owned(), |b| b.to_string());
        let branches = func.layout.iter().filter(|&&b| cfg.branches(b));
        let rows = branches.map(|&b| {
            let (join, last) = (name_of(joins.of(b)), name_of(whole.of(b)));
            let class = match joins.deferred(b) {
                true => "deferred",
                false => "at the join",
            };
            format!("{b}: {join}, {last}, {class}")
        });
        let got: Vec<String> = rows.collect();
        s.equal(&format!("{}: branches", file.case()), got.len(), want.len());
        for (got, &want) in got.iter().zip(want) {
            s.equal(&file.case(), got.as_str(), want);
        }
    }
    Ok(())
}

pub(super) fn c76(s: &mut Sheet<'_>) -> Done {
    for (name, want) in [
        ("c15-block-id", 1),
        ("c15-warp-id", 1),
        ("c37-uniform-bound", 1),
        ("c37-varying-bound", 0),
        ("c18-loaded", 0),
    ] {
        let got = s.num(name, "uniform")?;
        s.equal(&format!("{name}: uniform branches"), got, want);
    }
    Ok(())
}
