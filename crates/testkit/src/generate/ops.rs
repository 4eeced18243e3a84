//! Straight-line pieces: values, operations, conditions, memory.
//!
//! What could trap is written so that it does not, unless the options ask for
//! traps: divisors are constants, tested, or have a bit set; float to integer
//! conversions saturate or are tested; checked loads are in bounds behind
//! their check, and really out of bounds in front of it.

use super::Generator;
use super::writer::{Ty, Val, list};

/// The offsets of the four places that every lane owns, 8 bytes each.
const OWN: usize = 4;

impl Generator<'_> {
    /// A constant of type `ty`.
    pub(super) fn constant(&mut self, ty: Ty) -> Val {
        let w = &mut self.w;
        match ty {
            Ty::F32 | Ty::F64 => {
                let text = self.bytes.pick(&[
                    "0x1.0p0",
                    "0.0",
                    "-0.0",
                    "-0x1.8p1",
                    "0x1.0p-3",
                    "0x1.4p5",
                    "-0x1.0p31",
                    "0x1.fffffep62",
                    "+Inf",
                ]);
                let op = if ty == Ty::F32 { "f32const" } else { "f64const" };
                w.def(ty, op, false, text)
            }
            Ty::I128 => {
                let low = self.constant(Ty::I64);
                self.w.cast(Ty::I128, "sextend", low)
            }
            _ => {
                let max = (1i128 << (ty.bits() - 1)) - 1;
                let n = match self.bytes.below(12) {
                    0 => i128::from(self.bytes.byte() & 7),
                    1 => 1,
                    2 => -1,
                    3 => max,
                    4 => -max - 1,
                    5 => i128::from(ty.bits()) - 1,
                    6 => i128::from(ty.bits()),
                    _ => i128::from(self.bytes.byte().cast_signed()),
                };
                w.def(ty, "iconst", true, &n.to_string())
            }
        }
    }

    /// A given integer constant.
    pub(super) fn int(&mut self, ty: Ty, n: i64) -> Val {
        self.w.def(ty, "iconst", true, &n.to_string())
    }

    /// A value of type `ty`: mostly one in scope, the latest likeliest.
    pub(super) fn value(&mut self, ty: Ty) -> Val {
        let of_type: Vec<Val> = self.w.pool.iter().copied().filter(|v| v.ty == ty).collect();
        if of_type.is_empty() || self.bytes.chance(30) {
            return self.constant(ty);
        }
        let recent = of_type.len().min(6);
        of_type[of_type.len() - 1 - self.bytes.below(recent)]
    }

    pub(super) fn int_type(&mut self) -> Ty {
        self.bytes
            .pick(&[Ty::I32, Ty::I32, Ty::I64, Ty::I8, Ty::I16, Ty::I32, Ty::I128])
    }

    pub(super) fn any_type(&mut self) -> Ty {
        self.bytes.pick(&Ty::ALL)
    }

    /// The value with its bits determined: a NaN of unknown bits becomes 0.
    pub(super) fn settled(&mut self, v: Val) -> Val {
        if !v.nan {
            return v;
        }
        let op = if v.ty == Ty::F32 { "f32const" } else { "f64const" };
        let zero = self.w.def(v.ty, op, false, "0.0");
        let is_nan = self.w.def(Ty::I8, "fcmp", false, &format!("uno {}", list(&[v, v])));
        self.w.ins(v.ty, "select", &[is_nan, zero, v])
    }

    /// One operation on values in scope.
    pub(super) fn operation(&mut self) {
        match self.bytes.below(16) {
            0..=5 => self.int_operation(),
            6..=8 => self.float_operation(),
            9 | 10 => self.conversion(),
            11 | 12 => self.choice(),
            13 => self.wide(),
            _ => {
                self.condition();
            }
        }
    }

    fn int_operation(&mut self) {
        let ty = self.int_type();
        if self.bytes.chance(60) {
            let ops = ["ineg", "bnot", "iabs", "popcnt", "clz", "ctz", "cls", "bitrev", "bswap"];
            let n = if ty == Ty::I8 { ops.len() - 1 } else { ops.len() };
            let op = self.bytes.pick(&ops[..n]);
            let a = self.value(ty);
            self.w.ins(ty, op, &[a]);
            return;
        }
        let ops = [
            "iadd", "isub", "imul", "bxor", "band", "bor", "smin", "smax", "umin", "umax", "ishl",
            "ushr", "sshr", "rotl", "rotr", "umulhi", "smulhi",
        ];
        // The interpreter has no 256-bit products.
        let n = if ty == Ty::I128 { ops.len() - 2 } else { ops.len() };
        let op = self.bytes.pick(&ops[..n]);
        let a = self.value(ty);
        let by = match op {
            "ishl" | "ushr" | "sshr" | "rotl" | "rotr" if self.bytes.chance(128) => self.int_type(),
            _ => ty,
        };
        let b = self.value(by);
        self.w.ins(ty, op, &[a, b]);
    }

    fn float_operation(&mut self) {
        let ty = self.bytes.pick(&[Ty::F32, Ty::F64]);
        let op = self.bytes.pick(&[
            "fadd", "fsub", "fmul", "fdiv", "fmin", "fmax", "fma", "fcopysign", "sqrt", "fneg",
            "fabs", "ceil", "floor", "trunc", "nearest",
        ]);
        let count = match op {
            "fma" => 3,
            "fadd" | "fsub" | "fmul" | "fdiv" | "fmin" | "fmax" | "fcopysign" => 2,
            _ => 1,
        };
        let mut args: Vec<Val> = (0..count).map(|_| self.value(ty)).collect();
        if op == "fcopysign" {
            // It looks at a sign.
            args[1] = self.settled(args[1]);
        }
        let v = self.w.ins(ty, op, &args);
        self.may_be_nan(v);
    }

    /// Marks a value just defined.
    fn may_be_nan(&mut self, v: Val) {
        if let Some(last) = self.w.pool.last_mut().filter(|last| last.id == v.id) {
            last.nan = true;
        }
    }

    fn conversion(&mut self) {
        match self.bytes.below(8) {
            0 | 1 => {
                let ladder = [Ty::I8, Ty::I16, Ty::I32, Ty::I64, Ty::I128];
                let (a, b) = (self.bytes.below(5), self.bytes.below(5));
                let (from, to) = (ladder[a], ladder[b]);
                let v = self.value(from);
                match a.cmp(&b) {
                    std::cmp::Ordering::Less => {
                        let op = self.bytes.pick(&["uextend", "sextend"]);
                        self.w.cast(to, op, v);
                    }
                    std::cmp::Ordering::Greater => {
                        self.w.cast(to, "ireduce", v);
                    }
                    std::cmp::Ordering::Equal => {
                        self.w.cast(to, "bmask", v);
                    }
                }
            }
            2 => {
                let pairs = [(Ty::I32, Ty::F32), (Ty::F32, Ty::I32), (Ty::I64, Ty::F64), (Ty::F64, Ty::I64)];
                let (from, to) = self.bytes.pick(&pairs);
                let v = self.value(from);
                let v = self.settled(v);
                self.w.cast(to, "bitcast", v);
            }
            3 => {
                let v = self.value(Ty::F32);
                let v = self.w.cast(Ty::F64, "fpromote", v);
                self.may_be_nan(v);
            }
            4 => {
                let v = self.value(Ty::F64);
                let v = self.w.cast(Ty::F32, "fdemote", v);
                self.may_be_nan(v);
            }
            5 => {
                let from = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I16, Ty::I8]);
                let to = self.bytes.pick(&[Ty::F32, Ty::F64]);
                let op = self.bytes.pick(&["fcvt_from_sint", "fcvt_from_uint"]);
                let v = self.value(from);
                self.w.cast(to, op, v);
            }
            6 => {
                let from = self.bytes.pick(&[Ty::F32, Ty::F64]);
                let to = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I16, Ty::I8]);
                let op = self.bytes.pick(&["fcvt_to_sint_sat", "fcvt_to_uint_sat"]);
                let v = self.value(from);
                self.w.cast(to, op, v);
            }
            _ => self.trapping_conversion(),
        }
    }

    /// A conversion that traps on what does not fit: of a small non-negative
    /// number, unless traps are asked for.
    fn trapping_conversion(&mut self) {
        let from = self.bytes.pick(&[Ty::F32, Ty::F64]);
        let to = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I16, Ty::I8]);
        let op = self.bytes.pick(&["fcvt_to_sint", "fcvt_to_uint"]);
        let v = if self.fires() {
            self.value(from)
        } else {
            let small = self.small();
            self.w.cast(from, "fcvt_from_uint", small)
        };
        self.w.cast(to, op, v);
    }

    fn choice(&mut self) {
        let ty = self.any_type();
        match self.bytes.below(4) {
            0 | 1 => {
                let c = self.condition();
                let (a, b) = (self.value(ty), self.value(ty));
                let op = self.bytes.pick(&["select", "select_spectre_guard"]);
                let v = self.w.ins(ty, op, &[c, a, b]);
                if a.nan || b.nan {
                    self.may_be_nan(v);
                }
            }
            2 => {
                let args = [(); 3].map(|()| {
                    let v = self.value(ty);
                    self.settled(v)
                });
                self.w.ins(ty, "bitselect", &args);
            }
            _ => {
                // A compare used as a number.
                let c = self.compare();
                let ty = self.bytes.pick(&[Ty::I32, Ty::I16, Ty::I64]);
                self.w.cast(ty, "uextend", c);
            }
        }
    }

    /// What has two results, or twice the width.
    fn wide(&mut self) {
        match self.bytes.below(4) {
            0 => {
                let v = self.value(Ty::I128);
                self.w.two([Ty::I64, Ty::I64], "isplit", &[v]);
            }
            1 => {
                let (a, b) = (self.value(Ty::I64), self.value(Ty::I64));
                self.w.ins(Ty::I128, "iconcat", &[a, b]);
            }
            2 => {
                let ty = self.bytes.pick(&[Ty::I32, Ty::I8, Ty::I16, Ty::I64]);
                let op = self.bytes.pick(&["uadd_overflow_cin", "usub_overflow_bin"]);
                let (a, b) = (self.value(ty), self.value(ty));
                let c = self.compare();
                self.w.two([ty, Ty::I8], op, &[a, b, c]);
            }
            _ => {
                let ty = self.bytes.pick(&[Ty::I32, Ty::I8, Ty::I16, Ty::I64]);
                let op = self.bytes.pick(&[
                    "uadd_overflow",
                    "sadd_overflow",
                    "usub_overflow",
                    "ssub_overflow",
                    "umul_overflow",
                    "smul_overflow",
                ]);
                let (a, b) = (self.value(ty), self.value(ty));
                self.w.two([ty, Ty::I8], op, &[a, b]);
            }
        }
    }

    /// The result of a comparison.
    fn compare(&mut self) -> Val {
        if self.bytes.chance(70) {
            let ty = self.bytes.pick(&[Ty::F32, Ty::F64]);
            let cc = self.bytes.pick(&[
                "lt", "ge", "eq", "ne", "ord", "uno", "one", "ueq", "le", "gt", "ult", "ule",
                "ugt", "uge",
            ]);
            let args = [self.value(ty), self.value(ty)];
            return self.w.def(Ty::I8, "fcmp", false, &format!("{cc} {}", list(&args)));
        }
        let ty = self.int_type();
        let args = [self.value(ty), self.value(ty)];
        self.icmp(&args)
    }

    fn icmp(&mut self, args: &[Val]) -> Val {
        let cc = self.bytes.pick(&[
            "slt", "ult", "eq", "ne", "sge", "uge", "sgt", "ugt", "sle", "ule",
        ]);
        self.w.def(Ty::I8, "icmp", false, &format!("{cc} {}", list(args)))
    }

    /// `icmp CC a, n`.
    pub(super) fn icmp_with(&mut self, cc: &str, a: Val, n: i64) -> Val {
        let n = self.int(a.ty, n);
        self.w.def(Ty::I8, "icmp", false, &format!("{cc} {}", list(&[a, n])))
    }

    /// A condition for a branch: any integer. Some split every warp, some none.
    pub(super) fn condition(&mut self) -> Val {
        match self.bytes.below(16) {
            // Data, from 0 to 15.
            0..=2 => {
                let small = self.small();
                let n = self.bytes.below(17) as i64;
                let cc = self.bytes.pick(&["ult", "ugt", "eq", "ne"]);
                self.icmp_with(cc, small, n)
            }
            // The position in the warp, known before anything runs.
            3 => {
                let bit = 1 << self.bytes.below(5);
                let bit = self.int(Ty::I32, bit);
                let tid = self.tid;
                self.w.ins(Ty::I32, "band", &[tid, bit])
            }
            4 => {
                let n = self.bytes.below(66) as i64;
                let tid = self.tid;
                self.icmp_with("ult", tid, n)
            }
            // The warp.
            5 => {
                let five = self.int(Ty::I32, 5);
                let tid = self.tid;
                let warp = self.w.ins(Ty::I32, "ushr", &[tid, five]);
                let one = self.int(Ty::I32, 1);
                self.w.ins(Ty::I32, "band", &[warp, one])
            }
            // The same everywhere.
            6 => {
                let n = self.bytes.below(10) as i64;
                let cc = self.bytes.pick(&["sgt", "sle", "eq"]);
                let scalar = self.scalar;
                self.icmp_with(cc, scalar, n)
            }
            7 => {
                let (a, b) = (self.compare(), self.compare());
                let op = self.bytes.pick(&["band", "bor", "bxor"]);
                self.w.ins(Ty::I8, op, &[a, b])
            }
            8 => {
                let c = self.compare();
                self.icmp_with("eq", c, 0)
            }
            9 => {
                let ty = self.int_type();
                self.value(ty)
            }
            10 if self.options.cross_lane => self.vote(),
            11 if self.bytes.chance(60) => self.int(Ty::I8, 1),
            _ => self.compare(),
        }
    }

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
    fn element(&mut self, base: Val, size: i64) -> Val {
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
        match self.bytes.below(8) {
            0 => {
                self.small();
            }
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
                    self.w.def(Ty::I32, op, true, &format!("{flags} v{}+{offset}", at.id));
                }
                1 => {
                    let op = self.bytes.pick(&["uload32", "sload32"]);
                    // The one opcode of the family whose result is always i64.
                    self.w.def(Ty::I64, op, false, &format!("{flags} v{}+{offset}", at.id));
                }
                _ => {
                    let ty = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I8, Ty::I16]);
                    self.w.def(ty, "load", true, &format!("{flags} v{}+{offset}", at.id));
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
        self.w.act(op, &format!("{flags} v{}, v{}+{offset}", v.id, at.id));
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
                self.w.act("store", &format!("notrap aligned v{}, v{}", v.id, at.id));
            }
            _ => {
                self.w.def(Ty::I32, "load", true, &format!("notrap aligned v{}", at.id));
            }
        }
    }

    /// The address of the lane's own 32 bytes of shared memory.
    fn shared_own(&mut self) -> Val {
        let base = self.shared_base();
        let tid = self.tid;
        self.address(base, tid, 32)
    }

    pub(super) fn shared_base(&mut self) -> Val {
        self.w
            .call("shared_base", &[], Some(Ty::I64))
            .expect("a call with a result yields one")
    }

    /// Whether the next check fires in some lanes.
    pub(super) fn fires(&mut self) -> bool {
        let fires = self.options.traps && self.bytes.chance(100);
        if fires {
            self.w.coverage.shape("fires");
        }
        fires
    }

    /// A division: by a constant, or by what is never 0 (or, where traps are
    /// asked for, may be).
    pub(super) fn division(&mut self) {
        let ty = self.int_type();
        let op = self.bytes.pick(&["udiv", "sdiv", "urem", "srem"]);
        let a = self.value(ty);
        let by_constant = ty != Ty::I128 && self.bytes.chance(128);
        if by_constant {
            self.w.coverage.shape("div-constant");
            let n = self.bytes.pick(&[3, 1, 2, 7, 100, 16]);
            let d = self.int(ty, n);
            self.w.ins(ty, op, &[a, d]);
            return;
        }
        let d = self.value(ty);
        if self.fires() {
            self.w.ins(ty, op, &[a, d]);
            return;
        }
        self.w.coverage.shape("div-bare");
        let d = self.divisor(d);
        let one = self.small_constant(ty, 1);
        let d = self.w.ins(ty, "bor", &[d, one]);
        self.w.ins(ty, op, &[a, d]);
    }

    /// A divisor that is not negative, so that no quotient overflows.
    pub(super) fn divisor(&mut self, d: Val) -> Val {
        let mask = self.small_constant(d.ty, 0x7f);
        self.w.ins(d.ty, "band", &[d, mask])
    }

    /// A constant that fits every integer type.
    fn small_constant(&mut self, ty: Ty, n: i64) -> Val {
        match ty {
            Ty::I128 => {
                let n = self.int(Ty::I64, n);
                self.w.cast(Ty::I128, "uextend", n)
            }
            _ => self.int(ty, n),
        }
    }

    /// A vote's result, or something else that lanes tell each other.
    fn vote(&mut self) -> Val {
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
        self.w.coverage.shape("barrier");
        let base = self.shared_base();
        // Behind the lanes' own bytes.
        let past = self.int(Ty::I64, 32 * i64::from(self.threads));
        let base = self.w.ins(Ty::I64, "iadd", &[base, past]);
        let tid = self.tid;
        let own = self.address(base, tid, 4);
        let v = self.value(Ty::I32);
        self.w.act("store", &format!("aligned v{}, v{}", v.id, own.id));
        self.w.call("barrier", &[], None);
        let one = self.int(Ty::I32, 1);
        let next = self.w.ins(Ty::I32, "iadd", &[tid, one]);
        let threads = self.int(Ty::I32, i64::from(self.threads));
        let next = self.w.ins(Ty::I32, "urem", &[next, threads]);
        let at = self.address(base, next, 4);
        self.w.def(Ty::I32, "load", true, &format!("aligned v{}", at.id));
        self.w.call("barrier", &[], None);
    }
}
