//! The one road from a kernel to a verdict.
//!
//! ```text
//! Source → Lowered → Before → Canonical (→ with profile) → Optimized → Outcome
//!                clean   canonicalise  profile       convert       measure
//! ```
//!
//! Each stage owns what came before, so the last one can print all of it, and
//! no stage can be run twice or out of order. Every user (the command, tests,
//! benches) walks a prefix of this road; nobody wires the passes by hand.
//!
//! The IR is verified at the beginning; with [`Options::verify_each`], and in
//! builds with debug assertions, after each stage. Which branches are *proven*
//! uniform is decided once per version, on the version as it then stands, and
//! carried by the branches themselves, so that prediction and measurement
//! charge alike.

use warpfold_analysis::Profile;
use warpfold_analysis::uniformity::{Convergence, Uniformity, UniformityOptions};
use warpfold_clif::ReadOptions;
use warpfold_clif::cranelift_codegen::ir::Function as ClifFunction;
use warpfold_exec::{ExecOptions, Launch};
use warpfold_ir::Function;
use warpfold_opt as opt;
use warpfold_opt::report::Report;

use crate::error::{self, Errors};
use crate::measure::{self, Outcome};
use crate::settings::{Options, RunOptions, Settings};
use crate::source::{from_clif, with_branches};

/// Most records of one run. A version with more accesses than that is compared
/// by results, traps and memory; 4 million accesses take some 300 MB.
const MAX_RECORDS: u64 = 1 << 22;

/// A kernel as read, verified.
#[derive(Clone, Debug)]
pub struct Lowered {
    file: String,
    func: Function,
    branches: Vec<opt::SourceBranch>,
    options: Options,
}

impl Lowered {
    pub(crate) fn new(
        file: &str,
        func: Function,
        branches: Vec<opt::SourceBranch>,
        options: Options,
    ) -> Result<Self, Errors> {
        warpfold_ir::verify(&func).map_err(|e| error::verify(file, "as read", &func, e))?;
        Ok(Self {
            file: file.to_owned(),
            func,
            branches,
            options,
        })
    }

    /// Lowers a CLIF function that was built in memory. Its parameters are
    /// uniform but for those that `varying` lists by position.
    ///
    /// # Errors
    /// What Cranelift's verifier finds, and everything that is not supported.
    pub fn from_clif(
        func: &ClifFunction,
        varying: &[usize],
        options: Options,
    ) -> Result<Self, Errors> {
        let file = "<clif>";
        let lowered = warpfold_clif::lower(func, &ReadOptions::default())
            .map_err(|errors| error::clif(file, errors))?;
        let (mut func, branches) = from_clif(lowered);
        for (i, param) in func.params.iter_mut().enumerate() {
            param.varying |= varying.contains(&i);
        }
        Self::new(file, func, branches, options)
    }

    /// Takes a function of the SIMT IR. Branches without an origin are given
    /// one.
    ///
    /// # Errors
    /// What the verifier finds.
    pub fn from_ir(func: Function, options: Options) -> Result<Self, Errors> {
        let (func, branches) = with_branches(func);
        Self::new("<ir>", func, branches, options)
    }

    /// The file's name in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The function.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// The conditional branches, in the order of the source.
    pub fn branches(&self) -> &[opt::SourceBranch] {
        &self.branches
    }

    /// What holds all along the road.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Folds constants and common subexpressions, removes dead code.
    ///
    /// # Errors
    /// If the verifier rejects the result: a mistake in a pass.
    pub fn clean(self) -> Result<Before, Errors> {
        let mut func = self.func.clone();
        let mut log = opt::Log::default();
        opt::clean(&mut func, self.options.joins, &mut log);
        let uniformity = self.mark(&mut func, "after clean-up")?;
        Ok(Before {
            lowered: self,
            func,
            log,
            uniformity,
        })
    }

    /// The same stage as [`Lowered::clean`] gives, with the code as written: no
    /// pass has run.
    ///
    /// # Errors
    /// None that [`Lowered`] has not been checked for.
    pub fn as_written(self) -> Result<Before, Errors> {
        let mut func = self.func.clone();
        let uniformity = self.mark(&mut func, "as read")?;
        Ok(Before {
            lowered: self,
            func,
            log: opt::Log::default(),
            uniformity,
        })
    }

    /// Runs `func`, which must be this kernel in some form, and nothing else.
    ///
    /// # Errors
    /// If the launch does not fit, or the run does not finish.
    pub fn execute(
        &self,
        func: &Function,
        launch: &Launch,
        run: &RunOptions,
    ) -> Result<warpfold_exec::Outcome, Errors> {
        let record = Record {
            timeline: true,
            ..Record::default()
        };
        self.run(func, launch, run, record)
            .map_err(|e| error::exec(&self.file, func, &e))
    }

    /// Analyses `func`, marks the branches that never split, verifies.
    fn mark(&self, func: &mut Function, stage: &str) -> Result<Uniformity, Errors> {
        // Before any analysis: it may rely on what the verifier grants.
        self.verify(func, stage)?;
        let uniformity = Uniformity::new(func, &self.uniformity_options());
        opt::mark_proven(func, &uniformity);
        Ok(uniformity)
    }

    fn verify(&self, func: &Function, stage: &str) -> Result<(), Errors> {
        if self.options.verify_each || cfg!(debug_assertions) {
            warpfold_ir::verify(func).map_err(|e| error::verify(&self.file, stage, func, e))?;
        }
        Ok(())
    }

