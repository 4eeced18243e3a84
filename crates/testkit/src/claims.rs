//! What the literature says of warp divergence, and how it is measured.
//!
//! [`claims`] lists the statements of five [`SOURCES`] that counters can check,
//! each with what holds of it. A claim is checked by its [`FILES`], which are
//! kernels with their launches and the counters they must give, and by checks
//! in code: relations between several files, sweeps whose kernels are too long
//! to write out, times, decisions, and the two scheduling modes side by side.
//! [`run`] does it all from what is in the program, and gives rows of expected
//! and measured. Nothing measured is written down anywhere: it comes from
//! runs, also where a closed form would do.
//!
//! ```
//! let report = warpfold_testkit::claims::run(&["C-31"]).unwrap();
//! assert!(report.holds());
//! assert_eq!(report.claims[0].rows[0].measured[0], ("issued".into(), "260".into()));
//! ```

mod cycles;
mod decisions;
mod files;
mod kernels;
mod modes;
mod page;
mod relations;
mod report;
mod sheet;
mod sweeps;
mod table;

pub use files::{FILES, File};
pub use page::page;
pub use report::{ClaimReport, Report, Row};
pub use sheet::Sheet;
pub use table::claims;

use sheet::Runs;

/// A text that makes claims.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its short name in the list.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
}

/// The texts.
pub const SOURCES: &[Source] = &[
    Source {
        name: "S0",
        about: "a lesson on divergence and predication",
    },
    Source {
        name: "S1",
        about: "a question bank on divergence penalties",
    },
    Source {
        name: "S2",
        about: "a chapter on predication and branch selection",
    },
    Source {
        name: "S3",
        about: "“Characterizing Warp Divergence from Pascal to Blackwell” (2026)",
    },
    Source {
        name: "S4",
        about: "a chapter on the active mask and the reconvergence stack",
    },
    Source {
        name: "model",
        about: "the rules of coalescing and of banks, as vendors document them",
    },
    Source {
        name: "EXT",
        about: "a reduction measured by a third party on an A100, as an analogue",
    },
];

/// Finds things out, and enters them beside what they should be.
///
/// # Errors
/// Why it cannot.
pub type Check = fn(&mut Sheet<'_>) -> Result<(), String>;

/// One statement.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its number, as `C-07`; `EXT` has none.
    pub id: &'static str,
    /// Where it is said: names of [`SOURCES`], with places in them.
    pub source: &'static str,
    /// What is said.
    pub title: &'static str,
    /// What holds, in figures.
    pub holds: &'static str,
    /// Where the source is wrong or leaves something open, and why; empty
    /// where it is right.
    pub remark: &'static str,
    /// What checks it, beside its files.
    pub checks: [Option<Check>; 2],
}

impl Claim {
    /// The files that belong to it.
    pub fn files(&self) -> impl Iterator<Item = &'static File> {
        FILES.iter().filter(|f| f.is_of(self.id))
    }

    /// What it is checked by, for people.
    pub fn how(&self) -> String {
        let checks = self.checks.iter().flatten().count();
        let count = |n: usize, one: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {one}s")),
        };
        let parts = [count(self.files().count(), "file"), count(checks, "check")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(", ")
    }
}

/// Checks the claims called `ids`, without regard to case, in the list's order;
/// all of them where none is named.
///
/// # Errors
/// An id that is none.
pub fn run(ids: &[&str]) -> Result<Report, String> {
    let all = claims();
    if let Some(id) = ids
        .iter()
        .find(|id| !all.iter().any(|c| c.id.eq_ignore_ascii_case(id)))
    {
        let (first, last) = (all[0].id, all[all.len() - 2].id);
        return Err(format!(
            "there is no claim `{id}`; there are {first} to {last}, and EXT"
        ));
    }
    let mut runs = Runs::default();
    let wanted = |c: &&Claim| ids.is_empty() || ids.iter().any(|i| c.id.eq_ignore_ascii_case(i));
    Ok(Report {
        claims: all
            .iter()
            .filter(wanted)
            .map(|c| check(c, &mut runs))
            .collect(),
        of: all.len(),
    })
}

fn check(claim: &Claim, runs: &mut Runs) -> ClaimReport {
    let mut rows: Vec<Row> = claim.files().map(|f| runs.row(f)).collect();
    for check in claim.checks.iter().flatten() {
        let mut sheet = Sheet::new(runs);
        if let Err(message) = check(&mut sheet) {
            sheet.failed(message);
        }
        rows.append(&mut sheet.rows);
    }
    ClaimReport {
        claim: *claim,
        rows,
    }
}
