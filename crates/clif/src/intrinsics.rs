//! What CLIF has no opcode for: SIMT intrinsics and math functions, written as calls to
//! imported functions with fixed names.
//!
//! ```text
//! fn0 = %tid_x() -> i32
//! fn1 = %ballot(i8) -> i32
//! ```
//!
//! [`INTRINSICS`] is the one table of them. Checking a declaration, lowering
//! a call and the page of the book ([`intrinsics_page`]) all read it. The
//! names are matched exactly; a signature must be the stated one (calling
//! convention and extension attributes do not matter).

use std::fmt::Write;

use cranelift_codegen::ir::{self as clif, types};
use warpfold_ir::Opcode;

/// What a parameter or result of an intrinsic must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// `i8`, a truth value: any nonzero number is true; results are 0 or 1.
    Truth,
    /// `i32`.
    I32,
    /// The integer as wide as a pointer.
    Pointer,
    /// `f16`.
    F16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// Any scalar integer or float; the same wherever it stands in a signature.
    Any,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Intrinsic {
    /// The imported function's name, without the `%`.
    pub name: &'static str,
    /// Its parameters. Those that the instruction [may lack](warpfold_ir::Shape::optional)
    /// may be missing in a declaration.
    pub params: &'static [Slot],
    /// Its result, if it has one.
    pub result: Option<Slot>,
    /// The instruction that a call becomes. Its doc line is the meaning.
    pub opcode: Opcode,
}

macro_rules! intrinsics {
    ($($name:ident ($($param:ident),*) $(-> $result:ident)? = $op:ident;)*) => {
        /// Every intrinsic.
        pub static INTRINSICS: &[Intrinsic] = &[$(Intrinsic {
            name: stringify!($name),
            params: &[$(Slot::$param),*],
            result: intrinsics!(@ $($result)?),
            opcode: Opcode::$op,
        }),*];
    };
    (@) => { None };
    (@ $result:ident) => { Some(Slot::$result) };
}

intrinsics! {
    lane_id() -> I32 = LaneId;
    warp_id() -> I32 = WarpId;
    tid_x() -> I32 = TidX;
    tid_y() -> I32 = TidY;
    tid_z() -> I32 = TidZ;
    ctaid_x() -> I32 = CtaidX;
    ctaid_y() -> I32 = CtaidY;
    ctaid_z() -> I32 = CtaidZ;
    ntid_x() -> I32 = NtidX;
    ntid_y() -> I32 = NtidY;
    ntid_z() -> I32 = NtidZ;
    nctaid_x() -> I32 = NctaidX;
    nctaid_y() -> I32 = NctaidY;
    nctaid_z() -> I32 = NctaidZ;
    ballot(Truth) -> I32 = Ballot;
    vote_any(Truth) -> Truth = VoteAny;
    vote_all(Truth) -> Truth = VoteAll;
    shfl_idx(Any, I32) -> Any = ShflIdx;
    shfl_up(Any, I32) -> Any = ShflUp;
    shfl_down(Any, I32) -> Any = ShflDown;
    shfl_bfly(Any, I32) -> Any = ShflBfly;
    read_first(Any) -> Any = ReadFirst;
    active_mask() -> I32 = ActiveMask;
    barrier() = Barrier;
    warp_sync(I32) = WarpSync;
    shared_base() -> Pointer = SharedBase;
    sin(F64) -> F64 = Sin;
    sinf(F32) -> F32 = Sin;
    sinf16(F16) -> F16 = Sin;
    cos(F64) -> F64 = Cos;
    cosf(F32) -> F32 = Cos;
    cosf16(F16) -> F16 = Cos;
    tan(F64) -> F64 = Tan;
    tanf(F32) -> F32 = Tan;
    tanf16(F16) -> F16 = Tan;
    exp(F64) -> F64 = Exp;
    expf(F32) -> F32 = Exp;
    expf16(F16) -> F16 = Exp;
    exp2(F64) -> F64 = Exp2;
    exp2f(F32) -> F32 = Exp2;
    exp2f16(F16) -> F16 = Exp2;
    log(F64) -> F64 = Log;
    logf(F32) -> F32 = Log;
    logf16(F16) -> F16 = Log;
    log2(F64) -> F64 = Log2;
    log2f(F32) -> F32 = Log2;
    log2f16(F16) -> F16 = Log2;
    pow(F64, F64) -> F64 = Pow;
    powf(F32, F32) -> F32 = Pow;
    powf16(F16, F16) -> F16 = Pow;
    rsqrt(F64) -> F64 = Rsqrt;
    rsqrtf(F32) -> F32 = Rsqrt;
    rsqrtf16(F16) -> F16 = Rsqrt;
    atan2(F64, F64) -> F64 = Atan2;
    atan2f(F32, F32) -> F32 = Atan2;
    atan2f16(F16, F16) -> F16 = Atan2;
    tanh(F64) -> F64 = Tanh;
    tanhf(F32) -> F32 = Tanh;
    tanhf16(F16) -> F16 = Tanh;
}

