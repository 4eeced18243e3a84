//! `test convert`: the kernel as if-conversion makes it.

use warpfold::launch::Overrides;
use warpfold::machine::Machine;
use warpfold::opt::report::Verdict;
use warpfold::{Before, Canonical, RunOptions, Settings, Source, Syntax, policy};

use crate::filetest::{FileTest, Language, Options, Output, TestFile};

/// `test convert`: the kernel converted by cost, by a policy or with a form forced, and
/// cleaned up. Options: `machine=NAME` (`unit` where none is named), `policy=NAME`,
/// `force=NAME`, `cleanup=on|off`, `profile=on|off` (off: counts are what is known or
/// assumed). Facts: `lineN`, what became of the branch on that line of the file;
/// `blocker.lineN`, what forbids straight code for it; `predicted`, where there is a
/// profile.
#[derive(Clone, Copy, Debug)]
pub struct Convert;

impl FileTest for Convert {
    fn name(&self) -> &str {
        "convert"
    }

    fn options(&self) -> &[&str] {
        &["machine", "policy", "force", "cleanup", "profile"]
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let machine = Machine::builtin(options.get("machine").unwrap_or("unit"));
        let mut settings = Settings::new(machine.map_err(|e| e.to_string())?);
        if let Some(name) = options.get("policy") {
            settings.policy = policy(name)?;
        }
        if let Some(name) = options.get("force") {
            settings.force = Some(name.parse()?);
        }
        settings.cleanup = switch(options, "cleanup", true)?;
        let canonical = canonical(file, switch(options, "profile", false)?)?;
        let optimized = canonical.convert(&settings).map_err(|e| e.to_string())?;
        let mut out = Output {
            text: optimized.func().to_string(),
            ..Output::default()
        };
        let report = optimized.report();
        for d in &report.decisions {
            out.fact(format!("line{}", d.origin.line), d.outcome());
            if let Verdict::Priced { details, .. } = &d.verdict
                && let Err(blocker) = details.straight
            {
                let name = blocker.name().replace(' ', "-");
                out.fact(format!("blocker.line{}", d.origin.line), name);
            }
        }
        if let Some(cost) = report.predicted {
            out.fact("predicted", cost);
        }
        Ok(out)
    }
}

/// An option that is `on` or `off`.
fn switch(options: &Options, name: &str, default: bool) -> Result<bool, String> {
    match options.get(name) {
        None => Ok(default),
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(format!("`{name}` is on or off, not `{other}`")),
    }
}

/// The file's kernel where it is priced.
fn canonical(file: &TestFile, profile: bool) -> Result<Canonical, String> {
    let name = file.path.display().to_string();
    let syntax = match file.language {
        Language::Clif => Syntax::Clif,
        Language::Ir => Syntax::Wf,
    };
    let kernel = Source::parse(&file.code, &name, syntax)
        .and_then(|s| s.kernel(&Overrides::default(), &warpfold::Options::default()))
        .map_err(|e| e.to_string())?;
    let launch = match profile {
        true => Some(kernel.launch(file.folder()).map_err(|e| e.to_string())?),
        false => None,
    };
    let canonical = kernel.lowered.clean().and_then(Before::canonicalise);
    let canonical = match launch {
        Some(launch) => canonical.and_then(|c| c.profile(&launch, &RunOptions::default())),
        None => canonical,
    };
    canonical.map_err(|e| e.to_string())
}
