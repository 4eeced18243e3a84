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

use std::collections::BTreeMap;
use std::sync::Arc;

use warpfold_analysis::Profile;
use warpfold_analysis::uniformity::{Convergence, Uniformity, UniformityOptions};
use warpfold_clif::ReadOptions;
use warpfold_clif::cranelift_codegen::ir::Function as ClifFunction;
use warpfold_exec::{Checks, ExecOptions, Launch, Mode};
use warpfold_ir::{Function, Lines, Module, Origin};
use warpfold_opt as opt;
use warpfold_opt::report::Report;

use crate::error::{self, Diagnostic, Errors};
use crate::hints::{self, BranchHint, Priors};
use crate::measure::{self, Baseline, Outcome};
use crate::profile::ProfileFile;
use crate::settings::{Options, RunOptions, Settings};
use crate::source::{from_clif, with_branches};

/// Most records of one run. A version with more accesses than that is compared
/// by results, traps and memory; 4 million accesses take some 300 MB.
const MAX_RECORDS: u64 = 1 << 22;

/// A kernel as read, verified, with the functions that it can reach by calls.
#[derive(Clone, Debug)]
pub struct Lowered {
    file: String,
    /// The kernel and those that calls reach.
    functions: Vec<Function>,
    /// The kernel's position.
    kernel: usize,
    /// Whether any of them calls the kernel.
    called: bool,
    /// The kernel's.
    branches: Vec<opt::SourceBranch>,
    /// The branches of all functions, by the function's name and the branch's
    /// origin.
    sources: BTreeMap<(String, Origin), opt::SourceBranch>,
    /// What is known of their conditions, by the same.
    pub(crate) priors: Priors,
    options: Options,
}

/// A function with its conditional branches, in the order of the source.
pub(crate) type WithBranches = (Function, Vec<opt::SourceBranch>);

