//! The page of the book about CLIF: what of it is read, and how.

use std::fmt::Write;

use cranelift_codegen::ir::Opcode as Clif;

use crate::libcalls;
use crate::opmap::{Rule, rule};

/// The page of the book: every CLIF opcode and what becomes of it.
pub fn coverage_page() -> String {
    let mut page = String::from(
        "# What of CLIF is read\n\n\
         This page is rendered from the table in `crates/clif/src/opmap.rs`; after a change there,\n\
         `BLESS=1 cargo test -p warpfold-clif` writes it anew.\n\n\
         Text is read with Cranelift's own reader, several functions to a file, with or without the\n\
         `test` headers of its filetests, and checked by Cranelift's own verifier (without a target).\n\
         It is the CLIF of Cranelift 0.135, which has no `_imm` opcodes.\n\
         What is not supported is refused with the opcode, the line and the reason; all such places of\n\
         a file are reported at once.\n\n\
         **Types.** `i8` to `i128`, `f16`, `f32`, `f64`. Vectors and `f128` are refused.\n\n\
         **Truth values.** CLIF's compares yield an `i8` that is 0 or 1. Here they are `pred`, and so\n\
         are `band`, `bor`, `bxor`, `select`, integer extensions and block parameters of them where a\n\
         condition depends on them; `icmp eq x, 0` and `bxor x, 1` of such a value is `not`. `bint`\n\
         makes the integer where one is used as such, once in each block that does. (`bnot` of a truth\n\
         value is never 0, so it is no logical negation and is computed on integers.) Any other integer\n\
         used as a condition is compared with 0. Bitwise logic on floats goes by way of `bitcast`s.\n\n\
         **Parameters** are uniform across the grid unless the launch says otherwise; extension\n\
         attributes and calling conventions mean nothing here. One marked `vmctx` or `sret` is a pointer\n\
         like any other: who calls or launches the function passes it, in its place among the others. (So\n\
         does Cranelift: a run line gives it as an argument.) `sarg`, a struct that the call copies, is\n\
         refused. A `stack_limit` is not looked at: the executor has a limit of its own. Addresses have\n\
         the width of the target's pointers. Alias regions and source locations are ignored.\n\n\
         **Local memory**: the stack slots of a function take at most 16 MiB together, as much local memory as the\n\
         executor gives a lane.\n\n\
         **Memory flags** keep their meaning: `aligned` demands alignment, `big` turns the bytes round, a\n\
         trap code takes the place of `heap_oob`. `notrap` is a promise that is checked: an access that\n\
         fails traps in any case.\n\n\
         **Where Cranelift's interpreter says otherwise**, CLIF's documentation is followed:\n\n\
         - `sadd_overflow_cin` and `ssub_overflow_bin` tell whether the sum or difference of all three\n  \
           operands fits. The interpreter also reports an overflow that the carry takes back, as in\n  \
           `-128 + -1 + 1` on `i8`.\n\
         - `fcvt_to_uint` and `fcvt_to_uint_sat` to `i128` take the whole range. The interpreter goes by way\n  \
           of a signed number: from 2^127 on it saturates there.\n\
         - `fcvt_to_sint` to `i128` traps where the number does not fit; the interpreter saturates. (For these\n  \
           three Cranelift's own `i128-conversion.clif`, which no backend runs, asks for 2^127 - 1 where the\n  \
           number is 2^128 - 2^104, as the interpreter has it. `warpfold test` runs those lines against the\n  \
           documentation and calls them *contradicted*.)\n\
         - `srem` of the least number by -1 is 0, as in Cranelift's native code; the interpreter traps with\n  \
           `int_ovf`.\n\
         - `isplit` of `i64` yields two `i32`; the interpreter gives the whole number for both halves.\n\
         - `fcmp` of `f16` compares numbers; the interpreter orders them wrongly, or gives up.\n\
         - An atomic access demands alignment to its width even without `aligned`, as every GPU does (and\n  \
           AArch64). CLIF leaves this to the target; the interpreter demands it only with the flag.\n\n\
         **What other implementations do not have** is computed here all the same:\n\n\
         - Neither the interpreter nor the code for x86-64 has arithmetic on `f16`, its conversions, or\n  \
           bitwise logic of it. They round and trap like those of the other floats.\n\
         - The interpreter has no `umulhi` and `smulhi` of `i128`, no `iconcat` to less than `i128` and no\n  \
           `isplit` of `i16` and `i32`.\n\
         - The code for x86-64 lacks `iconcat` and `isplit` but for `i128`; carries into an addition and\n  \
           borrows out of a subtraction; division, high multiplies, minimum and maximum of `i128`;\n  \
           conversions between floats and `i128`, and of floats to `i8` and `i16`; and big-endian accesses.\n\n\
         **Functions** of a file call each other, by name or by address. Who is called must stand in the\n\
         file, with the types that the caller declares; an [intrinsic](intrinsics.md) is no function and\n\
         has no address.\n\n\
         **Exceptions.** Nothing can throw: CLIF has no opcode that does (it is the embedder's runtime, by\n\
         way of machine registers), and a warp has no unwinding. So `try_call` is a call that always goes on\n\
         at its normal destination, with `retN` the call's results; its handlers are dropped, and with them\n\
         blocks that only they reach.\n\n\
         **Libcalls**, routines that Cranelift expects of the embedder, are taken by their names where an\n\
         opcode computes the same: a `call` becomes that opcode. For their address, and other calls of them, a\n\
         function of that name comes along whose body is the opcode.\n\n\
         **Stack slots** lie apart, so that a lane which runs off one traps. Only where a `stack_addr` is\n\
         not of a byte in its slot, against CLIF's documentation but not its verifier, do all slots of the\n\
         function lie in one frame, in order. For a target of 32 bits `stack_addr` and addresses may also\n\
         have 64.\n\n\
         **Blocks** keep their numbers and their order; blocks that no path from the entry reaches are\n\
         dropped. Values are renumbered.\n\n\
         | CLIF | becomes |\n\
         |---|---|\n",
    );
    for &op in Clif::all() {
        // Writing to a String cannot fail.
        let _ = match rule(op) {
            Rule::Direct(ir) => writeln!(page, "| `{op}` | `{ir}` |"),
            Rule::Arm(text) => writeln!(page, "| `{op}` | {text} |"),
            Rule::Refused(why) => writeln!(page, "| `{op}` | *refused*: {why} |"),
        };
    }
    page.push('\n');
    page += &libcalls::table();
    page
}
