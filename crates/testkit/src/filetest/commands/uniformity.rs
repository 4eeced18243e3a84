//! `test uniformity`: what the kernel's lanes are known to agree on.
//!
//! Takes from the launch header what it states: the kernel, the varying
//! parameters, the sizes. Facts: `blockN`, the scope of the branch that ends
//! the block (`lane` is one that may split), `mask.blockN` where the lanes
//! that take it are known, `tail.blockN=true` for a tail guard, and how many
//! branches are `uniform` and `divergent`.
//!
//! With `notes=beside` every line of the file's own functions carries what is
//! claimed of it as a comment at its end, and all of them are compared: each
//! function is analysed, as a kernel unless another one calls it. A line of
//! which something is claimed and nothing said fails as a wrong one does, and a
//! claim that is weaker than the file's as one that is stronger.

use warpfold::analysis::uniformity::{
    Convergence, LaunchShape, Uniformity as Analysis, UniformityOptions, annotate, claims,
};
use warpfold::exec::Mode;
use warpfold::launch::LaunchSpec;

use super::beside::Beside;
use crate::filetest::{FileTest, Language, Options, Output, TestFile};

/// `test uniformity`: the kernel with the analysis's findings beside it.
/// Options: `joins=default|cfg`, `convergence=ipdom|parked`, `mode=stack|its`,
/// `notes=beside`, and `block` and `grid`, sizes per dimension that replace the
/// launch's: `64,1,1`, with `?` for one that is not known.
#[derive(Clone, Copy, Debug)]
pub struct Uniformity;

impl FileTest for Uniformity {
    fn name(&self) -> &str {
        "uniformity"
    }

    fn options(&self) -> &[&str] {
        &["joins", "convergence", "mode", "notes", "block", "grid"]
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let kernel = super::kernel(file)?;
        let func = kernel.func();
        let how = UniformityOptions {
            called: kernel.is_called(),
            ..how(&kernel.spec, options)?
        };
        let analysis = Analysis::new(func, &how);
        let mut out = match options.get("notes") {
            None => Output {
                text: annotate(func, &analysis),
                ..Output::default()
            },
            Some("beside") => beside(file, &kernel, &how)?,
            Some(other) => return Err(format!("`notes` can only be beside, not `{other}`")),
        };
        let (mut uniform, mut divergent) = (0, 0);
        for &b in &func.layout {
            if !func.term(b).is_conditional() {
                continue;
            }
            *(if analysis.is_uniform_branch(b) {
                &mut uniform
            } else {
                &mut divergent
            }) += 1;
            out.fact(b.to_string(), analysis.branch_scope(b));
            if let Some(mask) = analysis.known_mask(b) {
                out.fact(format!("mask.{b}"), super::mask(mask));
            }
            if analysis.tail_guard(b) {
                out.fact(format!("tail.{b}"), true);
            }
        }
        out.fact("uniform", uniform);
        out.fact("divergent", divergent);
        Ok(out)
    }
}

/// Compares what is claimed of all functions with the file's own lines.
fn beside(
    file: &TestFile,
    kernel: &super::Kernel,
    how: &UniformityOptions,
) -> Result<Output, String> {
    if file.language != Language::Ir {
        return Err("notes stand beside Warpfold's own IR only".to_owned());
    }
    let mut lines = Beside::new(&file.text);
    for func in &kernel.functions {
        let how = UniformityOptions {
            called: kernel.calls(&func.name),
            ..*how
        };
        lines.compare(&claims(func, &Analysis::new(func, &how)))?;
    }
    Ok(lines.finish())
}

/// Sizes per dimension, `?` for what is not known.
fn sizes(name: &str, text: &str) -> Result<[Option<u32>; 3], String> {
    let wrong = || format!("`{name}` is three sizes like 64,1,1 or ?,1,1, not `{text}`");
    let parts: Vec<&str> = text.split(',').collect();
    let parts: [&str; 3] = parts.try_into().map_err(|_| wrong())?;
    let mut sizes = [None; 3];
    for (size, part) in sizes.iter_mut().zip(parts) {
        if part != "?" {
            let known: u32 = part.parse().map_err(|_| wrong())?;
            *size = Some(known)
                .filter(|&n| n > 0)
                .map_or_else(|| Err(wrong()), |n| Ok(Some(n)))?;
        }
    }
    Ok(sizes)
}

fn how(spec: &LaunchSpec, options: &Options) -> Result<UniformityOptions, String> {
    let known = |name: &str, stated: Option<[u32; 3]>| match options.get(name) {
        Some(text) => sizes(name, text),
        None => Ok(stated.map_or([None; 3], |d| d.map(Some))),
    };
    Ok(UniformityOptions {
        shape: LaunchShape::unknown()
            .with_grid(known("grid", spec.grid)?)
            .with_block(known("block", spec.block)?),
        convergence: match options.get("convergence") {
            None | Some("ipdom") => Convergence::Ipdom,
            Some("parked") => Convergence::Parked,
            Some(other) => return Err(format!("`convergence` is ipdom or parked, not `{other}`")),
        },
        joins: super::joins(options)?,
        independent: super::mode(options)? == Mode::Its,
        ..UniformityOptions::default()
    })
}
