//! The list of policies, and what each made of a kernel.

use serde::Serialize;
use warpfold_machine::Cost;
use warpfold_opt::policy::PolicyRow;

use super::model::{OriginDoc, VERSION};
use super::style::{Paint, Tone};
use super::table::{Cell, Table};
use super::text::place;
use crate::compare::Compared;

/// What `policies` lists.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PoliciesDoc {
    /// The version of the format.
    pub version: u32,
    /// `policies`.
    pub command: &'static str,
    /// In the order of the list.
    pub policies: Vec<PolicyDoc>,
}

/// A policy of the list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PolicyDoc {
    /// The name.
    pub name: &'static str,
    /// The rule.
    pub rule: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

impl PoliciesDoc {
    /// Of these rows.
    pub fn new(rows: &[PolicyRow]) -> Self {
        Self {
            version: VERSION,
            command: "policies",
            policies: rows
                .iter()
                .map(|row| PolicyDoc {
                    name: row.name,
                    rule: row.rule,
                    source: row.source,
                })
                .collect(),
        }
    }
}

/// What policies made of one kernel.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparisonDoc {
    /// The version of the format.
    pub version: u32,
    /// `policies`.
    pub command: &'static str,
    /// The input, as the caller named it.
    pub file: String,
    /// The kernel.
    pub function: String,
    /// The machine that costs are for.
    pub machine: String,
    /// The branches, in the order of the source.
    pub branches: Vec<OriginDoc>,
    /// By policy.
    pub policies: Vec<ComparedDoc>,
}

/// What one policy made of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparedDoc {
    /// Its name.
    pub policy: String,
    /// By branch, what it became.
    pub forms: Vec<&'static str>,
    /// What the kernel was predicted to cost.
    pub predicted: Option<Cost>,
    /// What it cost when it was executed.
    pub executed: Option<Cost>,
    /// How much that is above the least of all policies.
    pub above_best: Option<Cost>,
    /// Issues.
    pub inst_executed: Option<u64>,
    /// Branch executions that split a warp.
    pub divergent_branch: Option<u64>,
    /// Whether it did the same as before.
    pub same: bool,
}

impl ComparisonDoc {
    /// Of what was compared.
    pub fn new(file: &str, function: &str, machine: &str, all: &[Compared]) -> Self {
        let best = all.iter().filter_map(|c| c.executed).min();
        let branches = all.first().map_or(&[][..], |c| &c.branches[..]);
        Self {
            version: VERSION,
            command: "policies",
            file: file.to_owned(),
            function: function.to_owned(),
            machine: machine.to_owned(),
            branches: branches
                .iter()
                .map(|(origin, _)| super::build::origin(*origin))
                .collect(),
            policies: all
                .iter()
                .map(|c| ComparedDoc {
                    policy: c.policy.clone(),
                    forms: c.branches.iter().map(|(_, form)| *form).collect(),
                    predicted: c.predicted,
                    executed: c.executed,
                    above_best: c.executed.zip(best).map(|(cost, best)| cost - best),
                    inst_executed: c.issues,
                    divergent_branch: c.splits,
                    same: c.same,
                })
                .collect(),
        }
    }

    /// As a table: policies down, costs and branches across.
    pub fn text(&self, paint: Paint) -> String {
        let mut out = format!(
            "{} on {}: what each policy makes of it, executed\n\n",
            paint.tone(Tone::Head, &self.function),
            paint.tone(Tone::Head, &self.machine)
        );
        let mut table = Table::new()
            .words("policy")
            .group("executed", &["cost", "above best", "issues", "splits"]);
        let names: Vec<String> = self.branches.iter().map(|&b| place(b)).collect();
        for name in &names {
            table = table.words(name.clone());
        }
        if self.policies.iter().any(|p| !p.same) {
            table = table.words("result");
        }
        for p in &self.policies {
            let best = p.above_best == Some(Cost::ZERO);
            let tone = if best { Tone::Good } else { Tone::Plain };
            let cost = match p.executed {
                Some(cost) => Cell::new(tone, cost),
                None => Cell::maybe(None::<Cost>),
            };
            let mut row = vec![
                Cell::new(Tone::Choice, &p.policy),
                cost,
                Cell::maybe(p.above_best),
                Cell::maybe(p.inst_executed),
                Cell::maybe(p.divergent_branch),
            ];
            row.extend(p.forms.iter().map(Cell::plain));
            if !p.same {
                row.push(Cell::new(Tone::Bad, "differs"));
            }
            table.row(row);
        }
        out.push_str(&table.render(paint, 0));
        out
    }
}
