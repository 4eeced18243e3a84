//! `test uniformity`: what the kernel's lanes are known to agree on.
//!
//! Takes from the launch header what it states: the kernel, the varying
//! parameters, the sizes. Facts: `blockN`, the scope of the branch that ends
//! the block (`lane` is one that may split), `mask.blockN` where the lanes
//! that take it are known, `tail.blockN=true` for a tail guard, and how many
//! branches are `uniform` and `divergent`.

use warpfold::analysis::uniformity::{
    Convergence, LaunchShape, Uniformity as Analysis, UniformityOptions, annotate,
};
use warpfold::exec::Mode;
use warpfold::launch::LaunchSpec;

use crate::filetest::{FileTest, Options, Output, TestFile};

/// `test uniformity`: the kernel with the analysis's findings beside it.
/// Options: `joins=default|cfg`, `convergence=ipdom|parked`,
/// `mode=stack|its`.
#[derive(Clone, Copy, Debug)]
pub struct Uniformity;

impl FileTest for Uniformity {
    fn name(&self) -> &str {
        "uniformity"
    }

    fn options(&self) -> &[&str] {
        &["joins", "convergence", "mode"]
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let kernel = super::kernel(file)?;
        let func = kernel.func();
        let how = UniformityOptions {
            called: kernel.is_called(),
            ..how(&kernel.spec, options)?
        };
        let analysis = Analysis::new(func, &how);
        let mut out = Output {
            text: annotate(func, &analysis),
            ..Output::default()
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

fn how(spec: &LaunchSpec, options: &Options) -> Result<UniformityOptions, String> {
    let known = |sizes: Option<[u32; 3]>| sizes.map_or([None; 3], |d| d.map(Some));
    Ok(UniformityOptions {
        shape: LaunchShape::unknown()
            .with_grid(known(spec.grid))
            .with_block(known(spec.block)),
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
