//! Loads and stores.
//!
//! A lane stores only where nobody else loads or stores: 32 bytes of the
//! output buffer, of shared memory and of its stack are its own.

use super::Generator;
use super::writer::{Ty, Val};

/// Places of 8 bytes that a lane owns in each of them.
const OWN: usize = 4;

impl Generator<'_> {
    /// A number from 0 to 15 that nothing proves to be one.
    pub(super) fn small(&mut self) -> Val {
        let of_pool: Vec<Val> = self
            .small
            .iter()
            .copied()
            .filter(|v| self.w.pool.contains(v))
            .collect();
        if !of_pool.is_empty() && !self.bytes.chance(60) {
            return self.bytes.pick(&of_pool);
        }
        let at = self.element(self.inputs.small, 4);
        let flags = self.free_flags();
        let offset = 4 * self.bytes.below(4);
        let rest = format!("{flags} v{}+{offset}", at.id);
        let v = self.w.def(Ty::I32, "load", true, &rest);
        self.w.coverage.shape("load-free");
        self.small.push(v);
        v
    }

    /// Flags of a load that is valid wherever it stands.
    fn free_flags(&mut self) -> &'static str {
        self.bytes.pick(&[
            "notrap aligned readonly can_move",
            "aligned readonly can_move",
            "readonly can_move",
            "aligned readonly",
        ])
    }

    /// The address of an element of an input of 64 elements and more: of the
    /// lane's own, or of one that data chooses.
    pub(super) fn element(&mut self, base: Val, size: i64) -> Val {
        let index = match self.bytes.below(3) {
            0 | 1 => self.global,
            _ => self.value(Ty::I32),
        };
        let mask = self.int(Ty::I32, 63);
        let index = self.w.ins(Ty::I32, "band", &[index, mask]);
        self.address(base, index, size)
    }

    /// `base + size * index`.
    pub(super) fn address(&mut self, base: Val, index: Val, size: i64) -> Val {
        let index = self.w.cast(Ty::I64, "uextend", index);
        let size = self.int(Ty::I64, size);
        let offset = self.w.ins(Ty::I64, "imul", &[index, size]);
        self.w.ins(Ty::I64, "iadd", &[base, offset])
    }

    /// A load or store.
    pub(super) fn access(&mut self) {
        match self.bytes.below(9) {
            0 => {
                self.small();
            }
            8 => self.chased(),
            1 => {
                let (base, ty, size) = self.bytes.pick(&[
                    (self.inputs.ints, Ty::I64, 8),
                    (self.inputs.floats, Ty::F32, 4),
                    (self.inputs.ints, Ty::F64, 8),
                ]);
                let at = self.element(base, size);
                let flags = self.free_flags();
                self.w.def(ty, "load", true, &format!("{flags} v{}", at.id));
                self.w.coverage.shape("load-free");
            }
            2 if self.slots => self.stack(),
            3 if self.shared => {
                self.w.coverage.shape("shared-own");
                let at = self.shared_own();
                self.own(at, "aligned");
            }
            _ => {
                let at = self.out;
                self.own(at, "notrap aligned");
            }
        }
    }

    /// A load from or a store to the 32 bytes at `at` that are the lane's own.
    fn own(&mut self, at: Val, flags: &str) {
        let offset = 8 * self.bytes.below(OWN);
        if self.bytes.chance(80) {
            let narrow = [("uload8", 1), ("sload8", 1), ("uload16", 2), ("sload16", 2)];
            match self.bytes.below(4) {
                0 => {
                    let (op, _) = self.bytes.pick(&narrow);
                    self.w
                        .def(Ty::I32, op, true, &format!("{flags} v{}+{offset}", at.id));
                }
                1 => {
                    let op = self.bytes.pick(&["uload32", "sload32"]);
                    // The one opcode of the family whose result is always i64.
                    self.w
                        .def(Ty::I64, op, false, &format!("{flags} v{}+{offset}", at.id));
                }
                _ => {
                    let ty = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I8, Ty::I16]);
                    self.w
                        .def(ty, "load", true, &format!("{flags} v{}+{offset}", at.id));
                }
            }
            self.w.coverage.shape("load-own");
            return;
        }
        if self.depth > 0 {
            self.w.coverage.shape("store-arm");
        }
        let ty = self.any_type();
        let v = self.value(ty);
        let v = self.settled(v);
        let op = match ty {
            Ty::I32 | Ty::I64 | Ty::I16 if self.bytes.chance(60) => match ty {
                Ty::I64 => self.bytes.pick(&["istore32", "istore16", "istore8"]),
                Ty::I32 => self.bytes.pick(&["istore16", "istore8"]),
                _ => "istore8",
            },
            _ => "store",
        };
        // 16 bytes lie in the first or the second half.
        let offset = if ty == Ty::I128 { offset & 16 } else { offset };
        self.w
            .act(op, &format!("{flags} v{}, v{}+{offset}", v.id, at.id));
    }

    /// A load whose result says where the next one reads. The second may be
    /// speculated, but only once the first has run.
    fn chased(&mut self) {
        self.w.coverage.shape("load-chased");
        let at = self.element(self.inputs.far, 4);
        let flags = self
            .bytes
            .pick(&["aligned readonly", "notrap aligned", "readonly can_move"]);
        let index = self
            .w
            .def(Ty::I32, "load", true, &format!("{flags} v{}", at.id));
        let far = self.int(Ty::I64, -4000);
        let base = self.inputs.far;
        let base = self.w.ins(Ty::I64, "iadd", &[base, far]);
        let at = self.address(base, index, 4);
        let flags = self.free_flags();
        let v = self
            .w
            .def(Ty::I32, "load", true, &format!("{flags} v{}", at.id));
        if !self.bytes.chance(100) {
            self.keep(v, 2);
        }
    }

    /// Stores a value in one of the lane's own places, so that it is not dead.
    pub(super) fn keep(&mut self, v: Val, place: usize) {
        let v = self.settled(v);
        let offset = match v.ty {
            Ty::I128 => 16 * (place % 2),
            _ => 8 * (place % OWN),
        };
        let rest = format!("notrap aligned v{}, v{}+{offset}", v.id, self.out.id);
        self.w.act("store", &rest);
    }

    /// Loads and stores of the stack slot, at an index that data may choose.
    fn stack(&mut self) {
        self.w.coverage.shape("stack");
        let base = self.w.def(Ty::I64, "stack_addr", true, "ss0");
        let at = match self.bytes.chance(128) {
            false => base,
            true => {
                let small = self.small();
                let three = self.int(Ty::I32, 3);
                let index = self.w.ins(Ty::I32, "band", &[small, three]);
                self.address(base, index, 4)
            }
        };
        match self.bytes.below(2) {
            0 => {
                let v = self.value(Ty::I32);
                self.w
                    .act("store", &format!("notrap aligned v{}, v{}", v.id, at.id));
            }
            _ => {
                self.w
                    .def(Ty::I32, "load", true, &format!("notrap aligned v{}", at.id));
            }
        }
    }

    /// The address of the lane's own 32 bytes of shared memory.
    pub(super) fn shared_own(&mut self) -> Val {
        let base = self.shared_base();
        let tid = self.tid;
        self.address(base, tid, 32)
    }

    pub(super) fn shared_base(&mut self) -> Val {
        self.w
            .call("shared_base", &[], Some(Ty::I64))
            .expect("a call with a result yields one")
    }
}
