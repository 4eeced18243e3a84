//! Stack slots.
//!
//! Each slot of the CLIF function becomes one of the IR's, which the executor
//! keeps apart so that a lane which runs off one traps. CLIF's documentation
//! demands that `stack_addr` stays in its slot; its verifier does not, and
//! Cranelift's own tests have functions that reach the next slot this way. A
//! function with such an address gets all its slots in one, in order and
//! aligned as Cranelift's frames have them.

use cranelift_codegen::entity::PrimaryMap;
use cranelift_codegen::ir::{self as clif, InstructionData};
use warpfold_ir::{Slot, SlotData};

/// The least alignment of a slot in a frame: that of a word.
const WORD: u32 = 8;

/// Makes the slots that the reachable `blocks` may use; for each of CLIF's
/// that has bytes, the slot and the byte where it begins.
pub fn lay_out(
    func: &clif::Function,
    blocks: &[clif::Block],
    out: &mut PrimaryMap<Slot, SlotData>,
) -> Vec<(clif::StackSlot, (Slot, u32))> {
    if func.sized_stack_slots.is_empty() {
        return Vec::new();
    }
    // The reader fills gaps in the numbering with empty slots.
    let slots = func.sized_stack_slots.iter();
    let slots = slots.filter(|(_, data)| data.size > 0);
    let align = |shift: u8| 1u32.checked_shl(shift.into()).unwrap_or(1);
    if !leaves_its_slot(func, blocks) {
        let own = slots.map(|(slot, data)| {
            let align = align(data.align_shift);
            let size = data.size;
            (slot, (out.push(SlotData { size, align }), 0))
        });
        return own.collect();
    }
    let (mut end, mut most) = (0u32, WORD);
    let mut begins = Vec::new();
    for (slot, data) in slots {
        // The sum of their sizes has been checked; alignments
        // that carry the frame beyond that are refused by the executor.
        let align = align(data.align_shift).max(WORD);
        let begin = end.checked_next_multiple_of(align).unwrap_or(u32::MAX);
        end = begin.saturating_add(data.size);
        most = most.max(align);
        begins.push((slot, begin));
    }
    let frame = out.push(SlotData {
        size: end,
        align: most,
    });
    let placed = begins.into_iter();
    placed.map(|(slot, begin)| (slot, (frame, begin))).collect()
}

/// Whether some `stack_addr` is not of a byte in its slot.
fn leaves_its_slot(func: &clif::Function, blocks: &[clif::Block]) -> bool {
    let insts = blocks.iter().flat_map(|&b| func.layout.block_insts(b));
    insts.into_iter().any(|inst| match func.dfg.insts[inst] {
        InstructionData::StackAddr {
            stack_slot, offset, ..
        } => {
            let size = func.sized_stack_slots[stack_slot].size;
            u32::try_from(i32::from(offset)).map_or(true, |offset| offset >= size)
        }
        _ => false,
    })
}

/// The offset in the IR's slot of a byte of CLIF's, which begins at `begin`.
pub fn offset(begin: u32, offset: i32) -> Option<i32> {
    i32::try_from(i64::from(begin) + i64::from(offset)).ok()
}
