//! What checks keep for each frame: which lanes hold poison in which value,
//! where that came from, and which way groups of lanes have come.

use std::collections::HashMap;

use cranelift_entity::EntityRef;
use warpfold_ir::{Inst, Value};

use super::instance::Instances;
use crate::registers::{LANES, lanes_of};

/// What made poison: an instruction of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    pub function: usize,
    pub inst: Inst,
}

/// The shadow of a frame. Empty, and without memory of its own, where nothing
/// is checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow {
    /// By value, the lanes that hold poison; none beyond the end.
    poison: Vec<u32>,
    /// What made it, where there is any.
    sources: HashMap<Value, [Option<Source>; LANES]>,
    pub instances: Instances,
    /// Whether the function's poison constants are marked.
    pub started: bool,
}

impl Shadow {
    /// The lanes in which `v` is poison.
    pub(crate) fn poison(&self, v: Value) -> u32 {
        self.poison.get(v.index()).copied().unwrap_or(0)
    }

    /// Sets which of `lanes` hold poison in `v`.
    pub(crate) fn set(&mut self, v: Value, lanes: u32, poison: u32) {
        match self.poison.get_mut(v.index()) {
            Some(mask) => *mask = *mask & !lanes | poison & lanes,
            None if poison & lanes != 0 => {
                self.poison.resize(v.index() + 1, 0);
                self.poison[v.index()] = poison & lanes;
            }
            None => {}
        }
    }

    /// What made the poison of a lane.
    pub(crate) fn source(&self, v: Value, lane: usize) -> Option<Source> {
        self.sources.get(&v).and_then(|s| s[lane])
    }

    /// Says what made the poison of `v` in some lanes.
    pub(crate) fn set_source(
        &mut self,
        v: Value,
        lanes: u32,
        of: impl Fn(usize) -> Option<Source>,
    ) {
        if lanes == 0 {
            return;
        }
        let sources = self.sources.entry(v).or_insert([None; LANES]);
        for lane in lanes_of(lanes) {
            sources[lane] = of(lane);
        }
    }
}
