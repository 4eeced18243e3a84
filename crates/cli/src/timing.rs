//! Whether and how to model time.

use clap::{Args, ValueEnum};
use warpfold::exec::timing::{LoadLevel, TimingModel};
use warpfold::machine::Machine;

use crate::failure::Failure;

/// The timing model.
#[derive(Args)]
#[command(next_help_heading = "Timing model")]
pub struct TimingArgs {
    /// Schedule what ran on one multiprocessor of the machine: cycles, issue
    /// utilisation, what warps wait for
    #[arg(long)]
    timing: bool,

    /// Cycles before the first issue
    #[arg(long, value_name = "CYCLES", default_value_t = 0, requires = "timing")]
    launch_overhead: u64,

    /// Warps resident at once [default: the machine's]
    #[arg(long, value_name = "N", requires = "timing")]
    resident_warps: Option<u16>,

    /// Where loads find their data
    #[arg(
        long,
        value_name = "LEVEL",
        value_enum,
        default_value_t,
        requires = "timing"
    )]
    loads_from: Level,
}

/// Levels of the memory hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Level {
    /// First-level cache
    #[default]
    L1,
    /// Second-level cache
    L2,
    /// Device memory
    Dram,
}

impl TimingArgs {
    /// The model, if asked for.
    pub fn model(&self, machine: &Machine) -> Result<Option<TimingModel>, Failure> {
        if !self.timing {
            return Ok(None);
        }
        let level = match self.loads_from {
            Level::L1 => LoadLevel::L1,
            Level::L2 => LoadLevel::L2,
            Level::Dram => LoadLevel::Dram,
        };
        let mut model = TimingModel::new(machine, level)
            .map_err(|e| Failure::about("--timing", e.to_string()))?;
        model.launch = self.launch_overhead;
        if let Some(warps) = self.resident_warps {
            model.resident_warps = warps.into();
        }
        Ok(Some(model))
    }
}
