//! The versions of a function that are run.

use warpfold::ir::{Function, Module};
use warpfold::machine::Machine;
use warpfold::opt::report::Force;
use warpfold::{Before, Canonical, DEFAULT_MACHINE, Lowered, Settings};

/// The versions' names, each packed and alone.
pub(super) const NAMES: [[&str; 2]; 2 + Force::ALL.len()] = [
    ["written, packed", "written, alone"],
    ["converted, packed", "converted, alone"],
    ["branch, packed", "branch, alone"],
    ["straight, packed", "straight, alone"],
    ["select, packed", "select, alone"],
    ["predicate, packed", "predicate, alone"],
    ["skip, packed", "skip, alone"],
];

/// A function in some version, with those that its calls reach.
#[derive(Debug)]
pub(super) struct Version {
    /// The functions, or why there are none.
    pub program: Result<Program, String>,
    /// An earlier version with the same code.
    pub same_as: Option<usize>,
}

/// Functions, of which one is launched.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Program {
    pub functions: Vec<Function>,
    pub kernel: usize,
}

impl Program {
    /// `func`, some version of the kernel of `lowered`, with what it calls.
    fn new(lowered: &Lowered, func: &Function) -> Self {
        Self {
            functions: lowered.linked(func).into_iter().cloned().collect(),
            kernel: lowered.kernel(),
        }
    }
}

/// All versions of the first of `functions`, in the order of [`NAMES`]. Every
/// parameter of it varies from lane to lane. The others are those that its
/// calls reach; they are cleaned up where it is converted, and inlined where
/// they can be.
pub(super) fn of(mut functions: Vec<Function>) -> Vec<Version> {
    let Some(kernel) = functions.first_mut() else {
        return Vec::new();
    };
    for param in &mut kernel.params {
        param.varying = true;
    }
    let name = kernel.name.clone();
    let options = warpfold::Options {
        verify_each: true,
        ..Default::default()
    };
    let lowered = Lowered::from_module(Module { functions }, &name, options);
    let written = match &lowered {
        Ok(lowered) => Ok(Program::new(lowered, lowered.func())),
        Err(e) => Err(e.to_string()),
    };
    let canonical = lowered
        .and_then(Lowered::clean)
        .and_then(Before::canonicalise);
    let mut all = vec![Version {
        program: written,
        same_as: None,
    }];
    for force in [None].into_iter().chain(Force::ALL.map(Some)) {
        let program = match &canonical {
            Ok(canonical) => convert(canonical, force),
            Err(e) => Err(e.to_string()),
        };
        let same_as = all.iter().position(|v| v.program == program);
        all.push(Version { program, same_as });
    }
    all
}

fn convert(canonical: &Canonical, force: Option<Force>) -> Result<Program, String> {
    let machine = Machine::builtin(DEFAULT_MACHINE).map_err(|e| e.to_string())?;
    let settings = Settings {
        force,
        ..Settings::new(machine)
    };
    match canonical.clone().convert(&settings) {
        Ok(optimized) => Ok(Program::new(optimized.lowered(), optimized.func())),
        Err(e) => Err(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_forms() {
        for (force, names) in Force::ALL.iter().zip(&NAMES[2..]) {
            assert_eq!(names[0], format!("{force}, packed"));
            assert_eq!(names[1], format!("{force}, alone"));
        }
    }
}
