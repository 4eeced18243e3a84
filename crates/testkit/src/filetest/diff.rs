//! A line diff for failure reports: longest common subsequence.

use std::fmt::Write;

/// Beyond this many cells of the table the middle is shown as replaced whole.
const LIMIT: usize = 4_000_000;

/// The lines of `want` and `got`: `-` only wanted, `+` only got, else both;
/// long runs of equal lines are cut to three on either side.
pub(super) fn diff(want: &str, got: &str) -> String {
    let want: Vec<&str> = want.lines().collect();
    let got: Vec<&str> = got.lines().collect();
    let head = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let (want_rest, got_rest) = (&want[head..], &got[head..]);
    let tail = want_rest
        .iter()
        .rev()
        .zip(got_rest.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let a = &want_rest[..want_rest.len() - tail];
    let b = &got_rest[..got_rest.len() - tail];

    let mut lines: Vec<(char, &str)> = want[..head].iter().map(|&l| (' ', l)).collect();
    if a.len().saturating_mul(b.len()) > LIMIT {
        lines.extend(a.iter().map(|&l| ('-', l)));
        lines.extend(b.iter().map(|&l| ('+', l)));
    } else {
        // common[i][j]: length of the longest common subsequence of the rests.
        let width = b.len() + 1;
        let mut common = vec![0u32; (a.len() + 1) * width];
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                common[i * width + j] = if a[i] == b[j] {
                    common[(i + 1) * width + j + 1] + 1
                } else {
                    common[(i + 1) * width + j].max(common[i * width + j + 1])
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            if i < a.len() && j < b.len() && a[i] == b[j] {
                lines.push((' ', a[i]));
                i += 1;
                j += 1;
            } else if j == b.len()
                || i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]
            {
                lines.push(('-', a[i]));
                i += 1;
            } else {
                lines.push(('+', b[j]));
                j += 1;
            }
        }
    }
    lines.extend(want[want.len() - tail..].iter().map(|&l| (' ', l)));

    const CONTEXT: usize = 3;
    let near = |i: usize| {
        let from = i.saturating_sub(CONTEXT);
        let to = (i + CONTEXT + 1).min(lines.len());
        lines[from..to].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut out = String::new();
    let mut cut = false;
    for (i, (mark, line)) in lines.iter().enumerate() {
        if near(i) {
            let _ = writeln!(out, "    {mark} {line}");
            cut = false;
        } else if !cut {
            out.push_str("      …\n");
            cut = true;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn marks_what_differs() {
        let got = diff("a\nb\nc\nd\n", "a\nx\nc\nd\ne\n");
        assert_eq!(
            got,
            "      a\n    - b\n    + x\n      c\n      d\n    + e\n"
        );
    }

    #[test]
    fn cuts_what_is_equal() {
        let same = "s\n".repeat(10);
        let got = diff(&format!("{same}a\n"), &format!("{same}b\n"));
        assert_eq!(
            got,
            "      …\n      s\n      s\n      s\n    - a\n    + b\n"
        );
    }
}