    fn uniformity_options(&self) -> UniformityOptions {
        UniformityOptions {
            shape: self.options.shape.unwrap_or_default(),
            convergence: Convergence::Ipdom,
            joins: self.options.joins,
            budget: None,
        }
    }

    /// Runs `func`, which is some version of this kernel.
    pub(crate) fn run(
        &self,
        func: &Function,
        launch: &Launch,
        run: &RunOptions,
        record: Record,
    ) -> Result<warpfold_exec::Outcome, warpfold_exec::ExecError> {
        let options = ExecOptions {
            joins: self.options.joins,
            step_limit: run.step_limit,
            timeline: run.timeline && record.timeline,
            profile: record.profile,
            events: record.events,
            record_limit: MAX_RECORDS,
        };
        warpfold_exec::run(func, launch, &options)
    }
}

/// What a run records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    pub profile: bool,
    pub events: bool,
    pub timeline: bool,
}

/// The kernel cleaned up: what comparisons call *before*.
#[derive(Clone, Debug)]
pub struct Before {
    lowered: Lowered,
    func: Function,
    log: opt::Log,
    uniformity: Uniformity,
}

impl Before {
    /// The function; branches that never split are marked.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// The stage before.
    pub fn lowered(&self) -> &Lowered {
        &self.lowered
    }

    /// What is uniform in it, and why what is not is not.
    pub fn uniformity(&self) -> &Uniformity {
        &self.uniformity
    }

    /// Hoists equal work of both sides, turns sides that only return or trap
    /// into guarded exits and traps.
    ///
    /// # Errors
    /// If the verifier rejects the result: a mistake in a pass.
    pub fn canonicalise(self) -> Result<Canonical, Errors> {
        let mut func = self.func.clone();
        let mut log = self.log.clone();
        opt::canonicalise(&mut func, self.lowered.options.joins, &mut log);
        let uniformity = self.lowered.mark(&mut func, "after canonicalisation")?;
        Ok(Canonical {
            before: self,
            func,
            log,
            uniformity,
            profile: None,
        })
    }
}

/// The kernel in the form that is priced: run as it is, with all branches
/// kept, comparisons call it *kept*.
#[derive(Clone, Debug)]
pub struct Canonical {
    before: Before,
    func: Function,
    log: opt::Log,
    uniformity: Uniformity,
    profile: Option<Profile>,
}

impl Canonical {
    /// The function.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// The stage before.
    pub fn before(&self) -> &Before {
        &self.before
    }

    /// What is uniform in it, and why what is not is not.
    pub fn uniformity(&self) -> &Uniformity {
        &self.uniformity
    }

    /// The counts that decisions will rest on, if there are any.
    pub fn counts(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Runs it with all branches kept; decisions then rest on what was
    /// counted.
    ///
    /// # Errors
    /// If the launch does not fit, or the run does not finish.
    pub fn profile(mut self, launch: &Launch, run: &RunOptions) -> Result<Self, Errors> {
        let lowered = &self.before.lowered;
        let record = Record {
            profile: true,
            ..Record::default()
        };
        let outcome = lowered
            .run(&self.func, launch, run, record)
            .map_err(|e| error::exec(lowered.file(), &self.func, &e))?;
        self.profile = outcome.profile;
        Ok(self)
    }

    /// Takes counts from elsewhere: other launches, merged or made up.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Decides for each branch, and rewrites.
    ///
    /// # Errors
    /// If the verifier rejects the result: a mistake in conversion.
    pub fn convert(self, settings: &Settings) -> Result<Optimized, Errors> {
        let conversion = opt::convert(
            &self.func,
            &opt::Context {
                branches: &self.before.lowered.branches,
                log: &self.log,
                uniformity: &self.uniformity,
                machine: &settings.machine,
                joins: self.before.lowered.options.joins,
                profile: self.profile.as_ref(),
                force: settings.force,
                prior: settings.prior,
                cleanup: settings.cleanup,
            },
        );
        self.before
            .lowered
            .verify(&conversion.func, "after conversion")?;
        Ok(Optimized {
            canonical: self,
            settings: settings.clone(),
            conversion,
        })
    }
}

/// The converted kernel, with a decision for each branch of the source:
/// comparisons call it *after*.
#[derive(Clone, Debug)]
pub struct Optimized {
    canonical: Canonical,
    settings: Settings,
    conversion: opt::Conversion,
}

impl Optimized {
    /// The function.
    pub fn func(&self) -> &Function {
        &self.conversion.func
    }

    /// The decisions.
    pub fn report(&self) -> &Report {
        &self.conversion.report
    }

    /// Which branch each issue belongs to.
    pub fn owners(&self) -> &opt::Owners {
        &self.conversion.owners
    }

    /// How it was converted.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The stage before.
    pub fn canonical(&self) -> &Canonical {
        &self.canonical
    }

    /// The function *before*.
    pub fn before(&self) -> &Before {
        &self.canonical.before
    }

    /// The kernel as read.
    pub fn lowered(&self) -> &Lowered {
        &self.canonical.before.lowered
    }

    /// Runs the function before, kept and after; compares results, memory and
    /// traps; puts what each branch cost beside what it was predicted to.
    ///
    /// # Errors
    /// If the launch does not fit, or the function does not finish *before*.
    pub fn measure(self, launch: &Launch, run: &RunOptions) -> Result<Outcome, Errors> {
        measure::measure(self, launch, run)
    }
}
