//! Reports as text and as JSON, for the command and for embedders.
//!
//! A stage of the road becomes a [`Document`] (plain data), and a document
//! becomes text or JSON. Both show the same numbers; neither computes any.

mod build;
mod checked;
mod counters;
mod explain;
mod figure;
pub mod model;
mod policies;
mod stages;
mod style;
mod table;
mod text;
mod timeline;
mod timing;
mod uniformity;

pub use build::{executed, explain, run};
pub use model::{Document, VERSION};
pub use policies::{ComparedDoc, ComparisonDoc as Comparison, PoliciesDoc, PolicyDoc};
pub use stages::{code, opt};
pub use style::{Paint, Tone};
pub use table::{Cell, Table};
pub use text::{render as text, wrapped};
pub use uniformity::{Question, annotated, json_uniformity, json_why, why};
use warpfold_machine::Machine;
use warpfold_opt::policy::PolicyRow;

/// `doc` as JSON, indented, with a line end.
pub fn json(doc: &Document) -> String {
    to_json(doc)
}

/// Machines as JSON: costs in issues, and every number with its source.
pub fn json_machines<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> String {
    to_json(&model::MachinesDoc::new(machines))
}

/// Policies as JSON: each with its rule and source.
pub fn json_policies(rows: &[PolicyRow]) -> String {
    to_json(&PoliciesDoc::new(rows))
}

/// A comparison of policies as JSON.
pub fn json_comparison(doc: &Comparison) -> String {
    to_json(doc)
}

fn to_json(doc: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(doc)
        .expect("reports have string keys and no failing serialisers");
    text.push('\n');
    text
}
