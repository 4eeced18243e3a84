//! The tests that ship with Warpfold.
//!
//! | test | text | facts |
//! |---|---|---|
//! | `print` | the functions as they are printed; CLIF is lowered, nothing verified | |
//! | `verify` | for each function `%name: ok` or its errors | `errors` |
//! | `lower` | CLIF lowered and verified | `functions`, `branches` |
//! | `uniformity` | the kernel with the analysis's findings beside it | `blockN`, the scope of each branch |
//! | `inline` | the kernel, cleaned up, with its callees inlined | `calls`, `copies` |
//! | `exec` | | everything a launch of the kernel counts |

mod exec;
mod inline;
mod text;
mod uniformity;

use warpfold::analysis::JoinRule;
use warpfold::ir::Function;
use warpfold::launch::LaunchSpec;

use super::{Options, TestFile};

pub use exec::Exec;
pub use inline::Inline;
pub use text::{Lower, Print, Verify};
pub use uniformity::Uniformity;

/// A file's launch and functions.
struct Kernel {
    spec: LaunchSpec,
    functions: Vec<Function>,
    /// The one that is launched.
    index: usize,
}

impl Kernel {
    /// The function that is launched.
    fn func(&self) -> &Function {
        &self.functions[self.index]
    }

    /// Whether a function of the file calls it.
    fn is_called(&self) -> bool {
        let mut callees = self.functions.iter().flat_map(|f| f.callees.values());
        callees.any(|c| c.name == self.func().name)
    }
}

/// A file's launch, and its functions with the varying parameters of the one
/// that is launched marked.
fn kernel(file: &TestFile) -> Result<Kernel, String> {
    let spec = LaunchSpec::from_source(&file.text).map_err(|e| e.to_string())?;
    let mut functions = file.functions()?;
    let index = spec
        .kernel(functions.iter().map(|f| f.name.as_str()))
        .map_err(|e| e.to_string())?;
    spec.mark_varying(&mut functions[index]);
    Ok(Kernel {
        spec,
        functions,
        index,
    })
}

/// The option `joins`.
fn joins(options: &Options) -> Result<JoinRule, String> {
    match options.get("joins") {
        None | Some("default") => Ok(JoinRule::Default),
        Some("cfg") => Ok(JoinRule::Cfg),
        Some(other) => Err(format!("`joins` is default or cfg, not `{other}`")),
    }
}

/// Lanes as a mask of eight digits.
fn mask(lanes: u32) -> String {
    format!("0x{lanes:08X}")
}
