//! The beginning of the road: a file with kernels and a launch.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use warpfold_analysis::uniformity::LaunchShape;
use warpfold_clif::Triple;
use warpfold_exec::Launch;
use warpfold_ir::{Function, Lines, Origin, Terminator};
use warpfold_opt::SourceBranch;

use crate::error::{self, Diagnostic, Errors};
use crate::hints::{self, Priors};
use crate::launch::{LaunchSpec, Overrides};
use crate::road::{Lowered, WithBranches};
use crate::settings::Options;

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Syntax {
    /// Cranelift IR.
    #[default]
    Clif,
    /// The text of this crate's own IR.
    Wf,
}

impl Syntax {
    /// By the file's name: `.wf` is IR, everything else CLIF.
    pub fn of_file(name: &str) -> Self {
        match Path::new(name).extension() {
            Some(ext) if ext == "wf" => Self::Wf,
            _ => Self::Clif,
        }
    }
}

/// A parsed file: one or more functions, which may call each other, and the
/// launch that its `;!` lines state.
#[derive(Clone, Debug)]
pub struct Source {
    file: String,
    functions: Vec<WithBranches>,
    /// Of the functions of IR text, by name.
    lines: BTreeMap<String, Lines>,
    /// What hints say of conditions.
    priors: Priors,
    /// Where the functions begin, by name, as far as that is known.
    places: BTreeMap<String, u32>,
    launch: LaunchSpec,
    header: String,
}

impl Source {
    /// Reads `text`; `file` is its name in messages. Pointers are 64 bits wide.
    ///
    /// # Errors
    /// Everything that is wrong with the text, with its places.
    pub fn parse(text: &str, file: &str, syntax: Syntax) -> Result<Self, Errors> {
        Self::parse_for(
            text,
            file,
            syntax,
            &warpfold_clif::ReadOptions::default().triple,
        )
    }

    /// The same for a target, whose pointers may be 32 bits wide.
    ///
    /// # Errors
    /// As [`Source::parse`].
    pub fn parse_for(
        text: &str,
        file: &str,
        syntax: Syntax,
        triple: &Triple,
    ) -> Result<Self, Errors> {
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let launch = LaunchSpec::from_source(text).map_err(|e| error::launch(file, e))?;
        let (mut functions, lines) = match syntax {
            Syntax::Clif => (clif_functions(text, file, triple)?, BTreeMap::new()),
            Syntax::Wf => wf_functions(text, file)?,
        };
        if functions.is_empty() {
            return Err(Diagnostic::new(file, "the file holds no function")
                .at(1, 1)
                .into());
        }
        let priors = hints::apply(text, file, &mut functions, &lines)?;
        Ok(Self {
            file: file.to_owned(),
            functions,
            lines,
            priors,
            places: places(text),
            launch,
            header: text
                .lines()
                .filter(|l| l.trim_start().starts_with(";!"))
                .flat_map(|l| [l, "\n"])
                .collect(),
        })
    }

    /// The file's name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Names of the functions, in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|(f, _)| f.name.as_str())
    }

    /// The launch that the file states.
    pub fn launch(&self) -> &LaunchSpec {
        &self.launch
    }

    /// The kernel that the launch names (the first function if it names none),
    /// with what is known of the launch: which parameters vary, and the sizes
    /// that are stated.
    ///
    /// # Errors
    /// If `overrides` do not fit the file's launch, or there is no such
    /// function.
    pub fn kernel(self, overrides: &Overrides, options: &Options) -> Result<Kernel, Errors> {
        let mut launch = self.launch;
        let complain = |e| error::launch(&self.file, e);
        launch.apply(overrides).map_err(complain)?;
        let names = self.functions.iter().map(|(f, _)| f.name.as_str());
        let index = launch.kernel(names).map_err(complain)?;
        let mut functions = self.functions;
        launch.function_line = self.places.get(&functions[index].0.name).copied();
        launch.mark_varying(&mut functions[index].0);
        let mut options = options.clone();
        if options.shape.is_none() {
            let known = |sizes: Option<[u32; 3]>| sizes.map_or([None; 3], |d| d.map(Some));
            options.shape = Some(
                LaunchShape::unknown()
                    .with_grid(known(launch.grid))
                    .with_block(known(launch.block)),
            );
        }
        let mut lowered = Lowered::new(&self.file, functions, index, options, &self.lines)?;
        lowered.priors = self.priors;
        Ok(Kernel {
            lowered,
            launch,
            header: self.header,
        })
    }
}

