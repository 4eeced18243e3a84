//! What the author of a kernel says about its branches, as comments.
//!
//! A comment on the line of a branch that begins with `warpfold:` holds words
//! about that branch:
//!
//! ```text
//! brif v2, block1, block2 ; warpfold: flatten
//! brif v5, block3, block4 ; warpfold: keep p=1/1024 rho=0
//! ```
//!
//! | word | meaning |
//! |---|---|
//! | `flatten` | straight-line code whatever the cost, where that is legal |
//! | `keep` | the branch stays, whatever else |
//! | `p=…`, `rho=…` | the [prior](warpfold_opt::prior) of its condition |
//!
//! It reads the same in CLIF and in IR text. A word that is not known and a
//! comment on a line without a branch are errors with their places: a hint that
//! nobody sees is worse than none.

use std::collections::BTreeMap;
use std::str::FromStr;

use warpfold_ir::verify::Place;
use warpfold_ir::{Block, Function, Hint, Lines, Origin};
use warpfold_opt::{Prior, SourceBranch};

use crate::error::{Diagnostic, Errors};
use crate::road::WithBranches;

/// What is said about one branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BranchHint {
    /// The form asked for.
    pub form: Option<Hint>,
    /// What is known of the condition.
    pub prior: Option<Prior>,
}

/// The words of a comment, behind `warpfold:`.
impl FromStr for BranchHint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut hint = Self::default();
        let mut prior = Vec::new();
        let words = text.split([' ', '\t', ',']).filter(|w| !w.is_empty());
        for word in words {
            if word.contains('=') {
                prior.push(word);
                continue;
            }
            let known = Hint::ALL.into_iter().find(|h| h.name() == word);
            let Some(form) = known else {
                return Err(format!(
                    "`{word}` is no hint; there are flatten, keep, p=… and rho=…"
                ));
            };
            match hint.form.replace(form) {
                Some(before) if before != form => {
                    return Err(format!(
                        "`{}` and `{word}` exclude each other",
                        before.name()
                    ));
                }
                Some(_) => return Err(format!("`{word}` is given twice")),
                None => {}
            }
        }
        if !prior.is_empty() {
            hint.prior = Some(
                prior
                    .join(" ")
                    .parse::<Prior>()
                    .map_err(|e| e.to_string())?,
            );
        }
        if hint == Self::default() {
            return Err("a hint says nothing; there are flatten, keep, p=… and rho=…".to_owned());
        }
        Ok(hint)
    }
}

/// Priors by the function's name and the branch's origin.
pub(crate) type Priors = BTreeMap<(String, Origin), Prior>;

/// Puts the hints of `text` on the branches of its functions; gives the priors.
/// `lines` are those of IR text, by the function's name.
pub(crate) fn apply(
    text: &str,
    file: &str,
    functions: &mut [WithBranches],
    lines: &BTreeMap<String, Lines>,
) -> Result<Priors, Errors> {
    let comments = comments(text);
    if comments.is_empty() {
        return Ok(Priors::new());
    }
    // Where the branches stand: function and position in its list.
    let mut places: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (f, (func, branches)) in functions.iter().enumerate() {
        for (i, branch) in branches.iter().enumerate() {
            let line = match lines.get(&func.name) {
                Some(lines) => block_of(func, branch.origin).and_then(|b| lines.of(Place::Term(b))),
                None => Some(branch.origin.line),
            };
            if let Some(line) = line {
                places.entry(line).or_default().push((f, i));
            }
        }
    }
    let mut priors = Priors::new();
    let mut errors = Vec::new();
    for comment in comments {
        let error =
            |message: String| Diagnostic::new(file, message).at(comment.line, comment.column);
        let hint = match comment.words.parse::<BranchHint>() {
            Ok(hint) => hint,
            Err(message) => {
                errors.push(error(message));
                continue;
            }
        };
        let here = places.get(&comment.line).map_or(&[][..], Vec::as_slice);
        let &[(f, i)] = here else {
            errors.push(error(match here {
                [] => "a hint belongs on the line of a conditional branch".to_owned(),
                _ => "a hint on a line with several branches".to_owned(),
            }));
            continue;
        };
        let (func, branches) = &mut functions[f];
        if let Some(prior) = hint.prior {
            priors.insert((func.name.clone(), branches[i].origin), prior);
        }
        set(func, &mut branches[i], hint.form);
    }
    match Errors::of(errors) {
        Some(errors) => Err(errors),
        None => Ok(priors),
    }
}

