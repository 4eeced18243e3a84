//! A rule of one's own that decides, from outside of Warpfold's crates.

use std::sync::Arc;

use warpfold::launch::Overrides;
use warpfold::machine::Machine;
use warpfold::opt::ifconv::policy::{Policy, Question};
use warpfold::opt::policy::Facts;
use warpfold::opt::report::Form;
use warpfold::{Options, Outcome, RunOptions, Settings, Source, Syntax, render};

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

/// The kernel under the rule.
pub fn outcome() -> Result<Outcome, warpfold::Errors> {
    let kernel = Source::parse(KERNEL, "f.clif", Syntax::Clif)?
        .kernel(&Overrides::default(), &Options::default())?;
    let launch = kernel.launch(".".as_ref())?;
    let run = RunOptions::default();
    let settings = Settings {
        policy: Arc::new(Small { instructions: 3 }),
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

fn main() -> Result<(), warpfold::Errors> {
    let outcome = outcome()?;
    let doc = render::run(&outcome);
    print!("{}", render::text(&doc, render::Paint::PLAIN));
    Ok(())
}
