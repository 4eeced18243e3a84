//! What CLIF's documentation asks for where no peer gives it, worked out here.

use cranelift_codegen::ir::Opcode;

use super::cases::Case;
use super::inputs::width;
use super::peers::End;

/// What the function must yield, of the operations that need it.
pub fn expected(case: &Case, input: &[u128]) -> Option<End> {
    let one = |bits: u128| End::Values(vec![bits]);
    let ty = *case.params.first()?;
    Some(match case.op {
        Opcode::Umulhi if ty == "i128" => one(high(input[0], input[1])),
        Opcode::Smulhi if ty == "i128" => {
            // A negative factor counts 2^128 too much of the other.
            let [a, b] = [input[0], input[1]];
            let excess = |a: u128, b: u128| if a >> 127 == 1 { b } else { 0 };
            one(high(a, b)
                .wrapping_sub(excess(a, b))
                .wrapping_sub(excess(b, a)))
        }
        Opcode::Isplit => {
            let half = width(ty) / 2;
            let high = input[0] >> half;
            End::Values(vec![input[0] ^ high << half, high])
        }
        Opcode::Iconcat => one(input[0] | input[1] << width(ty)),
        Opcode::Srem if input[1] == u128::MAX >> (128 - width(ty)) => one(0),
        Opcode::SaddOverflowCin | Opcode::SsubOverflowBin => carried(case.op, width(ty), input),
        Opcode::FcvtToUint | Opcode::FcvtToSint | Opcode::FcvtToUintSat
            if case.results == ["i128"] =>
        {
            let x = match ty {
                "f32" => f64::from(f32::from_bits(input[0] as u32)),
                "f64" => f64::from_bits(input[0] as u64),
                _ => return None,
            };
            to_wide(case.op, x)
        }
        // What is at an odd address has no more than a byte, or traps.
        Opcode::AtomicLoad | Opcode::AtomicStore | Opcode::AtomicRmw | Opcode::AtomicCas
            if case.label.ends_with("+1") && ty != "i8" =>
        {
            End::Trap("heap_misaligned".to_owned())
        }
        _ => return None,
    })
}

/// The upper half of a product, by halves of the factors.
fn high(a: u128, b: u128) -> u128 {
    let low = u128::from(u64::MAX);
    let middle = (a >> 64) * (b & low) + (((a & low) * (b & low)) >> 64);
    let other = (a & low) * (b >> 64) + (middle & low);
    (a >> 64) * (b >> 64) + (middle >> 64) + (other >> 64)
}

/// Sum or difference of three, and whether it fits.
fn carried(op: Opcode, width: u32, input: &[u128]) -> End {
    let signed = |bits: u128| bits.cast_signed() << (128 - width) >> (128 - width);
    let [a, b] = [signed(input[0]), signed(input[1])];
    let carry = i128::from(input[2] != 0);
    let ((some, first), second) = match op {
        Opcode::SaddOverflowCin => (a.overflowing_add(b), i128::overflowing_add as fn(_, _) -> _),
        _ => (a.overflowing_sub(b), i128::overflowing_sub as fn(_, _) -> _),
    };
    let (all, second): (i128, bool) = second(some, carry);
    // Leaving 128 bits twice, in opposite directions, is to stay within them.
    let fits = first == second && signed(all.cast_unsigned()) == all;
    let bits = all.cast_unsigned() & u128::MAX >> (128 - width);
    End::Values(vec![bits, u128::from(!fits)])
}

/// A float as `i128`.
pub fn to_wide(op: Opcode, x: f64) -> End {
    let two_127 = 2f64.powi(127);
    let fits = match op {
        Opcode::FcvtToSint => (-two_127..two_127).contains(&x),
        _ => x > -1.0 && x < 2.0 * two_127,
    };
    match op {
        Opcode::FcvtToUintSat => End::Values(vec![x as u128]),
        Opcode::FcvtToSintSat => End::Values(vec![(x as i128).cast_unsigned()]),
        _ if x.is_nan() => End::Trap("bad_toint".to_owned()),
        _ if !fits => End::Trap("int_ovf".to_owned()),
        Opcode::FcvtToSint => End::Values(vec![(x as i128).cast_unsigned()]),
        _ => End::Values(vec![x as u128]),
    }
}
