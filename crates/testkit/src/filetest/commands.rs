//! The tests that ship with Warpfold.
//!
//! | test | text | facts |
//! |---|---|---|
//! | `print` | the functions as they are printed; CLIF is lowered, nothing verified | |
//! | `verify` | for each function `%name: ok` or its errors | `errors` |
//! | `lower` | CLIF lowered and verified | `functions`, `branches` |
//! | `uniformity` | the kernel with the analysis's findings beside it | `blockN`, the scope of each branch |
//! | `exec` | | everything a launch of the kernel counts |
//! | `run`, `interpret` | | none: Cranelift's `; run:` lines are the expectations |

mod exec;
mod run;
mod text;
mod uniformity;

use warpfold::analysis::JoinRule;
use warpfold::ir::Function;
use warpfold::launch::LaunchSpec;

use super::{Options, TestFile};

pub use exec::Exec;
pub use run::Run;
pub use text::{Lower, Print, Verify};
pub use uniformity::Uniformity;

/// A file's launch, and the function that it launches with its varying
/// parameters marked.
fn kernel(file: &TestFile) -> Result<(LaunchSpec, Function), String> {
    let spec = LaunchSpec::from_source(&file.text).map_err(|e| e.to_string())?;
    let mut functions = file.functions()?;
    let index = spec
        .kernel(functions.iter().map(|f| f.name.as_str()))
        .map_err(|e| e.to_string())?;
    let mut func = functions.swap_remove(index);
    spec.mark_varying(&mut func);
    Ok((spec, func))
}

/// The option `joins`.
fn joins(options: &Options) -> Result<JoinRule, String> {
    match options.get("joins") {
        None | Some("default") => Ok(JoinRule::Default),
        Some("cfg") => Ok(JoinRule::Cfg),
        Some(other) => Err(format!("`joins` is default or cfg, not `{other}`")),
    }
}

/// The option `steps`.
fn steps(options: &Options) -> Result<Option<u64>, String> {
    match options.get("steps") {
        None => Ok(None),
        Some(steps) => steps
            .parse()
            .map(Some)
            .map_err(|_| format!("`steps` is a number, not `{steps}`")),
    }
}

/// Lanes as a mask of eight digits.
fn mask(lanes: u32) -> String {
    format!("0x{lanes:08X}")
}
