//! Values, and operations on them.

use super::Generator;
use super::writer::{Ty, Val, list};

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
                let op = if ty == Ty::F32 {
                    "f32const"
                } else {
                    "f64const"
                };
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
        if of_type.is_empty() && self.bytes.chance(200) {
            return self.derived(ty);
        }
        if of_type.is_empty() || self.bytes.chance(20) {
            return self.constant(ty);
        }
        let recent = of_type.len().min(6);
        of_type[of_type.len() - 1 - self.bytes.below(recent)]
    }

    /// A value that differs between lanes, of a type that none in scope has.
    fn derived(&mut self, ty: Ty) -> Val {
        let varying = self.varying;
        match ty {
            Ty::I64 => varying,
            Ty::I8 | Ty::I16 | Ty::I32 => self.w.cast(ty, "ireduce", varying),
            Ty::I128 => self.w.cast(ty, "sextend", varying),
            Ty::F32 | Ty::F64 => self.w.cast(ty, "fcvt_from_sint", varying),
        }
    }

    /// Two values, if possible not one twice.
    pub(super) fn pair(&mut self, ty: Ty) -> [Val; 2] {
        let (a, b) = (self.value(ty), self.value(ty));
        match a.id == b.id {
            true => [a, self.constant(ty)],
            false => [a, b],
        }
    }

    pub(super) fn int_type(&mut self) -> Ty {
        self.bytes.pick(&[
            Ty::I32,
            Ty::I32,
            Ty::I64,
            Ty::I8,
            Ty::I16,
            Ty::I32,
            Ty::I128,
        ])
    }

    pub(super) fn any_type(&mut self) -> Ty {
        self.bytes.pick(&Ty::ALL)
    }

    /// The value with its bits determined: a NaN of unknown bits becomes 0.
    pub(super) fn settled(&mut self, v: Val) -> Val {
        if !v.nan {
            return v;
        }
        let op = if v.ty == Ty::F32 {
            "f32const"
        } else {
            "f64const"
        };
        let zero = self.w.def(v.ty, op, false, "0.0");
        let is_nan = self
            .w
            .def(Ty::I8, "fcmp", false, &format!("uno {}", list(&[v, v])));
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
            let ops = [
                "ineg", "bnot", "iabs", "popcnt", "clz", "ctz", "cls", "bitrev", "bswap",
            ];
            let n = if ty == Ty::I8 {
                ops.len() - 1
            } else {
                ops.len()
            };
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
        let n = if ty == Ty::I128 {
            ops.len() - 2
        } else {
            ops.len()
        };
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
            "fadd",
            "fsub",
            "fmul",
            "fdiv",
            "fmin",
            "fmax",
            "fma",
            "fcopysign",
            "sqrt",
            "fneg",
            "fabs",
            "ceil",
            "floor",
            "trunc",
            "nearest",
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
    pub(super) fn may_be_nan(&mut self, v: Val) {
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
                let pairs = [
                    (Ty::I32, Ty::F32),
                    (Ty::F32, Ty::I32),
                    (Ty::I64, Ty::F64),
                    (Ty::F64, Ty::I64),
                ];
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
}
