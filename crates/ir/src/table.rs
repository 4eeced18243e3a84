//! The opcode table. Everything that depends on the set of opcodes derives
//! from it: the enum, text in both directions, verification, the scalar
//! evaluator, the executor's loops, costs and the opcode page of the book.
//!
//! A row reads `Variant "mnemonic" Shape CostClass "meaning", semantics;`.
//! The [`Shape`](crate::Shape) fixes operand and result types and effects.
//! For lane-wise shapes the semantics is a closure over one lane in the
//! vocabulary of [`lane`](crate::lane); it is instantiated per lane type, so
//! it must not name one; for `AtomicRmw` one of what is in memory and the
//! operand to what is left there. For `Load` and `Store` it is `(bytes, signed)` of the
//! memory access, 0 bytes meaning the value's own width. Other shapes have
//! arms of their own in the executor and give `()`.

/// Calls `$callback! { [context] rows… }` with the whole opcode table.
#[macro_export]
macro_rules! for_each_opcode {
    ($callback:path $(, $ctx:tt)?) => {
        $callback! {
            [$($ctx)?]
            Const "const" Const Const "The same number in every lane; costs nothing.", ();
            Poison "poison" Poison Const "No value: must not decide, address, be stored, returned or communicated in an active lane.", ();
            StackAddr "stack_addr" StackAddr Const "Address of a stack slot in the lane's own local memory.", ();
            SharedBase "shared_base" SharedBase Const "Address of the block's shared memory.", ();
            FuncAddr "func_addr" FuncAddr Const "Address of a function, for indirect calls.", ();

            Copy "copy" Copy Alu "The operand itself.", ();
            Iadd "iadd" Int2 Alu "Wrapping sum.", |a, b| a.wrapping_add(b);
            Isub "isub" Int2 Alu "Wrapping difference.", |a, b| a.wrapping_sub(b);
            Imul "imul" Int2 Mul "Wrapping product.", |a, b| a.wrapping_mul(b);
            Umulhi "umulhi" Int2 Mul "High half of the unsigned product.", |a, b| a.umulhi(b);
            Smulhi "smulhi" Int2 Mul "High half of the signed product.", |a, b| a.smulhi(b);
            Udiv "udiv" IntDiv Div "Unsigned quotient; traps on a zero divisor.", |a, b| Int::udiv(a, b);
            Sdiv "sdiv" IntDiv Div "Signed quotient; traps on a zero divisor and on overflow.", |a, b| a.sdiv(b);
            Urem "urem" IntDiv Div "Unsigned remainder; traps on a zero divisor.", |a, b| Int::urem(a, b);
            Srem "srem" IntDiv Div "Signed remainder; traps on a zero divisor.", |a, b| a.srem(b);
            Umin "umin" Int2 Alu "Unsigned minimum.", |a, b| a.min(b);
            Umax "umax" Int2 Alu "Unsigned maximum.", |a, b| a.max(b);
            Smin "smin" Int2 Alu "Signed minimum.", |a, b| a.smin(b);
            Smax "smax" Int2 Alu "Signed maximum.", |a, b| a.smax(b);
            Ineg "ineg" Int1 Alu "Wrapping negation.", |a| a.neg();
            Iabs "iabs" Int1 Alu "Wrapping absolute value.", |a| a.abs();
            Band "band" Int2 Alu "Bitwise and.", |a, b| a & b;
            Bor "bor" Int2 Alu "Bitwise or.", |a, b| a | b;
            Bxor "bxor" Int2 Alu "Bitwise exclusive or.", |a, b| a ^ b;
            BandNot "band_not" Int2 Alu "Bitwise `a & !b`.", |a, b| a & !b;
            BorNot "bor_not" Int2 Alu "Bitwise `a | !b`.", |a, b| a | !b;
            BxorNot "bxor_not" Int2 Alu "Bitwise `a ^ !b`.", |a, b| a ^ !b;
            Bnot "bnot" Int1 Alu "Bitwise not.", |a| !a;
            Ishl "ishl" Shift Alu "Shift left; the amount is taken modulo the width.", |a, n| a.wrapping_shl(n);
            Ushr "ushr" Shift Alu "Logical shift right; the amount is taken modulo the width.", |a, n| a.wrapping_shr(n);
            Sshr "sshr" Shift Alu "Arithmetic shift right; the amount is taken modulo the width.", |a, n| a.sshr(n);
            Rotl "rotl" Shift Alu "Rotate left.", |a, n| a.rotate_left(n);
            Rotr "rotr" Shift Alu "Rotate right.", |a, n| a.rotate_right(n);
            Clz "clz" Int1 Alu "Leading zero bits.", |a| Int::wrap(u128::from(a.leading_zeros()));
            Ctz "ctz" Int1 Alu "Trailing zero bits.", |a| Int::wrap(u128::from(a.trailing_zeros()));
            Cls "cls" Int1 Alu "Leading bits equal to the sign, the sign itself not counted.", |a| a.cls();
            Popcnt "popcnt" Int1 Alu "Number of one bits.", |a| Int::wrap(u128::from(a.count_ones()));
            Bitrev "bitrev" Int1 Alu "Bits in reverse order.", |a| a.reverse_bits();
            Bswap "bswap" Int1 Alu "Bytes in reverse order.", |a| a.swap_bytes();
            Uextend "uextend" Extend Alu "Zero-extended to a wider integer.", |a| Int::wrap(a.zext());
            Sextend "sextend" Extend Alu "Sign-extended to a wider integer.", |a| Int::wrap(a.sext() as u128);
            Ireduce "ireduce" Reduce Alu "The low bits, as a narrower integer.", |a| Int::wrap(a.zext());
            Bint "bint" PredToInt Alu "1 where the predicate holds, else 0.", ();
            Bitcast "bitcast" Bitcast Alu "The same bits as another type of the same width.", ();
            Select "select" Select Select "The second operand where the first holds, else the third.", ();

            Fadd "fadd" Float2 Fp "Sum.", |a, b| a + b;
            Fsub "fsub" Float2 Fp "Difference.", |a, b| a - b;
            Fmul "fmul" Float2 Fp "Product.", |a, b| a * b;
            Fdiv "fdiv" Float2 FpDiv "Quotient.", |a, b| a / b;
            Fma "fma" Float3 Fp "`a * b + c`, rounded once.", |a, b, c| a.fused(b, c);
            Fneg "fneg" Float1 Fp "Sign flipped, also of a NaN.", |a| a.negate();
            Fabs "fabs" Float1 Fp "Sign cleared, also of a NaN.", |a| a.absolute();
            Fcopysign "fcopysign" Float2 Fp "The first operand with the sign of the second.", |a, b| a.with_sign_of(b);
            Fmin "fmin" Float2 Fp "Minimum; NaN if either is; -0.0 below 0.0.", |a, b| a.least(b);
            Fmax "fmax" Float2 Fp "Maximum; NaN if either is; 0.0 above -0.0.", |a, b| a.greatest(b);
            Sqrt "sqrt" Float1 FpDiv "Square root.", |a| a.root();
            Ceil "ceil" Float1 Fp "Rounded up.", |a| a.round_up();
            Floor "floor" Float1 Fp "Rounded down.", |a| a.round_down();
            Trunc "trunc" Float1 Fp "Rounded toward zero.", |a| a.round_zero();
            Nearest "nearest" Float1 Fp "Rounded to nearest, ties to even.", |a| a.round_even();
            Fpromote "fpromote" Promote Fp "Widened to a wider float.", |a| Float::narrow(a.widen());
            Fdemote "fdemote" Demote Fp "Rounded to a narrower float, once.", |a| Float::narrow(a.widen());
            FcvtFromUint "fcvt_from_uint" IntToFloat Fp "Rounded from an unsigned integer.", |a| Float::from_unsigned(a.zext());
            FcvtFromSint "fcvt_from_sint" IntToFloat Fp "Rounded from a signed integer.", |a| Float::from_signed(a.sext());
            FcvtToUint "fcvt_to_uint" FloatToInt Fp "Toward zero to unsigned; traps on NaN and overflow.", |a, bits| $crate::lane::to_int(a, bits, false);
            FcvtToSint "fcvt_to_sint" FloatToInt Fp "Toward zero to signed; traps on NaN and overflow.", |a, bits| $crate::lane::to_int(a, bits, true);
            FcvtToUintSat "fcvt_to_uint_sat" FloatToIntSat Fp "Toward zero to unsigned; saturates, NaN becomes 0.", |a, bits| $crate::lane::to_int_sat(a, bits, false);
            FcvtToSintSat "fcvt_to_sint_sat" FloatToIntSat Fp "Toward zero to signed; saturates, NaN becomes 0.", |a, bits| $crate::lane::to_int_sat(a, bits, true);

            Sin "sin" Float1 Math "Sine, in radians.", |a| a.sine();
            Cos "cos" Float1 Math "Cosine, in radians.", |a| a.cosine();
            Tan "tan" Float1 Math "Tangent, in radians.", |a| a.tangent();
            Exp "exp" Float1 Math "e to the power of the operand.", |a| a.exponential();
            Exp2 "exp2" Float1 Math "2 to the power of the operand.", |a| a.exponential2();
            Log "log" Float1 Math "Natural logarithm.", |a| a.logarithm();
            Log2 "log2" Float1 Math "Logarithm to base 2.", |a| a.logarithm2();
            Pow "pow" Float2 Math "The first operand to the power of the second.", |a, b| a.power(b);
            Rsqrt "rsqrt" Float1 Math "1 divided by the square root.", |a| a.reciprocal_root();
            Atan2 "atan2" Float2 Math "Angle of the point with y the first operand and x the second.", |a, b| a.angle(b);
            Tanh "tanh" Float1 Math "Hyperbolic tangent.", |a| a.hyperbolic_tangent();

            Icmp "icmp" Icmp Pred "Integer comparison.", |cc, a, b| a.compare(cc, b);
            Fcmp "fcmp" Fcmp Pred "Float comparison.", |cc, a, b| a.compare(cc, b);
            And "and" Pred2 Pred "Both hold; a false operand hides poison.", |a, b| a & b;
            Or "or" Pred2 Pred "Either holds; a true operand hides poison.", |a, b| a | b;
            Xor "xor" Pred2 Pred "Exactly one holds.", |a, b| a ^ b;
            Andn "andn" Pred2 Pred "The first holds and the second does not.", |a, b| a & !b;
            Not "not" Pred1 Pred "The operand does not hold.", |a| !a;

            LaneId "lane_id" Id Alu "Index of the lane in its warp, 0 to 31.", ();
            WarpId "warp_id" Id Alu "Index of the warp in its block.", ();
            TidX "tid_x" Id Alu "Thread index in the block, x.", ();
            TidY "tid_y" Id Alu "Thread index in the block, y.", ();
            TidZ "tid_z" Id Alu "Thread index in the block, z.", ();
            CtaidX "ctaid_x" Id Alu "Block index in the grid, x.", ();
            CtaidY "ctaid_y" Id Alu "Block index in the grid, y.", ();
            CtaidZ "ctaid_z" Id Alu "Block index in the grid, z.", ();
            NtidX "ntid_x" Id Alu "Threads in a block, x.", ();
            NtidY "ntid_y" Id Alu "Threads in a block, y.", ();
            NtidZ "ntid_z" Id Alu "Threads in a block, z.", ();
            NctaidX "nctaid_x" Id Alu "Blocks in the grid, x.", ();
            NctaidY "nctaid_y" Id Alu "Blocks in the grid, y.", ();
            NctaidZ "nctaid_z" Id Alu "Blocks in the grid, z.", ();

            Load "load" Load Load "Value at address plus offset.", (0, false);
            Uload8 "uload8" Load Load "Byte, zero-extended.", (1, false);
            Sload8 "sload8" Load Load "Byte, sign-extended.", (1, true);
            Uload16 "uload16" Load Load "Two bytes, zero-extended.", (2, false);
            Sload16 "sload16" Load Load "Two bytes, sign-extended.", (2, true);
            Uload32 "uload32" Load Load "Four bytes, zero-extended.", (4, false);
            Sload32 "sload32" Load Load "Four bytes, sign-extended.", (4, true);
            Store "store" Store Store "The first operand to address plus offset.", (0, false);
            Istore8 "istore8" Store Store "The low byte.", (1, false);
            Istore16 "istore16" Store Store "The low two bytes.", (2, false);
            Istore32 "istore32" Store Store "The low four bytes.", (4, false);

            AtomicLoad "atomic_load" AtomicLoad Atomic "Value at address plus offset, whole and in order.", ();
            AtomicStore "atomic_store" AtomicStore Atomic "The first operand to address plus offset, whole and in order.", ();
            AtomicAdd "atomic_add" AtomicRmw Atomic "Adds the operand. Yields what was there; lanes go in order.", |a, b| a.wrapping_add(b);
            AtomicSub "atomic_sub" AtomicRmw Atomic "Subtracts the operand. Yields what was there; lanes go in order.", |a, b| a.wrapping_sub(b);
            AtomicAnd "atomic_and" AtomicRmw Atomic "Bitwise and with the operand. Yields what was there; lanes go in order.", |a, b| a & b;
            AtomicNand "atomic_nand" AtomicRmw Atomic "Bitwise not of the and with the operand. Yields what was there; lanes go in order.", |a, b| !(a & b);
            AtomicOr "atomic_or" AtomicRmw Atomic "Bitwise or with the operand. Yields what was there; lanes go in order.", |a, b| a | b;
            AtomicXor "atomic_xor" AtomicRmw Atomic "Bitwise exclusive or with the operand. Yields what was there; lanes go in order.", |a, b| a ^ b;
            AtomicXchg "atomic_xchg" AtomicRmw Atomic "Leaves the operand. Yields what was there; lanes go in order.", |_a, b| b;
            AtomicUmin "atomic_umin" AtomicRmw Atomic "Leaves the unsigned minimum. Yields what was there; lanes go in order.", |a, b| a.min(b);
            AtomicUmax "atomic_umax" AtomicRmw Atomic "Leaves the unsigned maximum. Yields what was there; lanes go in order.", |a, b| a.max(b);
            AtomicSmin "atomic_smin" AtomicRmw Atomic "Leaves the signed minimum. Yields what was there; lanes go in order.", |a, b| a.smin(b);
            AtomicSmax "atomic_smax" AtomicRmw Atomic "Leaves the signed maximum. Yields what was there; lanes go in order.", |a, b| a.smax(b);
            AtomicCas "atomic_cas" AtomicCas Atomic "The second operand where the first was there. Yields what was there; lanes go in order.", ();

            Ballot "ballot" Ballot Cross "Mask of the participating lanes where the predicate holds.", ();
            VoteAny "vote_any" Vote Cross "Whether the predicate holds in any participating lane.", ();
            VoteAll "vote_all" Vote Cross "Whether the predicate holds in all participating lanes.", ();
            ShflIdx "shfl_idx" Shuffle Cross "The value of lane `index mod 32`; its own where that lane does not take part.", ();
            ShflUp "shfl_up" Shuffle Cross "The value of the lane `delta` below; its own where there is none.", ();
            ShflDown "shfl_down" Shuffle Cross "The value of the lane `delta` above; its own where there is none.", ();
            ShflBfly "shfl_bfly" Shuffle Cross "The value of lane `lane xor mask`; its own where there is none.", ();
            ReadFirst "read_first" ReadFirst Cross "The value of the lowest participating lane.", ();
            ActiveMask "active_mask" ActiveMask Cross "Mask of the participating lanes.", ();

            Barrier "barrier" Sync Bar "Waits for every live lane of the block.", ();
            WarpSync "warp_sync" WarpSync Cross "Waits for every live lane that the mask names, each with the same mask; without a mask for all.", ();
            Fence "fence" Sync Load "Orders memory accesses of the lane.", ();

            Exit "exit" Exit Ctl "Lanes whose guard holds retire.", ();
            TrapIf "trap" TrapIf Ctl "Lanes whose guard holds trap and retire.", ();

            Call "call" Call Call "Runs a function of the module.", ();
            CallIndirect "call_indirect" CallIndirect Call "Runs the function at the address, which must have the signature; else traps.", ();
        }
    };
}
