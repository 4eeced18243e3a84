//! The tests that ship with Warpfold.
//!
//! | test | text | facts |
//! |---|---|---|
//! | `print` | the functions as they are printed; CLIF is lowered, nothing verified | |
//! | `verify` | for each function `%name: ok` or its errors | `errors` |
//! | `lower` | CLIF lowered and verified | `functions`, `branches` |
//! | `uniformity` | the kernel with the analysis's findings beside it; with `notes=beside` the lines of the file itself | `blockN`, the scope of each branch |
//! | `inline` | the kernel, cleaned up, with its callees inlined | `calls`, `copies` |
//! | `convert` | the kernel as if-conversion makes it | `lineN`, what became of each branch |
//! | `forms` | | what the versions in all forms hold; all must do the same |
//! | `exec` | | everything a launch of the kernel counts |
//! | `run`, `interpret` | | none: Cranelift's `; run:` lines are the expectations |

mod beside;
mod convert;
mod exec;
mod forms;
mod inline;
mod run;
mod text;
mod uniformity;

use warpfold::analysis::JoinRule;
use warpfold::exec::{ExecOptions, Mode};
use warpfold::ir::Function;
use warpfold::launch::LaunchSpec;

use super::{Options, TestFile};

pub use convert::Convert;
pub use exec::Exec;
pub use forms::Forms;
pub use inline::Inline;
pub use run::Run;
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
        self.calls(&self.func().name)
    }

    /// Whether a function of the file calls `name`.
    fn calls(&self, name: &str) -> bool {
        let mut callees = self.functions.iter().flat_map(|f| f.callees.values());
        callees.any(|c| c.name == name)
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

/// The option `mode`.
fn mode(options: &Options) -> Result<Mode, String> {
    match options.get("mode") {
        None => Ok(Mode::Stack),
        Some(name) => {
            Mode::from_name(name).ok_or_else(|| format!("`mode` is stack or its, not `{name}`"))
        }
    }
}

/// The options `steps` and `depth`.
fn limits(options: &Options, how: &mut ExecOptions) -> Result<(), String> {
    if let Some(steps) = options.get("steps") {
        how.step_limit = steps
            .parse()
            .map_err(|_| format!("`steps` is a number, not `{steps}`"))?;
    }
    if let Some(depth) = options.get("depth") {
        how.call_depth = depth
            .parse()
            .map_err(|_| format!("`depth` is a number, not `{depth}`"))?;
    }
    Ok(())
}

/// Lanes as a mask of eight digits.
fn mask(lanes: u32) -> String {
    format!("0x{lanes:08X}")
}