impl Intrinsic {
    /// The row called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        INTRINSICS.iter().find(|i| i.name == name)
    }

    /// The signature as text, `T` standing for any scalar number type.
    pub fn signature(&self, pointer: clif::Type) -> String {
        self.render(&|slot| match slot {
            Slot::Truth => "i8".into(),
            Slot::I32 => "i32".into(),
            Slot::Pointer => pointer.to_string(),
            Slot::F16 => "f16".into(),
            Slot::F32 => "f32".into(),
            Slot::F64 => "f64".into(),
            Slot::Any => "T".into(),
        })
    }

    /// Parameters that no declaration may lack.
    fn required(&self) -> usize {
        self.params.len() - self.opcode.shape().optional()
    }

    fn render(&self, slot: &dyn Fn(Slot) -> String) -> String {
        let params: Vec<_> = self.params.iter().map(|&p| slot(p)).collect();
        let mut text = format!("({})", params.join(", "));
        if self.required() < params.len() {
            text = format!("({}) or {text}", params[..self.required()].join(", "));
        }
        if let Some(result) = self.result {
            text += " -> ";
            text += &slot(result);
        }
        text
    }

    /// Whether `sig` is this intrinsic's signature.
    pub fn accepts(&self, sig: &clif::Signature, pointer: clif::Type) -> bool {
        let mut any = None;
        let mut fits = |slot: Slot, param: &clif::AbiParam| {
            let ty = param.value_type;
            let fits = match slot {
                Slot::Truth => ty == types::I8,
                Slot::I32 => ty == types::I32,
                Slot::Pointer => ty == pointer,
                Slot::F16 => ty == types::F16,
                Slot::F32 => ty == types::F32,
                Slot::F64 => ty == types::F64,
                Slot::Any => crate::opmap::lane_type(ty).is_ok() && *any.get_or_insert(ty) == ty,
            };
            fits && param.purpose == clif::ArgumentPurpose::Normal
        };
        let lacks = self.params.len().checked_sub(sig.params.len());
        lacks.is_some_and(|n| n == 0 || n == self.opcode.shape().optional())
            && sig.returns.len() == usize::from(self.result.is_some())
            && self
                .params
                .iter()
                .zip(&sig.params)
                .all(|(&s, p)| fits(s, p))
            && self
                .result
                .iter()
                .zip(&sig.returns)
                .all(|(&s, p)| fits(s, p))
    }
}

