//! The walls between the crates, read off their manifests: who may use whom,
//! who may name Cranelift's code generator, and that versions and lints are
//! set once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Each crate with the crates of the workspace it may use.
const EDGES: &[(&str, &[&str])] = &[
    ("ir", &[]),
    ("machine", &["ir"]),
    ("analysis", &["ir"]),
    ("opt", &["ir", "machine", "analysis"]),
    ("exec", &["ir", "machine", "analysis"]),
    ("clif", &["ir"]),
    (
        "warpfold",
        &["ir", "machine", "analysis", "opt", "exec", "clif"],
    ),
    // `warpfold test` is the filetest runner, which is published for others too.
    ("cli", &["warpfold", "testkit"]),
    ("testkit", &["warpfold"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest(path: &Path) -> toml::Table {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn of_crate(name: &str) -> toml::Table {
    manifest(&root().join("crates").join(name).join("Cargo.toml"))
}

fn dependencies(table: &toml::Table, section: &str) -> BTreeSet<String> {
    table
        .get(section)
        .and_then(|d| d.as_table())
        .map(|d| d.keys().cloned().collect())
        .unwrap_or_default()
}

#[test]
fn every_member_is_listed_here() {
    let workspace = manifest(&root().join("Cargo.toml"));
    let members: BTreeSet<&str> = workspace["workspace"]["members"]
        .as_array()
        .expect("members")
        .iter()
        .filter_map(|m| m.as_str()?.strip_prefix("crates/"))
        .collect();
    let listed: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(members, listed);
}

#[test]
fn crates_use_only_what_the_design_allows() {
    for (name, allowed) in EDGES {
        let package = |n: &str| match n {
            "warpfold" => String::from("warpfold"),
            n => format!("warpfold-{n}"),
        };
        let allowed: BTreeSet<String> = allowed.iter().map(|n| package(n)).collect();
        let used: BTreeSet<String> = dependencies(&of_crate(name), "dependencies")
            .into_iter()
            .filter(|d| d.starts_with("warpfold"))
            .collect();
        assert!(
            used.is_subset(&allowed),
            "{name} uses {used:?}, may use {allowed:?}"
        );
    }
}

#[test]
fn only_clif_and_testkit_name_the_code_generator() {
    let naming: Vec<&str> = EDGES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| dependencies(&of_crate(name), "dependencies").contains("cranelift-codegen"))
        .collect();
    assert_eq!(naming, ["clif", "testkit"]);
}

#[test]
fn prediction_and_measurement_never_meet() {
    for (name, other) in [("opt", "warpfold-exec"), ("exec", "warpfold-opt")] {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let used = dependencies(&of_crate(name), section);
            assert!(!used.contains(other), "{name} has {other} in {section}");
        }
    }
}

#[test]
fn versions_lints_and_licence_are_set_once() {
    for (name, _) in EDGES {
        let table = of_crate(name);
        assert_eq!(table["lints"]["workspace"].as_bool(), Some(true), "{name}");
        for field in ["version", "edition", "rust-version", "license"] {
            let inherited = table["package"][field].get("workspace");
            assert_eq!(
                inherited.and_then(|w| w.as_bool()),
                Some(true),
                "{name} {field}"
            );
        }
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (dep, spec) in table
                .get(section)
                .and_then(|d| d.as_table())
                .into_iter()
                .flatten()
            {
                let inherited = spec.get("workspace").and_then(|w| w.as_bool());
                assert_eq!(
                    inherited,
                    Some(true),
                    "{name}: {dep} has a version of its own"
                );
            }
        }
    }
}

#[test]
fn unsafe_code_is_denied() {
    let workspace = manifest(&root().join("Cargo.toml"));
    assert_eq!(
        workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(),
        Some("deny")
    );
}
