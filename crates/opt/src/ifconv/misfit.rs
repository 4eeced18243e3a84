//! Whether an assignment that is spelled out can be carried out.
//!
//! A [`Choice`](super::decide::Choice) that [`choices`](super::choices) has listed
//! always can. One made by hand may name what is no region, a region that must stay
//! a branch, or bodies that cannot be skipped. Converting leaves such parts as they
//! are, which is sound and not what was asked for; so whoever takes choices from
//! others asks here first.

use hashbrown::HashMap;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{Block, Function, Hint, Origin};

use super::study::{Room, study};
use super::{Context, Known};

/// A part of a choice that cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// The block that the choice names.
    pub head: Block,
    /// Where the block's branch comes from, if the block is there.
    pub origin: Origin,
    /// What is wrong, one line.
    pub what: String,
}

/// Everything in the context's choice that does not fit the function, in order of
/// the blocks that it names; nothing without a choice.
pub fn misfits(canonical: &Function, cx: &Context<'_>) -> Vec<Misfit> {
    let Some(choice) = cx.choice else {
        return Vec::new();
    };
    let known = Known::new(canonical, cx);
    let inputs = known.inputs(canonical, cx);
    let regions = &known.regions;
    let by_head: HashMap<Block, RegionId> =
        regions.ids().map(|id| (regions[id].head, id)).collect();
    let refused = |id: RegionId| {
        let hint = known.hints.of(id) == Some(Hint::Keep);
        let by_hint = hint.then(|| "its branch is kept by a hint".to_owned());
        by_hint.or_else(|| {
            let blocker = known.outlines.get(id).err()?;
            Some(blocker.describe(canonical))
        })
    };
    // The outermost straight region around one, or itself: its code is what bodies
    // are skipped in.
    let outermost = |id: RegionId| {
        let up = std::iter::successors(Some(id), |&id| regions[id].parent);
        let straight = |&id: &RegionId| {
            choice.straight.contains_key(&regions[id].head) && refused(id).is_none()
        };
        up.filter(straight).last()
    };
    let mut found = Vec::new();
    let mut room = Room::default();
    for (&head, skips) in &choice.straight {
        let mut say = |what: String| {
            let origin = match canonical.layout.contains(&head) {
                true => canonical.block(head).origin,
                false => Origin::NONE,
            };
            found.push(Misfit { head, origin, what });
        };
        let Some(&id) = by_head.get(&head) else {
            say(format!("{head} heads no region"));
            continue;
        };
        // Inside of straight code nothing more is asked of a region.
        let around = outermost(id);
        if let Some(why) = refused(id).filter(|_| around.is_none()) {
            say(format!("{head} cannot become straight code: {why}"));
            continue;
        }
        let Some(around) = around else { continue };
        let study = study(&inputs, &known.outlines, around, &mut room);
        let bodies = &study.region(id).bodies;
        if skips.len() > bodies.len() {
            let (asked, are) = (skips.len(), bodies.len());
            say(format!("{asked} bodies of {head} are named, it has {are}"));
        }
        for (k, body) in bodies.iter().enumerate() {
            if skips.get(k) == Some(&true) && !body.skippable {
                say(format!("body {k} of {head} cannot be skipped"));
            }
        }
    }
    found
}
