//! From TOML to a machine.
//!
//! A document has a head and sections. Every section states its `source`; a
//! number may be given alone, and then has that source, or as
//! `{ value = 2, source = "…" }` with its own:
//!
//! ```toml
//! name = "example"
//! description = "One sentence."
//! triple = "nvptx64-nvidia-cuda"
//! warp = 32
//!
//! [issue]                 # cost of an issue, in issues
//! source = "…"
//! default = 1             # of every class not named
//! fp64 = { value = 2, source = "…" }
//!
//! [guard]
//! source = "…"
//! cost = 0                # added to a guarded issue
//!
//! [branch]                # overhead beyond the counted br and jump
//! source = "…"
//! proven = 3.5
//! agree = 5.5
//! split = 6
//!
//! [issued_overhead]       # optional from here on; [then path, else path]
//! source = "…"
//! proven = [2, 1]
//! divergent = [4, 3]
//!
//! [latency]               # cycles, per class, a number or [low, high]
//! source = "…"
//! alu = 4
//!
//! [interval]              # cycles, per class
//! source = "…"
//! fp64 = 4
//!
//! [memory]                # cycles: shared, l1, l2, dram
//! source = "…"
//! l1 = [33, 39]
//!
//! [timing]
//! source = "…"
//! schedulers = 4
//! issue_per_cycle = 1
//! resident_warps = 64
//! ```
//!
//! Numbers are checked as they are read, so that an error points at them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use target_lexicon::{PointerWidth, Triple};
use warpfold_ir::CostClass;

use crate::cost::Cost;
use crate::machine::{
    CLASSES, Cycles, IssuedOverhead, Machine, MemoryLatency, Sourced, Timing, WARP_LANES,
};
use crate::number::{Given, Number, Positive, Text};

/// Why a document is no machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct MachineError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, in one line.
    pub message: String,
}

/// Reads a document.
pub(crate) fn machine(text: &str) -> Result<Machine, MachineError> {
    let document: Document = toml::from_str(text).map_err(|e| located(text, &e))?;
    Ok(document.finish())
}

fn located(text: &str, error: &toml::de::Error) -> MachineError {
    let at = error.span().map_or(0, |s| s.start).min(text.len());
    // A span may end inside a character of a malformed document.
    let before = String::from_utf8_lossy(&text.as_bytes()[..at]);
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    MachineError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: error.message().trim_end().replace('\n', "; "),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: Name,
    description: Text,
    triple: Target,
    #[serde(rename = "warp")]
    _warp: Warp,
    issue: PerClass<Cost, true>,
    guard: Guard,
    branch: Branch,
    issued_overhead: Option<Issued>,
    latency: Option<PerClass<Cycles, false>>,
    interval: Option<PerClass<Cycles, false>>,
    memory: Option<Memory>,
    timing: Option<Schedulers>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guard {
    source: Text,
    cost: Given<Cost>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Branch {
    source: Text,
    proven: Given<Cost>,
    agree: Given<Cost>,
    split: Given<Cost>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Issued {
    source: Text,
    proven: [u32; 2],
    divergent: [u32; 2],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    source: Text,
    shared: Option<Given<Cycles>>,
    l1: Option<Given<Cycles>>,
    l2: Option<Given<Cycles>>,
    dram: Option<Given<Cycles>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Schedulers {
    source: Text,
    schedulers: Given<Positive>,
    issue_per_cycle: Given<Positive>,
    resident_warps: Given<Positive>,
}

impl Document {
    fn finish(self) -> Machine {
        let mut log = Log(Vec::new());

        let base = self.issue.default.map_or(Cost::ZERO, |d| {
            log.number("issue", "default", &self.issue.source, d)
        });
        let mut issue = [base; CLASSES];
        issue[CostClass::Const.index()] = Cost::ZERO;
        log.classes("issue", self.issue.source, self.issue.classes, |i, cost| {
            issue[i] = cost;
        });

        let guard = log.number("guard", "cost", &self.guard.source, self.guard.cost);

        let b = self.branch;
        let b_proven = log.number("branch", "proven", &b.source, b.proven);
        let b_agree = log.number("branch", "agree", &b.source, b.agree);
        let b_split = log.number("branch", "split", &b.source, b.split);

        let issued_overhead = self.issued_overhead.map(|o| {
            for (key, [then, otherwise]) in [("proven", o.proven), ("divergent", o.divergent)] {
                log.add(
                    "issued_overhead",
                    key,
                    format!("{then} / {otherwise}"),
                    &o.source,
                );
            }
            IssuedOverhead {
                proven: o.proven,
                divergent: o.divergent,
            }
        });

        let mut latency = [None; CLASSES];
        if let Some(section) = self.latency {
            log.classes("latency", section.source, section.classes, |i, cycles| {
                latency[i] = Some(cycles);
            });
        }
        let mut interval = [None; CLASSES];
        if let Some(section) = self.interval {
            log.classes("interval", section.source, section.classes, |i, cycles| {
                interval[i] = Some(cycles);
            });
        }

        let memory = self.memory.map_or(MemoryLatency::default(), |m| {
            let mut level =
                |key, given: Option<_>| given.map(|g| log.number("memory", key, &m.source, g));
            MemoryLatency {
                shared: level("shared", m.shared),
                l1: level("l1", m.l1),
                l2: level("l2", m.l2),
                dram: level("dram", m.dram),
            }
        });
        let timing = self.timing.map(|t| {
            let mut number =
                |key, given: Given<Positive>| log.number("timing", key, &t.source, given).0;
            Timing {
                schedulers: number("schedulers", t.schedulers),
                issue_per_cycle: number("issue_per_cycle", t.issue_per_cycle),
                resident_warps: number("resident_warps", t.resident_warps),
            }
        });

        Machine {
            name: self.name.0,
            description: self.description.0,
            triple: self.triple.0,
            issue,
            guard,
            b_proven,
            b_agree,
            b_split,
            issued_overhead,
            latency,
            interval,
            memory,
            timing,
            sources: log.0,
        }
    }
}

/// Collects numbers with their sources.
struct Log(Vec<Sourced>);

impl Log {
    fn add(&mut self, section: &str, key: &str, value: String, source: &Text) {
        self.0.push(Sourced {
            name: format!("{section}.{key}"),
            value,
            source: source.0.clone(),
        });
    }

    fn number<T: fmt::Display>(
        &mut self,
        section: &str,
        key: &str,
        inherited: &Text,
        given: Given<T>,
    ) -> T {
        let source = given.source.as_ref().unwrap_or(inherited);
        self.add(section, key, given.value.to_string(), source);
        given.value
    }

    fn classes<T: fmt::Display>(
        &mut self,
        section: &str,
        inherited: Text,
        classes: BTreeMap<CostClass, Given<T>>,
        mut set: impl FnMut(usize, T),
    ) {
        for (class, given) in classes {
            let value = self.number(section, class.name(), &inherited, given);
            set(class.index(), value);
        }
    }
}

/// A section with one number per class, and a default for the classes not
/// named where `DEFAULT` holds (it must then be there).
struct PerClass<T, const DEFAULT: bool> {
    source: Text,
    default: Option<Given<T>>,
    classes: BTreeMap<CostClass, Given<T>>,
}

/// A key of such a section; an error in it points at the key.
enum ClassKey {
    Source,
    Default,
    Class(CostClass),
}

impl<'de> Deserialize<'de> for ClassKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Key;
        impl Visitor<'_> for Key {
            type Value = ClassKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`source`, `default` or a cost class")
            }
            fn visit_str<E: de::Error>(self, key: &str) -> Result<ClassKey, E> {
                match key {
                    "source" => Ok(ClassKey::Source),
                    "default" => Ok(ClassKey::Default),
                    "const" => Err(E::custom(
                        "constants never issue; class `const` has no numbers",
                    )),
                    _ => key.parse().map(ClassKey::Class).map_err(|()| {
                        let known: Vec<&str> = CostClass::ALL
                            .iter()
                            .filter(|&&c| c != CostClass::Const)
                            .map(|c| c.name())
                            .collect();
                        E::custom(format_args!(
                            "unknown cost class `{key}`; there are {}",
                            known.join(", ")
                        ))
                    }),
                }
            }
        }
        d.deserialize_str(Key)
    }
}

