//! The versions of a function that are run.

use warpfold::ir::Function;
use warpfold::machine::Machine;
use warpfold::opt::report::Force;
use warpfold::{Canonical, DEFAULT_MACHINE, Lowered, Settings};

/// The versions' names, each packed and alone.
pub(super) const NAMES: [[&str; 2]; 2 + Force::ALL.len()] = [
    ["written, packed", "written, alone"],
    ["converted, packed", "converted, alone"],
    ["branch, packed", "branch, alone"],
    ["straight, packed", "straight, alone"],
    ["select, packed", "select, alone"],
    ["predicate, packed", "predicate, alone"],
];

/// A function in some version.
#[derive(Debug)]
pub(super) struct Version {
    /// The function, or why there is none.
    pub func: Result<Function, String>,
    /// An earlier version with the same code.
    pub same_as: Option<usize>,
}

/// All versions, in the order of [`NAMES`]. Every parameter varies from lane
/// to lane.
pub(super) fn of(func: &Function) -> Vec<Version> {
    let mut func = func.clone();
    for param in &mut func.params {
        param.varying = true;
    }
    let canonical = canonical(func.clone());
    let mut all = vec![Version {
        func: Ok(func),
        same_as: None,
    }];
    for force in [None].into_iter().chain(Force::ALL.map(Some)) {
        let func = match &canonical {
            Ok(canonical) => convert(canonical, force),
            Err(message) => Err(message.clone()),
        };
        let same_as = all.iter().position(|v| v.func == func);
        all.push(Version { func, same_as });
    }
    all
}

fn canonical(func: Function) -> Result<Canonical, String> {
    let options = warpfold::Options {
        verify_each: true,
        ..Default::default()
    };
    Lowered::from_ir(func, options)
        .and_then(Lowered::clean)
        .and_then(warpfold::Before::canonicalise)
        .map_err(|e| e.to_string())
}

fn convert(canonical: &Canonical, force: Option<Force>) -> Result<Function, String> {
    let machine = Machine::builtin(DEFAULT_MACHINE).map_err(|e| e.to_string())?;
    let settings = Settings {
        force,
        ..Settings::new(machine)
    };
    let converted = canonical.clone().convert(&settings);
    converted
        .map(|optimized| optimized.func().clone())
        .map_err(|e| e.to_string())
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
