//! Comparing what a test gave with what its file expects, and blessing.

use super::diff::diff;
use super::file::{Expected, LineError, TestFile};
use super::{FactKind, Output, Verdict};

/// The key that stands for all counters the file does not name.
const OTHERS: &str = "others";

/// Checks the result of the file's test number `test`. `Ok` holds a new text
/// of the file when blessing changed it.
pub(super) fn check(
    file: &TestFile,
    test: usize,
    result: Result<&Output, &str>,
    bless: bool,
) -> Result<Option<String>, Vec<LineError>> {
    let own = || file.expectations.iter().filter(move |e| e.test == test);
    let errors: Vec<(usize, &str)> = own()
        .filter_map(|e| match &e.what {
            Expected::Error(part) => Some((e.line, part.as_str())),
            _ => None,
        })
        .collect();
    let facts: Vec<(usize, &str, &str)> = own()
        .filter_map(|e| match &e.what {
            Expected::Facts(list) => Some((e.line, list)),
            _ => None,
        })
        .flat_map(|(line, list)| {
            list.iter()
                .map(move |(k, v)| (line, k.as_str(), v.as_str()))
        })
        .collect();
    let text: Vec<(usize, &str)> = own()
        .filter_map(|e| match &e.what {
            Expected::Text(text) => Some((e.line, text.as_str())),
            _ => None,
        })
        .collect();

    let at = file.tests[test].line;
    let output = match result {
        Ok(output) => output,
        Err(message) if errors.is_empty() => {
            return Err(vec![(at, format!("refused:\n{}", indent(message)))]);
        }
        Err(message) => {
            let mut failures: Vec<LineError> = errors
                .iter()
                .filter(|(_, part)| !message.contains(part))
                .map(|&(line, part)| {
                    (
                        line,
                        format!("the message lacks `{part}`:\n{}", indent(message)),
                    )
                })
                .collect();
            let rest = facts.first().map(|f| f.0).or(text.first().map(|t| t.0));
            if let Some(line) = rest {
                failures.push((line, "expected of a test that must be refused".to_owned()));
            }
            return if failures.is_empty() {
                Ok(None)
            } else {
                Err(failures)
            };
        }
    };
    if let Some(&(line, _)) = errors.first() {
        return Err(vec![(line, "accepted, but must be refused".to_owned())]);
    }

    let mut failures = compare_facts(output, &facts, at);
    for case in &output.cases {
        let blessed = bless && output.rewrites.iter().any(|r| r.0 == case.line);
        if let Verdict::Failed(message) = &case.verdict
            && !blessed
        {
            failures.push((case.line, message.clone()));
        }
    }
    let mut blessed = None;
    let wanted: String = text.iter().map(|(_, l)| format!("{l}\n")).collect();
    let got = normal(&output.text);
    if bless {
        if (!text.is_empty() || facts.is_empty()) && !got.is_empty() && wanted != got {
            let lines: Vec<usize> = text.iter().map(|t| t.0).collect();
            blessed = Some(rewrite(file, test, &lines, &got));
        } else if !output.rewrites.is_empty() {
            blessed = Some(with_lines(&file.text, &output.rewrites));
        }
    } else if !text.is_empty() && wanted != got {
        let message = format!(
            "the text differs (- expected, + found; BLESS=1 accepts it):\n{}",
            diff(&wanted, &got)
        );
        failures.push((text[0].0, message));
    }
    let own = output.repeats || !output.cases.is_empty();
    if text.is_empty() && facts.is_empty() && blessed.is_none() && !own {
        let message = format!(
            "the file expects nothing of `test {}`",
            file.tests[test].name
        );
        failures.push((at, message));
    }
    match failures.is_empty() {
        true => Ok(blessed),
        false => Err(failures),
    }
}

fn compare_facts(output: &Output, facts: &[(usize, &str, &str)], at: usize) -> Vec<LineError> {
    let mut failures = Vec::new();
    let mut others = None;
    for (i, &(line, key, want)) in facts.iter().enumerate() {
        if let Some((first, ..)) = facts[..i].iter().find(|f| f.1 == key) {
            failures.push((line, format!("`{key}` is expected on line {first} already")));
            continue;
        }
        if key == OTHERS {
            if want != "0" {
                failures.push((line, "`others` can only be 0".to_owned()));
            }
            others = Some(line);
            continue;
        }
        match output.get(key) {
            Some(got) if matches(want, got) => {}
            Some(got) => failures.push((line, format!("{key}: expected {want}, found {got}"))),
            None => {
                let known: Vec<&str> = output.facts.iter().map(|f| f.key.as_str()).collect();
                failures.push((
                    line,
                    format!("there is no `{key}` here; known: {}", known.join(" ")),
                ));
            }
        }
    }
    let silent = |key: &str| !facts.iter().any(|f| f.1 == key);
    for fact in &output.facts {
        let (key, value) = (&fact.key, &fact.value);
        match (fact.kind, others) {
            (FactKind::Counter, Some(line)) if value != "0" && silent(key) => {
                failures.push((
                    line,
                    format!("{key}: expected 0 (by `others`), found {value}"),
                ));
            }
            (FactKind::Alarm, _) if silent(key) => {
                failures.push((at, format!("{key}={value}, of which the file says nothing")));
            }
            _ => {}
        }
    }
    failures
}

/// Whether a value is the expected one, or a number in the expected range.
fn matches(want: &str, got: &str) -> bool {
    if want == got {
        return true;
    }
    let Some((lo, hi)) = want.split_once("..") else {
        return false;
    };
    match (lo.parse::<f64>(), hi.parse::<f64>(), got.parse::<f64>()) {
        (Ok(lo), Ok(hi), Ok(got)) => (lo..=hi).contains(&got),
        _ => false,
    }
}

/// Trailing spaces do not survive in comments, so they do not count.
fn normal(text: &str) -> String {
    text.trim_end()
        .lines()
        .map(|l| format!("{}\n", l.trim_end()))
        .collect()
}

fn indent(text: &str) -> String {
    text.lines().map(|l| format!("    {l}\n")).collect()
}

/// The text with these lines, in order, in place of its own.
fn with_lines(text: &str, lines: &[(usize, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = lines.iter().peekable();
    for (i, old) in text.lines().enumerate() {
        let new = lines.next_if(|l| l.0 == i + 1);
        out.push_str(new.map_or(old, |l| l.1.as_str()));
        out.push('\n');
    }
    out
}

/// The file with the text lines of one test replaced, where the first of them
/// stood, or at the end.
fn rewrite(file: &TestFile, test: usize, old: &[usize], text: &str) -> String {
    let label = match test {
        0 => "",
        _ => file.tests[test].name.as_str(),
    };
    let block: String = text
        .lines()
        .map(|l| format!("; {label}> {l}").trim_end().to_owned() + "\n")
        .collect();
    let mut out = String::with_capacity(file.text.len() + block.len());
    for (i, line) in file.text.lines().enumerate() {
        if old.first() == Some(&(i + 1)) {
            out.push_str(&block);
        }
        if !old.contains(&(i + 1)) {
            out.push_str(line);
            out.push('\n');
        }
    }
    if old.is_empty() {
        if !out.ends_with("\n\n") {
            out.push('\n');
        }
        out.push_str(&block);
    }
    out
}
