//! The book's commands work and its links lead somewhere: every line of every
//! `sh` block of `docs/*.md` and of the README is run from the root of the
//! repository, every relative link is followed, to its heading if it names one.
//! Pictures that commands write are compared with those of the book.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{root, scratch, warpfold};

/// Ways of writing the command.
const COMMANDS: [&str; 3] = [
    "warpfold ",
    "cargo run -p warpfold-cli -- ",
    "cargo run --release -p warpfold-cli -- ",
];

/// Lines that are run by whoever runs this test.
const TESTS: [&str; 2] = ["cargo test ", "BLESS=1 cargo test "];

/// The pages, with their texts.
fn pages() -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root().join("docs"))
        .expect("docs/ is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    paths.sort();
    assert!(paths.len() > 10, "{paths:?}");
    paths.push(root().join("README.md"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("it can be read");
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// The lines inside the code blocks of a language, or with `None` those
/// outside of all code blocks.
fn lines<'a>(text: &'a str, language: Option<&str>) -> Vec<&'a str> {
    let mut open: Option<&str> = None;
    let mut found = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(name), None) => open = Some(name),
            (Some(_), Some(_)) => open = None,
            (None, _) if open == language => found.push(line),
            (None, _) => {}
        }
    }
    found
}

/// The words of a shell line, which may be quoted singly; no other feature of
/// a shell is understood, or allowed in the book.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (i, part) in line.split('\'').enumerate() {
        if i % 2 == 1 {
            words.push(part.to_owned());
            continue;
        }
        let plain = !part.contains(['"', '\\', '|', '>', '<', '&', ';', '$', '(', '*']);
        assert!(plain, "only single quotes are understood: {line}");
        words.extend(part.split_whitespace().map(str::to_owned));
    }
    words
}

/// Pictures that a command would write to the book go elsewhere: there, and
/// where they would go.
fn redirect(words: &mut [String]) -> Vec<(String, PathBuf)> {
    let mut pictures = Vec::new();
    for word in words {
        if let Some(name) = word.strip_prefix("docs/pictures/") {
            let drawn = scratch(name);
            pictures.push((drawn.clone(), root().join(&*word)));
            *word = drawn;
        }
    }
    pictures
}

/// A picture of the book is what its command draws; `BLESS=1` makes it so.
fn compare(drawn: &str, picture: &Path) {
    let new = fs::read_to_string(drawn).expect("the command drew it");
    if std::env::var_os("BLESS").is_some() {
        fs::write(picture, &new).expect("it can be written");
    }
    let old = fs::read_to_string(picture).unwrap_or_default();
    assert!(
        old == new,
        "{} is not what its command draws; run with BLESS=1 to rewrite it",
        picture.display()
    );
}

#[test]
fn commands_work() {
    let mut ran = 0;
    for (path, text) in pages() {
        for line in lines(&text, Some("sh")) {
            if line.trim().is_empty() || TESTS.iter().any(|t| line.starts_with(t)) {
                continue;
            }
            let command = COMMANDS.iter().find_map(|c| line.strip_prefix(c));
            let Some(command) = command else {
                panic!("{}: nobody tests `{line}`", path.display());
            };
            let mut words = words(command);
            let pictures = redirect(&mut words);
            let args: Vec<&str> = words.iter().map(String::as_str).collect();
            let result = warpfold(&args);
            assert_eq!(
                result.status,
                0,
                "{}: {line}\n{}",
                path.display(),
                result.stderr
            );
            assert!(!result.stdout.is_empty(), "{line}");
            for (drawn, picture) in pictures {
                compare(&drawn, &picture);
            }
            ran += 1;
        }
    }
    assert!(ran >= 8, "{ran}");
}

/// The targets of a page's links.
fn links(text: &str) -> Vec<String> {
    let prose = lines(text, None).join("\n");
    let targets = prose.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// How a heading is called in a link.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

fn has_heading(path: &Path, name: &str) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut headings = lines(&text, None)
        .into_iter()
        .filter(|l| l.starts_with('#'))
        .map(|l| l.trim_start_matches('#'));
    headings.any(|h| anchor(h) == name)
}

#[test]
fn links_lead_somewhere() {
    let mut followed = 0;
    for (path, text) in pages() {
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = match link.split_once('#') {
                Some((file, heading)) => (file, Some(heading)),
                None => (link.as_str(), None),
            };
            let target = match file {
                "" => path.clone(),
                file => path.parent().expect("a folder").join(file),
            };
            assert!(target.exists(), "{}: {link}", path.display());
            if let Some(heading) = heading {
                assert!(has_heading(&target, heading), "{}: {link}", path.display());
            }
            followed += 1;
        }
    }
    assert!(followed > 40, "{followed}");
}

#[test]
fn the_index_names_every_page() {
    let index = fs::read_to_string(root().join("docs/README.md")).expect("the index is there");
    let targets = links(&index);
    for (path, _) in pages() {
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        if name != "README.md" {
            assert!(
                targets.iter().any(|t| t == name),
                "docs/README.md lacks {name}"
            );
        }
    }
}

/// The page on launches names the options that replace their parts.
#[test]
fn launch_options_are_listed() {
    let page = fs::read_to_string(root().join("docs/launch.md")).expect("the page is there");
    let help = warpfold(&["run", "--help"]).ok();
    let (_, rest) = help.split_once("\nLaunch:\n").expect("a section");
    // The next section's head stands at the margin.
    let inside = rest
        .lines()
        .take_while(|l| !l.starts_with(|c: char| c.is_ascii_alphabetic()));
    let options: Vec<&str> = inside
        .filter_map(|l| l.trim().strip_prefix("--"))
        .filter_map(|l| l.split_whitespace().next())
        .collect();
    assert!(options.len() >= 5, "{options:?}");
    for option in options {
        assert!(page.contains(&format!("`--{option} ")), "--{option}");
    }
}