/// The intrinsics' names closest to `name`, best first, at most three: those
/// it is part of (or that are part of it), and those a few typing errors away.
pub fn near(name: &str) -> Vec<&'static str> {
    let mut ranked: Vec<(usize, &'static str)> = INTRINSICS
        .iter()
        .filter_map(|i| {
            let part = name.len() >= 3 && (i.name.contains(name) || name.contains(i.name));
            let distance = if part { 1 } else { edit_distance(name, i.name) };
            (distance <= (i.name.len() + 1) / 3).then_some((distance, i.name))
        })
        .collect();
    ranked.sort_by_key(|&(distance, _)| distance);
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein distance, of names short enough to be worth it.
fn edit_distance(a: &str, b: &str) -> usize {
    if a.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(!x.eq_ignore_ascii_case(&y));
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The page of the book: every intrinsic with signature and meaning.
pub fn intrinsics_page() -> String {
    let mut page = String::from(
        "# Intrinsics in CLIF\n\n\
         This page is rendered from the table in `crates/clif/src/intrinsics.rs`; after a change there,\n\
         `BLESS=1 cargo test -p warpfold-clif` writes it anew.\n\n\
         CLIF has no opcodes for what a lane can ask of its warp, block and grid, nor for sines and their\n\
         like. They are calls to imported functions with the names below, declared in the function's\n\
         preamble:\n\n\
         ```text\n\
         function %kernel(i64) {\n    \
             fn0 = %lane_id() -> i32\n    \
             fn1 = %ballot(i8) -> i32\n\
         block0(v0: i64):\n    \
             v1 = call fn0()\n    \
             ...\n\
         ```\n\n\
         `T` is any scalar type, `i8` to `i128`, `f16`, `f32` or `f64`: one declaration for each type used.\n\
         An `i8` is a truth value: any nonzero number is true, results are 0 or 1. `ptr` is `i64`,\n\
         or `i32` where the target's pointers have 32 bits. *Participating* lanes are those that\n\
         execute the call together.\n\n\
         The math functions have C's names: no suffix for `f64`, `f` for `f32`; and `f16` for half\n\
         precision, where the `f32` result is rounded. They come from the `libm` crate, so their bits are\n\
         the same on every platform. Like those of GPUs they are not always rounded to nearest:\n\
         `%atan2f(+Inf, 0x1.0)` is `0x1.921fb4p0`, one unit in the last place below half of pi. They are pure,\n\
         never trap, and cost what the class `math` (`math64` on `f64`) costs.\n\n\
         | intrinsic | instruction | meaning |\n\
         |---|---|---|\n",
    );
    for i in INTRINSICS {
        let signature = i.render(&|slot| {
            match slot {
                Slot::Truth => "i8",
                Slot::I32 => "i32",
                Slot::Pointer => "ptr",
                Slot::F16 => "f16",
                Slot::F32 => "f32",
                Slot::F64 => "f64",
                Slot::Any => "T",
            }
            .into()
        });
        let info = i.opcode.info();
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| `%{}{signature}` | `{}` | {} |",
            i.name, info.mnemonic, info.doc
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_ir::{Operand, ResultType, TypeSet};

    /// The table's slots agree with the shape of the opcode they become.
    #[test]
    fn rows_fit_their_opcodes() {
        for i in INTRINSICS {
            let shape = i.opcode.shape();
            let pred = shape.types().only() == Some(warpfold_ir::Type::Pred);
            // A math function has a row for each float type.
            let own = match shape.types() {
                TypeSet::Float if i.name.ends_with("f16") => Slot::F16,
                TypeSet::Float if i.name.ends_with('f') => Slot::F32,
                TypeSet::Float => Slot::F64,
                _ => Slot::Any,
            };
            let expected: Vec<Slot> = shape
                .operands()
                .iter()
                .map(|o| match o {
                    Operand::Same if pred => Slot::Truth,
                    Operand::Same => own,
                    Operand::Pred => Slot::Truth,
                    Operand::I32 => Slot::I32,
                    other => panic!("{}: {other:?}", i.name),
                })
                .collect();
            assert_eq!(i.params, expected, "{}", i.name);
            let result = match (shape.result(), shape.types().only()) {
                (ResultType::None, _) => None,
                (_, Some(warpfold_ir::Type::Pred)) => Some(Slot::Truth),
                (_, Some(_)) => Some(Slot::I32),
                _ if i.opcode == Opcode::SharedBase => Some(Slot::Pointer),
                _ => Some(own),
            };
            assert_eq!(i.result, result, "{}", i.name);
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = INTRINSICS.iter().map(|i| i.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), INTRINSICS.len());
    }

    #[test]
    fn near_names() {
        assert_eq!(near("laneid"), ["lane_id"]);
        assert_eq!(near("shuffle_idx"), ["shfl_idx"]);
        assert_eq!(near("shfl"), ["shfl_idx", "shfl_up", "shfl_down"]);
        assert_eq!(near("Ballot"), ["ballot"]);
        assert!(near("memcpy").is_empty());
        assert!(near(&"x".repeat(1000)).is_empty());
    }
}