impl Lowered {
    /// `lines` are of functions whose text is IR, by name.
    pub(crate) fn new(
        file: &str,
        sources: Vec<WithBranches>,
        kernel: usize,
        options: Options,
        lines: &BTreeMap<String, Lines>,
    ) -> Result<Self, Errors> {
        let all = sources.iter().flat_map(|(func, branches)| {
            let key = |b: &opt::SourceBranch| ((func.name.clone(), b.origin), *b);
            branches.iter().map(key).collect::<Vec<_>>()
        });
        let all = all.collect();
        let (functions, mut branches): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        let branches = branches.swap_remove(kernel);
        let (functions, kernel) = reached(functions, kernel);
        let module = Module { functions };
        warpfold_ir::verify_module(&module)
            .map_err(|e| error::verify_module(file, "as read", &module.functions, e, lines))?;
        let functions = module.functions;
        let name = &functions[kernel].name;
        let mut callees = functions.iter().flat_map(|f| f.callees.values());
        Ok(Self {
            file: file.to_owned(),
            called: callees.any(|c| c.name == *name),
            functions,
            kernel,
            branches,
            sources: all,
            priors: Priors::new(),
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
        let mut functions = from_clif(vec![lowered]);
        let params = functions
            .iter_mut()
            .take(1)
            .flat_map(|(f, _)| &mut f.params);
        for (i, param) in params.enumerate() {
            param.varying |= varying.contains(&i);
        }
        Self::new(file, functions, 0, options, &BTreeMap::new())
    }

    /// Takes a function of the SIMT IR that calls nobody but itself. Branches
    /// without an origin are given one.
    ///
    /// # Errors
    /// What the verifier finds.
    pub fn from_ir(func: Function, options: Options) -> Result<Self, Errors> {
        let sources = vec![with_branches(func)];
        Self::new("<ir>", sources, 0, options, &BTreeMap::new())
    }

    /// Takes the function called `kernel` of a module, with those that it
    /// calls. Branches without an origin are given one.
    ///
    /// # Errors
    /// What the verifier finds, and if there is no such function.
    pub fn from_module(module: Module, kernel: &str, options: Options) -> Result<Self, Errors> {
        let file = "<ir>";
        let Some(index) = module.position(kernel) else {
            let message = format!("there is no function %{kernel}");
            return Err(Diagnostic::new(file, message).into());
        };
        let sources = module.functions.into_iter().map(with_branches);
        Self::new(file, sources.collect(), index, options, &BTreeMap::new())
    }

    /// The file's name in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The function.
    pub fn func(&self) -> &Function {
        &self.functions[self.kernel]
    }

    /// The kernel and the functions that its calls reach, in the order of the
    /// source; from [`Lowered::clean`] on the others are cleaned up.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The same with `func`, the kernel in some form, in the kernel's place.
    pub fn linked<'a>(&'a self, func: &'a Function) -> Vec<&'a Function> {
        let all = self.functions.iter().enumerate();
        all.map(|(i, f)| if i == self.kernel { func } else { f })
            .collect()
    }

    /// The kernel's position in these lists.
    pub fn kernel(&self) -> usize {
        self.kernel
    }

    /// The conditional branches, in the order of the source.
    pub fn branches(&self) -> &[opt::SourceBranch] {
        &self.branches
    }

    /// What holds all along the road.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Says something about a branch of the kernel, as a comment in its text
    /// would, in place of what a comment said.
    ///
    /// # Errors
    /// If the kernel has no such branch.
    pub fn with_hint(mut self, branch: Origin, hint: BranchHint) -> Result<Self, Errors> {
        let found = self.branches.iter_mut().find(|b| b.origin == branch);
        let Some(found) = found else {
            let message = format!("a hint for a branch that is not there: inst{}", branch.inst);
            let at = Diagnostic::new(&self.file, message).at(branch.line, 0);
            return Err(at.into());
        };
        hints::set(&mut self.functions[self.kernel], found, hint.form);
        if let Some(prior) = hint.prior {
            let name = self.functions[self.kernel].name.clone();
            self.priors.insert((name, branch), prior);
        }
        Ok(self)
    }

    fn own_priors(&self) -> BTreeMap<Origin, opt::Prior> {
        let name = &self.func().name;
        let own = self.priors.iter().filter(|((f, _), _)| f == name);
        own.map(|((_, origin), prior)| (*origin, *prior)).collect()
    }

    /// Folds constants and common subexpressions, removes dead code, and
    /// inlines callees that do not call themselves.
    ///
    /// # Errors
    /// If the verifier rejects the result: a mistake in a pass.
    pub fn clean(mut self) -> Result<Before, Errors> {
        for i in 0..self.functions.len() {
            if i != self.kernel {
                let joins = self.options.joins;
                opt::clean(&mut self.functions[i], joins, &mut opt::Log::default());
                self.verify(&self.functions[i], "after clean-up")?;
            }
        }
        let mut func = self.func().clone();
        let mut log = opt::Log::default();
        opt::clean(&mut func, self.options.joins, &mut log);
        let others: Vec<&Function> = self.functions.iter().collect();
        opt::inline(&mut func, &others, self.options.joins, &mut log);
        opt::clean(&mut func, self.options.joins, &mut log);
        let mut branches = self.branches.clone();
        let mut priors = self.own_priors();
        for copy in &log.inlined {
            let of = copy.path.last().map_or("", |step| step.callee.as_str());
            let key = (of.to_owned(), copy.source);
            let source = self.sources.get(&key);
            branches.push(opt::SourceBranch {
                origin: copy.origin,
                opcode: source.map_or(copy.opcode, |s| s.opcode),
                hint: source.and_then(|s| s.hint),
            });
            if let Some(&prior) = self.priors.get(&key) {
                priors.insert(copy.origin, prior);
            }
        }
        let uniformity = self.mark(&mut func, "after clean-up")?;
        Ok(Before {
            lowered: self,
            func,
            branches,
            priors,
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
        let mut func = self.func().clone();
        let uniformity = self.mark(&mut func, "as read")?;
        Ok(Before {
            branches: self.branches.clone(),
            priors: self.own_priors(),
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
            timing: true,
            ..Record::default()
        };
        self.run(func, launch, run, record)
            .map_err(|e| self.failed(func, &e))
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
            warpfold_ir::verify(func)
                .map_err(|e| error::verify(&self.file, stage, func, e, None))?;
        }
        Ok(())
    }

    fn uniformity_options(&self) -> UniformityOptions {
        UniformityOptions {
            shape: self.options.shape.unwrap_or_default(),
            convergence: Convergence::Ipdom,
            joins: self.options.joins,
            budget: None,
            called: self.called,
            independent: self.options.mode == Mode::Its,
            fault: None,
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
            mode: self.options.mode,
            joins: self.options.joins,
            step_limit: run.step_limit,
            timeline: run.timeline && record.timeline,
            timing: run.timing.filter(|_| record.timing),
            profile: record.profile,
            events: record.events,
            call_depth: run.call_depth,
            record_limit: MAX_RECORDS,
        };
        let functions = self.linked(func);
        let claims: Vec<Uniformity> = match run.checks.uniformity {
            true => functions
                .iter()
                .enumerate()
                .map(|(i, f)| {
                    let options = UniformityOptions {
                        called: i != self.kernel || self.called,
                        ..self.uniformity_options()
                    };
                    Uniformity::new(f, &options)
                })
                .collect(),
            false => Vec::new(),
        };
        let claims: Vec<Option<&Uniformity>> = claims.iter().map(Some).collect();
        let checks = Checks {
            claims: &claims,
            poison: run.checks.poison,
            races: run.checks.races,
        };
        warpfold_exec::run_checked(&functions, self.kernel, launch, &options, &checks)
    }

    /// Why a run of `func`, some version of this kernel, did not finish.
    pub(crate) fn failed(&self, func: &Function, e: &warpfold_exec::ExecError) -> Errors {
        error::exec(&self.file, &self.linked(func), self.kernel, e)
    }
}

/// The functions that calls reach from the one at position `kernel`, in their
/// order, and its position among them.
fn reached(functions: Vec<Function>, kernel: usize) -> (Vec<Function>, usize) {
    let mut keep = vec![false; functions.len()];
    let mut work = vec![kernel];
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, func) in functions.iter().enumerate() {
        by_name.entry(&func.name).or_default().push(i);
    }
    while let Some(i) = work.pop() {
        if !std::mem::replace(&mut keep[i], true) {
            let names = functions[i].callees.values().map(|c| c.name.as_str());
            work.extend(names.filter_map(|n| by_name.get(n)).flatten());
        }
    }
    let position = keep[..kernel].iter().filter(|&&k| k).count();
    let all = functions.into_iter().zip(keep);
    (all.filter(|(_, k)| *k).map(|(f, _)| f).collect(), position)
}

/// What a run records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    pub profile: bool,
    pub events: bool,
    pub timeline: bool,
    pub timing: bool,
}

/// The kernel cleaned up: what comparisons call *before*.
#[derive(Clone, Debug)]
pub struct Before {
    lowered: Lowered,
    func: Function,
    /// Those of the source, then those that came in with callees.
    branches: Vec<opt::SourceBranch>,
    /// What is known of their conditions.
    priors: BTreeMap<Origin, opt::Prior>,
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
        if self.lowered.options.merge_accesses {
            let known = self.lowered.uniformity_options();
            opt::merge_accesses(&mut func, &known, &mut log);
        }
        let uniformity = self.lowered.mark(&mut func, "after canonicalisation")?;
        Ok(Canonical {
            before: self,
            func,
            log,
            uniformity,
            profile: None,
            own_launch: false,
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
    /// Whether the counts are of the launch that it was profiled with.
    own_launch: bool,
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
            .map_err(|e| lowered.failed(&self.func, &e))?;
        self.profile = outcome.profile;
        self.own_launch = true;
        Ok(self)
    }

    /// Runs the versions that are the same however it is converted, for
    /// [`Optimized::measure_beside`]. The run with all branches kept counts as
    /// well, see [`Canonical::profiled_by`].
    ///
    /// # Errors
    /// If the launch does not fit, or the function does not finish *before*.
    pub fn baseline(&self, launch: &Launch, run: &RunOptions) -> Result<Baseline, Errors> {
        measure::baseline(self, launch, run)
    }

    /// What [`Canonical::profile`] with the launch of `baseline`, which must be of
    /// this kernel, gives; without counts if its run with all branches kept did not
    /// finish.
    #[must_use]
    pub fn profiled_by(mut self, baseline: &Baseline) -> Self {
        self.profile = baseline.profile().cloned();
        self.own_launch = true;
        self
    }

    /// The counts as a file, to be merged with those of other launches or used
    /// another day. Of how many launches they are, is for the caller to say.
    ///
    /// # Errors
    /// If there are no counts, or two branches have one origin.
    pub fn profile_file(&self, launches: u64) -> Result<ProfileFile, Errors> {
        let complain = |message: String| Diagnostic::new(self.before.lowered.file(), message);
        let Some(profile) = &self.profile else {
            return Err(complain("nothing has been counted".to_owned()).into());
        };
        Ok(ProfileFile::new(&self.func, profile, launches).map_err(complain)?)
    }

    /// Takes the counts of profile files, added up; each with its name for
    /// messages.
    ///
    /// # Errors
    /// Everything in them that does not fit the function.
    pub fn with_profile_files<'a>(
        self,
        files: impl IntoIterator<Item = (&'a str, &'a ProfileFile)>,
    ) -> Result<Self, Errors> {
        let mut profile = Profile::new();
        let mut errors = Vec::new();
        for (name, file) in files {
            match file.resolve(&self.func) {
                Ok(counts) => profile.merge(&counts),
                Err(all) => {
                    let said =
                        |e: String| Diagnostic::new(name, format!("the profile does not fit: {e}"));
                    errors.extend(all.into_iter().map(said));
                }
            }
        }
        match Errors::of(errors) {
            Some(errors) => Err(errors),
            None => Ok(self.with_profile(profile)),
        }
    }

    /// Takes counts from elsewhere: other launches, merged or made up.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self.own_launch = false;
        self
    }

    /// Whether the counts come from elsewhere than from [`Canonical::profile`],
    /// so that they may be of other launches.
    pub fn has_foreign_counts(&self) -> bool {
        self.profile.is_some() && !self.own_launch
    }

    fn context<'a>(&'a self, settings: &'a Settings) -> opt::Context<'a> {
        opt::Context {
            branches: &self.before.branches,
            log: &self.log,
            uniformity: &self.uniformity,
            machine: &settings.machine,
            joins: self.before.lowered.options.joins,
            profile: self.profile.as_ref(),
            policy: &*settings.policy,
            force: settings.force,
            choice: settings.choice.as_ref(),
            assumed: opt::Assumed {
                prior: settings.prior,
                priors: &self.before.priors,
                shape: self.before.lowered.options.shape.unwrap_or_default(),
            },
            merge: settings.merge,
            cleanup: settings.cleanup,
        }
    }

    /// All legal assignments of forms to the regions, for
    /// [`Settings::choice`], if there are at most `limit`. The first keeps
    /// every branch.
    pub fn choices(&self, settings: &Settings, limit: usize) -> Option<Vec<opt::Choice>> {
        opt::choices(&self.func, &self.context(settings), limit)
    }

    /// Decides for each branch, and rewrites.
    ///
    /// # Errors
    /// Everything in [`Settings::choice`] that cannot be carried out; or if the
    /// verifier rejects the result: a mistake in conversion.
    pub fn convert(self, settings: &Settings) -> Result<Optimized, Errors> {
        let misfits = opt::misfits(&self.func, &self.context(settings)).into_iter();
        let said = misfits.map(|m| {
            let what = format!("the choice does not fit: {}", m.what);
            Diagnostic::new(&self.before.lowered.file, what).at(m.origin.line, 0)
        });
        if let Some(errors) = Errors::of(said.collect()) {
            return Err(errors);
        }
        let conversion = opt::convert(&self.func, &self.context(settings));
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

    /// The function, and those that it still calls behind it.
    pub fn module(&self) -> Module {
        let lowered = self.lowered();
        let mut functions = vec![self.func().clone()];
        let others = lowered.functions.iter().enumerate();
        functions.extend(
            others
                .filter(|(i, _)| *i != lowered.kernel)
                .map(|(_, f)| f.clone()),
        );
        let (functions, _) = reached(functions, 0);
        Module { functions }
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
        let baseline = self.canonical.baseline(launch, run)?;
        Ok(self.measure_beside(&Arc::new(baseline)))
    }

    /// The same with the runs before and kept made already, for this kernel; by
    /// their launch and options.
    pub fn measure_beside(self, baseline: &Arc<Baseline>) -> Outcome {
        measure::measure(self, Arc::clone(baseline))
    }
}
