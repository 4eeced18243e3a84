//! Walking the road by what the command line says.

use clap::ValueEnum;
use warpfold::analysis::uniformity::Uniformity;
use warpfold::exec::Launch;
use warpfold::ir::Function;
use warpfold::machine::Machine;
use warpfold::profile::ProfileFile;
use warpfold::{Before, Canonical, DEFAULT_MACHINE, Kernel, Lowered, Optimized, Options, Settings};

use crate::failure::Failure;
use crate::input;
use crate::options::{CheckArgs, InputArgs, LaunchArgs, ProfileArgs, ProfileFiles, RoadArgs};
use crate::places::Places;

/// A version of the kernel that is not converted.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Stage {
    /// As read
    #[default]
    Written,
    /// Cleaned up: what comparisons call before
    Before,
    /// Canonical: what is priced
    Canonical,
}

/// The kernel at some stage.
pub enum Staged {
    /// As read, or cleaned up.
    Before(Box<Before>),
    /// Canonical.
    Canonical(Box<Canonical>),
}

impl Staged {
    /// The function.
    pub fn func(&self) -> &Function {
        match self {
            Self::Before(s) => s.func(),
            Self::Canonical(s) => s.func(),
        }
    }

    /// What is uniform in it.
    pub fn uniformity(&self) -> &Uniformity {
        match self {
            Self::Before(s) => s.uniformity(),
            Self::Canonical(s) => s.uniformity(),
        }
    }

    /// The kernel as read.
    pub fn lowered(&self) -> &Lowered {
        match self {
            Self::Before(s) => s.lowered(),
            Self::Canonical(s) => s.before().lowered(),
        }
    }
}

/// Takes a kernel to `stage`.
pub fn staged(lowered: Lowered, stage: Stage) -> Result<Staged, Failure> {
    Ok(match stage {
        Stage::Written => Staged::Before(lowered.as_written()?.into()),
        Stage::Before => Staged::Before(lowered.clean()?.into()),
        Stage::Canonical => Staged::Canonical(lowered.clean()?.canonicalise()?.into()),
    })
}

/// The machine that decides when none is named.
pub fn default_machine() -> Result<Machine, Failure> {
    input::machine(DEFAULT_MACHINE)
}

/// How to convert.
pub fn settings(road: &RoadArgs) -> Result<Settings, Failure> {
    Ok(Settings {
        policy: road.policy.clone(),
        force: road.force,
        prior: road.prior,
        merge: !road.no_merge,
        cleanup: !road.no_cleanup,
        ..Settings::new(input::machine(&road.machine)?)
    })
}

/// Reads the kernel; its pointers are those of `machine`. What it reads buffers from is
/// no place for a result.
pub fn kernel(
    input: &InputArgs,
    launch: &LaunchArgs,
    check: &CheckArgs,
    machine: &Machine,
    places: &Places<'_>,
) -> Result<Kernel, Failure> {
    let source = input::source(input, &machine.triple)?;
    let options = Options {
        joins: check.joins.into(),
        mode: check.mode.into(),
        shape: None,
        merge_accesses: check.merge_accesses,
        verify_each: check.verify_each,
    };
    let kernel = source.kernel(&launch.overrides(input), &options)?;
    for file in kernel.launch.files() {
        places.spare(&input::directory(&input.file).join(file))?;
    }
    Ok(kernel)
}

/// The kernel's launch, ready to run.
pub fn launch(kernel: &Kernel, input: &InputArgs) -> Result<Launch, Failure> {
    Ok(kernel.launch(input::directory(&input.file))?)
}

/// From the command line to the converted kernel, and the lines of the file
/// that state its launch.
pub fn optimized(
    input: &InputArgs,
    launch_args: &LaunchArgs,
    road: &RoadArgs,
    profile: &ProfileArgs,
    places: &Places<'_>,
) -> Result<(Optimized, String), Failure> {
    let settings = settings(road)?;
    let kernel = kernel(input, launch_args, &road.check, &settings.machine, places)?;
    let launch = match profile.measure {
        true => Some(launch(&kernel, input)?),
        false => None,
    };
    let mut canonical = kernel.lowered.clean()?.canonicalise()?;
    if let Some(launch) = &launch {
        canonical = canonical.profile(launch, &launch_args.run_options(false, None))?;
    }
    canonical = with_files(canonical, &profile.files)?;
    Ok((canonical.convert(&settings)?, kernel.header))
}

/// The counts of profile files, if any are named.
pub fn with_files(canonical: Canonical, args: &ProfileFiles) -> Result<Canonical, Failure> {
    if args.profile.is_empty() {
        return Ok(canonical);
    }
    let mut files = Vec::new();
    for name in &args.profile {
        let text = input::text(name)?;
        files.push(ProfileFile::parse(&text, input::display_name(name))?);
    }
    let names = args.profile.iter().map(|name| input::display_name(name));
    Ok(canonical.with_profile_files(names.zip(&files))?)
}
