//! A rule of one's own that decides, and a cost model of one's own, from outside
//! of Warpfold's crates.

use std::sync::Arc;

use warpfold::ir::CostClass;
use warpfold::launch::Overrides;
use warpfold::machine::{Cost, Machine};
use warpfold::opt::ifconv::policy::{Policy, Question};
use warpfold::opt::policy::{ByModel, CostModel, Facts};
use warpfold::opt::report::{Charge, Form};
use warpfold::{Decider, Options, Outcome, RunOptions, Settings, Source, Syntax, render};

/// Straight-line code for sides of at most so many instructions, unless fewer
/// than one lane in ten goes there.
#[derive(Debug)]
struct Small {
    instructions: usize,
}

impl Policy for Small {
    fn name(&self) -> &str {
        "small"
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let facts = Facts::new(question);
        let mut sides = facts.sides.iter().enumerate();
        let small = sides.all(|(i, side)| {
            let (lanes, all) = facts.lane_share(i);
            side.is_empty() || side.len() <= self.instructions && lanes * 10 >= all
        });
        facts.straight_if(facts.flat() && small)
    }
}

/// What a warp alone on its scheduler waits for: each issue costs its latency in
/// cycles on Ampere, a branch some twenty.
#[derive(Debug)]
struct Latency;

impl CostModel for Latency {
    fn name(&self) -> &str {
        "latency"
    }

    fn unit(&self, charge: Charge) -> Cost {
        Cost::issues(match charge {
            Charge::Issue { class, .. } => match class {
                CostClass::Load => 33,
                CostClass::Div => 21,
                CostClass::Branch | CostClass::Jump => 10,
                _ => 4,
            },
            Charge::Proven | Charge::Agree => 10,
            Charge::Split => 20,
            Charge::Region { .. } => 0,
        })
    }
}

const KERNEL: &str = "
;! block = 64
;! [[arg]]
;! varying = \"lane\"
function %f(i32) -> i32 {
block0(v0: i32):
    v1 = iconst.i32 20
    v2 = icmp sgt v0, v1
    brif v2, block1, block2(v0)
block1:
    v3 = isub v1, v0
    v4 = imul v3, v3
    jump block2(v4)
block2(v5: i32):
    v6 = iconst.i32 0
    v7 = icmp eq v0, v6
    brif v7, block3, block4(v5)
block3:
    v8 = iadd v5, v1
    jump block4(v8)
block4(v9: i32):
    return v9
}";

/// The kernel under the rule, or by the model.
pub fn outcome(policy: Decider) -> Result<Outcome, warpfold::Errors> {
    let kernel = Source::parse(KERNEL, "f.clif", Syntax::Clif)?
        .kernel(&Overrides::default(), &Options::default())?;
    let launch = kernel.launch(".".as_ref())?;
    let run = RunOptions::default();
    let settings = Settings {
        policy,
        ..Settings::new(Machine::builtin("hopper").expect("it ships"))
    };
    kernel
        .lowered
        .clean()?
        .canonicalise()?
        .profile(&launch, &run)?
        .convert(&settings)?
        .measure(&launch, &run)
}

/// The two that decide here.
pub fn deciders() -> [Decider; 2] {
    [
        Arc::new(Small { instructions: 3 }),
        Arc::new(ByModel(Latency)),
    ]
}

fn main() -> Result<(), warpfold::Errors> {
    for policy in deciders() {
        let doc = render::run(&outcome(policy)?);
        print!("{}", render::text(&doc, render::Paint::PLAIN));
    }
    Ok(())
}