/// A kernel and how it is launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel, at the beginning of the road.
    pub lowered: Lowered,
    /// The launch as stated.
    pub launch: LaunchSpec,
    /// The lines of the file that state it; other text of the same kernel
    /// (converted IR, say) can carry them.
    pub header: String,
}

impl Kernel {
    /// The launch, ready to run; files that it names lie relative to `dir`.
    ///
    /// # Errors
    /// If arguments and signature do not fit each other, or a file cannot be
    /// used.
    pub fn launch(&self, dir: &Path) -> Result<Launch, Errors> {
        self.launch
            .build(self.lowered.func(), dir)
            .map_err(|e| error::launch(self.lowered.file(), e))
    }
}

fn clif_functions(text: &str, file: &str, triple: &Triple) -> Result<Vec<WithBranches>, Errors> {
    let options = warpfold_clif::ReadOptions {
        triple: triple.clone(),
    };
    let lowered =
        warpfold_clif::read(text, &options).map_err(|errors| error::clif(file, errors))?;
    Ok(from_clif(lowered))
}

/// The functions that were lowered, in order, and behind them those they need.
pub(crate) fn from_clif(lowered: Vec<warpfold_clif::Lowered>) -> Vec<WithBranches> {
    let branch = |b: warpfold_clif::SourceBranch| SourceBranch {
        origin: b.origin,
        opcode: b.opcode,
        hint: None,
    };
    warpfold_clif::with_helpers(lowered)
        .map(|(func, branches)| (func, branches.into_iter().map(branch).collect()))
        .collect()
}

fn wf_functions(
    text: &str,
    file: &str,
) -> Result<(Vec<WithBranches>, BTreeMap<String, Lines>), Errors> {
    let (module, lines) = warpfold_ir::parse_module_with_lines(&without_tests(text))
        .map_err(|e| error::parse(file, e))?;
    let names = module.functions.iter().map(|f| f.name.clone());
    let lines = names.zip(lines).collect();
    let functions = module.functions.into_iter().map(with_branches);
    Ok((functions.collect(), lines))
}

/// The text without the `test` lines that head a file of tests, as CLIF's reader
/// passes over them; every line keeps its number.
fn without_tests(text: &str) -> Cow<'_, str> {
    let is_test = |line: &str| line.split_whitespace().next() == Some("test");
    let heads = |line: &&str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with(';') || is_test(line)
    };
    let lines = text.split_inclusive('\n');
    let head: usize = lines.clone().take_while(heads).map(str::len).sum();
    if !text[..head].lines().any(is_test) {
        return Cow::Borrowed(text);
    }
    let blanked = text[..head]
        .split_inclusive('\n')
        .map(|line| match is_test(line) {
            true => "\n",
            false => line,
        });
    Cow::Owned(blanked.chain([&text[head..]]).collect())
}

/// The lines that begin functions, by the function's name.
fn places(text: &str) -> BTreeMap<String, u32> {
    let named = (1..).zip(text.lines()).filter_map(|(at, line)| {
        let rest = line.trim_start().strip_prefix("function")?;
        let name = rest.trim_start().strip_prefix('%')?;
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        Some((name[..end.unwrap_or(name.len())].to_owned(), at))
    });
    named.collect()
}

