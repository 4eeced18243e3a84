//! What lanes tell each other: votes, ballots, shuffles, and exchanges through
//! shared memory between barriers.

use super::Generator;
use super::writer::{Ty, Val};

impl Generator<'_> {
    /// A vote's result, or something else that lanes tell each other.
    pub(super) fn vote(&mut self) -> Val {
        let c = self.compare();
        let name = self.bytes.pick(&["vote_any", "vote_all"]);
        self.note_cross_lane();
        self.w
            .call(name, &[c], Some(Ty::I8))
            .expect("a call with a result yields one")
    }

    fn note_cross_lane(&mut self) {
        self.crossed = true;
        self.w.coverage.shape("cross-lane");
        if self.depth > 0 {
            self.w.coverage.shape("cross-lane-arm");
        }
    }

    /// An instruction whose result depends on the other lanes.
    pub(super) fn cross_lane(&mut self) {
        match self.bytes.below(4) {
            0 => {
                self.vote();
            }
            1 => {
                let c = self.compare();
                self.note_cross_lane();
                self.w.call("ballot", &[c], Some(Ty::I32));
            }
            2 => {
                let ty = self.any_type();
                let v = self.value(ty);
                let v = self.settled(v);
                let name = self
                    .bytes
                    .pick(&["shfl_bfly", "shfl_up", "shfl_down", "shfl_idx"]);
                let by = self.int(Ty::I32, 0);
                let by = match self.bytes.chance(128) {
                    true => by,
                    false => self.value(Ty::I32),
                };
                self.note_cross_lane();
                self.w.call(name, &[v, by], Some(ty));
            }
            _ => {
                self.note_cross_lane();
                match self.bytes.below(2) {
                    0 => self.w.call("active_mask", &[], Some(Ty::I32)),
                    _ => {
                        let ty = self.any_type();
                        let v = self.value(ty);
                        let v = self.settled(v);
                        self.w.call("read_first", &[v], Some(ty))
                    }
                };
            }
        }
    }

    /// Every lane leaves a number in shared memory and reads its neighbour's,
    /// between barriers. Only where all live lanes come together.
    pub(super) fn exchange(&mut self) {
        self.crossed = true;
        self.exchanged = true;
        self.w.coverage.shape("barrier");
        let base = self.shared_base();
        // Behind the lanes' own bytes.
        let past = self.int(Ty::I64, 32 * i64::from(self.threads));
        let base = self.w.ins(Ty::I64, "iadd", &[base, past]);
        let tid = self.tid;
        let own = self.address(base, tid, 4);
        let v = self.value(Ty::I32);
        self.w
            .act("store", &format!("aligned v{}, v{}", v.id, own.id));
        self.w.call("barrier", &[], None);
        let one = self.int(Ty::I32, 1);
        let next = self.w.ins(Ty::I32, "iadd", &[tid, one]);
        let threads = self.int(Ty::I32, i64::from(self.threads));
        let next = self.w.ins(Ty::I32, "urem", &[next, threads]);
        let at = self.address(base, next, 4);
        self.w
            .def(Ty::I32, "load", true, &format!("aligned v{}", at.id));
        self.w.call("barrier", &[], None);
    }
}