/// Sets the form that is asked for; nothing changes without one.
pub(crate) fn set(func: &mut Function, branch: &mut SourceBranch, form: Option<Hint>) {
    let Some(form) = form else { return };
    branch.hint = Some(form);
    // One that no path reaches is listed, but has not been lowered.
    if let Some(b) = block_of(func, branch.origin)
        && let Some(mark) = func.block_mut(b).term.as_mut().and_then(|t| t.mark_mut())
    {
        mark.hint = Some(form);
    }
}

fn block_of(func: &Function, branch: Origin) -> Option<Block> {
    let mut blocks = func.layout.iter().copied();
    blocks.find(|&b| func.block(b).origin == branch && func.term(b).is_conditional())
}

/// A comment that is meant for us.
struct Comment<'a> {
    line: u32,
    /// Of `warpfold:`.
    column: u32,
    words: &'a str,
}

fn comments(text: &str) -> Vec<Comment<'_>> {
    let mut found = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        // A semicolon in a quoted string begins no comment.
        let mut quoted = false;
        let start = content.find(|c: char| {
            quoted ^= c == '"';
            c == ';' && !quoted
        });
        let Some(start) = start else { continue };
        let comment = content[start..].trim_start_matches([';', ' ', '\t']);
        if let Some(words) = comment.strip_prefix("warpfold:") {
            let at = content.len() - comment.len();
            found.push(Comment {
                line,
                column: content[..at].chars().count() as u32 + 1,
                words,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Source, Syntax};

    fn hint(text: &str) -> Result<BranchHint, String> {
        text.parse()
    }

    #[test]
    fn words_may_be_mixed() {
        let prior = "p=1/16 rho=1/2".parse::<Prior>().unwrap();
        assert_eq!(
            hint(" keep p=1/16, rho=1/2"),
            Ok(BranchHint {
                form: Some(Hint::Keep),
                prior: Some(prior)
            })
        );
        assert_eq!(hint("flatten").unwrap().form, Some(Hint::Flatten));
        for (text, complaint) in [
            (
                "",
                "a hint says nothing; there are flatten, keep, p=… and rho=…",
            ),
            (
                "flaten",
                "`flaten` is no hint; there are flatten, keep, p=… and rho=…",
            ),
            ("keep flatten", "`keep` and `flatten` exclude each other"),
            ("keep keep", "`keep` is given twice"),
            ("p=2", "`2` is no probability; write 1/16, 0.0625 or 6.25%"),
            ("q=1", "`q=1` is no part of a prior; write p=1/16,rho=0"),
        ] {
            assert_eq!(hint(text), Err(complaint.to_owned()), "{text:?}");
        }
    }

    const CLIF: &str = "\
function %f(i32) -> i32 {
block0(v0: i32):
    brif v0, block1, block2 ; warpfold: keep p=1/4
block1:
    brif v0, block3, block2 ; because; warpfold: is not at the beginning
block2:
    return v0
block3:
    v1 = iconst.i32 3 ; warpfolded
    return v1
}
";

    #[test]
    fn a_hint_marks_the_branch_of_its_line() {
        let source = Source::parse(CLIF, "f.clif", Syntax::Clif).unwrap();
        let kernel = source
            .kernel(&Default::default(), &Default::default())
            .unwrap();
        let hints: Vec<_> = kernel.lowered.branches().iter().map(|b| b.hint).collect();
        assert_eq!(hints, [Some(Hint::Keep), None]);
        let text = kernel.lowered.func().to_string();
        assert!(text.contains("br keep v"), "{text}");
        // The same from what is printed, whose lines are others.
        let text = text.replace("br keep", "br");
        let at = text.lines().position(|l| l.contains("br v")).unwrap();
        let lines = text.lines().enumerate();
        let hinted: String = lines
            .map(|(i, l)| match i == at {
                true => format!("{l} ; warpfold: flatten\n"),
                false => format!("{l}\n"),
            })
            .collect();
        let source = Source::parse(&hinted, "f.wf", Syntax::Wf).unwrap();
        let kernel = source
            .kernel(&Default::default(), &Default::default())
            .unwrap();
        assert_eq!(kernel.lowered.branches()[0].hint, Some(Hint::Flatten));
        assert!(kernel.lowered.func().to_string().contains("br flatten v"));
    }

    #[test]
    fn what_nobody_would_see_is_an_error_with_its_place() {
        let text = CLIF.replace("; warpfolded", "; warpfold: keep").replace(
            "; because; warpfold: is not at the beginning",
            ";; warpfold: fast",
        );
        let errors = Source::parse(&text, "f.clif", Syntax::Clif).unwrap_err();
        let errors: Vec<String> = errors.as_slice().iter().map(|e| e.to_string()).collect();
        assert_eq!(
            errors,
            [
                "f.clif:5:32: `fast` is no hint; there are flatten, keep, p=… and rho=…",
                "f.clif:9:25: a hint belongs on the line of a conditional branch",
            ]
        );
    }
}
