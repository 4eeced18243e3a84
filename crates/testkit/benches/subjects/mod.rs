//! What is measured, for the benches and for the example that prints ratios.
#![allow(dead_code, reason = "each bench uses a part")]

pub mod kernels;

use std::sync::LazyLock;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function as ClifFunction;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use warpfold::analysis::{JoinRule, Uniformity, UniformityOptions};
use warpfold::ir::Function;
use warpfold::machine::Machine;
use warpfold::{clif, ir, opt};
use warpfold_testkit::families::clif::VARYING;

/// Cranelift for the machine that this runs on, optimising for speed, everything
/// else as it comes.
pub fn cranelift() -> OwnedTargetIsa {
    let mut flags = settings::builder();
    flags.set("opt_level", "speed").expect("a setting");
    let host = cranelift_native::builder().expect("Cranelift knows this machine");
    let isa = host.finish(settings::Flags::new(flags));
    isa.expect("the settings fit the machine")
}

/// Compiles to machine code.
pub fn compile(func: ClifFunction, isa: &OwnedTargetIsa) -> usize {
    let mut context = Context::for_function(func);
    let code = context.compile(&**isa, &mut ControlPlane::default());
    code.expect("it compiles").code_info().total_size as usize
}

/// What a conversion needs beside the function.
pub struct Subject {
    pub func: Function,
    pub branches: Vec<opt::SourceBranch>,
    pub machine: &'static Machine,
}

/// Reads a CLIF function: Cranelift's verifier, lowering.
pub fn lower(func: &ClifFunction) -> Subject {
    let lowered = clif::lower(func, &clif::ReadOptions::default()).expect("it lowers");
    let mut func = lowered.func;
    for &p in VARYING {
        func.params[p].varying = true;
    }
    let branches = lowered.branches.iter().map(|b| opt::SourceBranch {
        origin: b.origin,
        opcode: b.opcode,
        hint: None,
    });
    Subject {
        func,
        branches: branches.collect(),
        machine: machine(),
    }
}

/// Takes a function that was built here.
pub fn built(func: Function) -> Subject {
    Subject {
        func,
        branches: Vec::new(),
        machine: machine(),
    }
}

/// Read once: a machine is not a function's.
fn machine() -> &'static Machine {
    static AMPERE: LazyLock<Machine> =
        LazyLock::new(|| Machine::builtin("ampere").expect("it is shipped"));
    &AMPERE
}

/// Our verifier.
pub fn verify(subject: &Subject) {
    ir::verify(&subject.func).expect("it is valid");
}

/// The uniformity analysis, and its marks on the branches.
pub fn analyse(subject: &mut Subject) -> Uniformity {
    let uniformity = Uniformity::new(&subject.func, &UniformityOptions::default());
    opt::mark_proven(&mut subject.func, &uniformity);
    uniformity
}

/// If-conversion: regions, plans, prices, decision, rewrite, report; no
/// clean-up.
pub fn convert(subject: &Subject, uniformity: &Uniformity) -> opt::Conversion {
    let log = opt::Log::default();
    opt::convert(
        &subject.func,
        &context(&subject.branches, subject.machine, uniformity, &log),
    )
}

fn context<'a>(
    branches: &'a [opt::SourceBranch],
    machine: &'a Machine,
    uniformity: &'a Uniformity,
    log: &'a opt::Log,
) -> opt::Context<'a> {
    opt::Context {
        branches,
        log,
        uniformity,
        machine,
        joins: JoinRule::Default,
        profile: None,
        policy: &opt::ifconv::policy::Cheapest,
        force: None,
        choice: None,
        assumed: opt::Assumed::default(),
        merge: true,
        cleanup: false,
    }
}

/// All of it, from CLIF on. What was lowered is not needed any more when it has been
/// converted.
pub fn whole(func: &ClifFunction) -> opt::Conversion {
    let mut subject = lower(func);
    verify(&subject);
    let uniformity = analyse(&mut subject);
    let Subject {
        func,
        branches,
        machine,
    } = subject;
    let log = opt::Log::default();
    opt::convert_owned(func, &context(&branches, machine, &uniformity, &log))
}