impl<'de, T: Number, const DEFAULT: bool> Deserialize<'de> for PerClass<T, DEFAULT> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Section<T, const DEFAULT: bool>(PhantomData<T>);
        impl<'de, T: Number, const DEFAULT: bool> Visitor<'de> for Section<T, DEFAULT> {
            type Value = PerClass<T, DEFAULT>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of numbers per cost class")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut source = None;
                let mut default = None;
                let mut classes = BTreeMap::new();
                while let Some(key) = map.next_key()? {
                    match key {
                        ClassKey::Source => source = Some(map.next_value()?),
                        ClassKey::Default => default = Some(map.next_value()?),
                        ClassKey::Class(class) => {
                            classes.insert(class, map.next_value()?);
                        }
                    }
                }
                if DEFAULT && default.is_none() {
                    return Err(de::Error::missing_field("default"));
                }
                if !DEFAULT && default.is_some() {
                    return Err(de::Error::custom(
                        "no `default` here: a class without a number is unknown",
                    ));
                }
                Ok(PerClass {
                    source: source.ok_or_else(|| de::Error::missing_field("source"))?,
                    default,
                    classes,
                })
            }
        }
        d.deserialize_map(Section(PhantomData))
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Name(String);

impl TryFrom<String> for Name {
    type Error = &'static str;
    fn try_from(name: String) -> Result<Self, Self::Error> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err("a name is made of lower-case letters, digits, `-` and `_`");
        }
        Ok(Self(name))
    }
}

#[derive(Deserialize)]
#[serde(try_from = "i64")]
struct Warp;

impl TryFrom<i64> for Warp {
    type Error = String;
    fn try_from(lanes: i64) -> Result<Self, String> {
        if lanes == i64::from(WARP_LANES) {
            Ok(Self)
        } else {
            Err(format!(
                "a warp has {WARP_LANES} lanes; {lanes} are not supported"
            ))
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Target(Triple);

impl TryFrom<String> for Target {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let triple: Triple = text
            .parse()
            .map_err(|e| format!("`{text}` is no target triple: {e}"))?;
        match triple.pointer_width() {
            Ok(PointerWidth::U32 | PointerWidth::U64) => Ok(Self(triple)),
            _ => Err(format!("`{text}` has neither 32-bit nor 64-bit pointers")),
        }
    }
}