/// The conditional branches of a function that came with none listed. Those
/// without an origin get one of their own, beyond every number in use.
pub(crate) fn with_branches(mut func: Function) -> (Function, Vec<SourceBranch>) {
    let terms = func.layout.iter().map(|&b| func.block(b).origin);
    let insts = func.laid_out_insts().map(|(_, i)| func.inst(i).origin);
    let used = terms.chain(insts).filter(|o| !o.is_none());
    let mut next = used
        .map(|o| o.inst)
        .max()
        .map_or(0, |n| n.saturating_add(1));
    let mut branches = Vec::new();
    for b in func.layout.clone() {
        let opcode = match &func.block(b).term {
            Some(Terminator::Br { .. }) => "br",
            Some(Terminator::Switch { .. }) => "switch",
            _ => continue,
        };
        if func.block(b).origin.is_none() {
            func.block_mut(b).origin = Origin::new(next, 0);
            next = next.saturating_add(1);
        }
        branches.push(SourceBranch {
            origin: func.block(b).origin,
            opcode,
            hint: func.term(b).mark().and_then(|mark| mark.hint),
        });
    }
    (func, branches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_hides_no_launch_line() {
        let text = "\u{feff};! block = 64\nfunction %f() {\nblock0:\n    return\n}\n";
        let source = Source::parse(text, "f.clif", Syntax::Clif).unwrap();
        assert_eq!(source.launch.block, Some([64, 1, 1]));
        assert_eq!(source.header, ";! block = 64\n");
    }

    #[test]
    fn lines_that_head_a_file_of_tests_are_passed_over() {
        let text = "; odd\ntest exec\ntest run a=b\n\nfunction %f() {\nblock0:\n    rot\n}\n";
        let e = Source::parse(text, "f.wf", Syntax::Wf).unwrap_err();
        assert_eq!(e.as_slice()[0].line, Some(7), "{e}");
        let source = Source::parse(&text.replace("rot", "ret"), "f.wf", Syntax::Wf).unwrap();
        assert_eq!(source.names().collect::<Vec<_>>(), ["f"]);
        // Nowhere else.
        let late = "function %f() {\nblock0:\n    ret\n}\ntest exec\n";
        let e = Source::parse(late, "f.wf", Syntax::Wf).unwrap_err();
        assert_eq!(e.as_slice()[0].line, Some(5), "{e}");
    }

    #[test]
    fn syntax_goes_by_the_name() {
        assert_eq!(Syntax::of_file("a/b.wf"), Syntax::Wf);
        assert_eq!(Syntax::of_file("a/b.clif"), Syntax::Clif);
        assert_eq!(Syntax::of_file("<stdin>"), Syntax::Clif);
    }

    #[test]
    fn branches_of_ir_text_get_origins_of_their_own() {
        let text = "\
function %f(i32 varying) {
block0(v0: i32):
    v1 = const.i32 3 @7:2
    v2 = icmp.i32 slt v0, v1
    br v2, block1, block2

block1:
    br v2, block2, block2 @3:9

block2:
    ret
}
";
        let source = Source::parse(text, "f.wf", Syntax::Wf).unwrap();
        let (func, branches) = &source.functions[0];
        let origins: Vec<Origin> = branches.iter().map(|b| b.origin).collect();
        assert_eq!(origins, [Origin::new(8, 0), Origin::new(3, 9)]);
        assert!(branches.iter().all(|b| b.opcode == "br"));
        let entry = func.entry().unwrap();
        assert_eq!(func.block(entry).origin, Origin::new(8, 0));
    }

    #[test]
    fn a_file_without_functions_is_an_error_with_a_place() {
        for syntax in [Syntax::Clif, Syntax::Wf] {
            let e = Source::parse("; nothing\n", "x", syntax).unwrap_err();
            assert!(e.as_slice()[0].line.is_some(), "{syntax:?}: {e}");
        }
    }
}
