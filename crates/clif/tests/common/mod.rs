//! Helpers of the lowering tests.
#![allow(dead_code)]

use warpfold_clif::{Lowered, ReadOptions, read};

/// Reads text that must be good, and verifies what came of it.
pub fn good(text: &str) -> Vec<Lowered> {
    let lowered = match read(text, &ReadOptions::default()) {
        Ok(lowered) => lowered,
        Err(errors) => {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            panic!("{}\nin\n{text}", errors.join("\n"));
        }
    };
    for l in &lowered {
        if let Err(e) = warpfold_ir::verify(&l.func) {
            panic!("{e}\nfrom\n{text}");
        }
    }
    lowered
}

/// Reads text that must be bad; the errors as printed.
pub fn bad(text: &str) -> Vec<String> {
    match read(text, &ReadOptions::default()) {
        Ok(lowered) => panic!("no error; lowered to\n{}", lowered[0].func),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// The IR of a function, without origins, header and indentation.
pub fn ir(text: &str) -> Vec<String> {
    let lowered = good(text);
    assert_eq!(lowered.len(), 1);
    plain(&lowered[0])
}

/// The lines between the braces, without origins and indentation.
pub fn plain(lowered: &Lowered) -> Vec<String> {
    let text = lowered.func.to_string();
    let lines: Vec<&str> = text.lines().collect();
    lines[1..lines.len() - 1]
        .iter()
        .map(|line| {
            line.split(" @")
                .next()
                .unwrap_or_default()
                .trim()
                .to_string()
        })
        .filter(|line| !line.is_empty())
        .collect()
}

/// A one-block function with parameters v0, v1, … of `types` and the
/// semicolon-separated instructions `body`; it ends in a bare `return`.
pub fn straight(types: &str, body: &str) -> String {
    let params: Vec<_> = types
        .split_whitespace()
        .enumerate()
        .map(|(i, ty)| format!("v{i}: {ty}"))
        .collect();
    let signature = types.split_whitespace().collect::<Vec<_>>().join(", ");
    let lines: Vec<_> = body
        .split(';')
        .map(|l| format!("    {}\n", l.trim()))
        .collect();
    format!(
        "function %f({signature}) {{\nblock0({}):\n{}    return\n}}\n",
        params.join(", "),
        lines.concat()
    )
}

/// Checks that [`straight`] code lowers to `expected`, `; `-separated.
pub fn check(types: &str, body: &str, expected: &str) {
    let lines = ir(&straight(types, body));
    let inner = &lines[1..lines.len() - 1];
    assert_eq!(inner.join("; "), expected, "{body}");
}
