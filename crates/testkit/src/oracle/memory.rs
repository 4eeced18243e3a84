//! The interpreter's state for one lane, with memory as a launch lays it out:
//! buffers, the block's shared memory, and the lane's own stack slots.

use cranelift_codegen::data_value::DataValue;
use cranelift_codegen::ir::{
    ExternalName, FuncRef, Function, GlobalValue, MemFlagsData, StackSlot, Type,
};
use cranelift_interpreter::address::{Address, AddressRegion, AddressSize};
use cranelift_interpreter::frame::Frame;
use cranelift_interpreter::interpreter::LibCallHandler;
use cranelift_interpreter::state::{InterpreterFunctionRef, MemoryError, State};
use cranelift_interpreter::step::CraneliftTrap;
use warpfold::exec::{LOCAL_BASE, Launch, SHARED_BASE};

/// A mapped range of addresses.
struct Range {
    base: u64,
    bytes: Vec<u8>,
    readonly: bool,
}

/// One lane at work.
pub(super) struct LaneState<'a> {
    func: &'a Function,
    frame: Frame<'a>,
    /// The launch's buffers, then shared memory, then the stack slots.
    ranges: Vec<Range>,
    buffers: usize,
}

impl<'a> LaneState<'a> {
    pub fn new(func: &'a Function, launch: &Launch) -> Self {
        let memory = &launch.memory;
        let mut ranges: Vec<Range> = (0..memory.len())
            .map(|i| Range {
                base: memory.address(i),
                bytes: memory.bytes(i).to_vec(),
                readonly: memory.is_readonly(i),
            })
            .collect();
        let buffers = ranges.len();
        let mut add = |base, size: u32| {
            ranges.push(Range {
                base,
                bytes: vec![0; size as usize],
                readonly: false,
            });
        };
        add(SHARED_BASE, launch.shared);
        // Apart and aligned, as the executor's.
        let mut next = LOCAL_BASE;
        for slot in func.sized_stack_slots.values() {
            let align = 1u64.checked_shl(slot.align_shift.into()).unwrap_or(1);
            let base = next.next_multiple_of(align.max(16));
            add(base, slot.size);
            next = base + u64::from(slot.size) + 16;
        }
        Self {
            func,
            frame: Frame::new(func),
            ranges,
            buffers,
        }
    }

    /// Shared memory is fresh in each block.
    pub fn new_block(&mut self) {
        self.ranges[self.buffers].bytes.fill(0);
    }

    /// A fresh lane: no values, an empty stack.
    pub fn new_lane(&mut self) {
        self.frame = Frame::new(self.func);
        for slot in &mut self.ranges[self.buffers + 1..] {
            slot.bytes.fill(0);
        }
    }

    pub fn into_buffers(mut self) -> Vec<Vec<u8>> {
        self.ranges.truncate(self.buffers);
        self.ranges.into_iter().map(|r| r.bytes).collect()
    }

    /// The range and offset of an access.
    fn find(
        &self,
        addr: &Address,
        size: usize,
        flags: MemFlagsData,
    ) -> Result<(usize, usize), MemoryError> {
        // The interpreter takes an address apart; what has its upper bits set
        // is nowhere.
        let unmapped = || MemoryError::InvalidOffset {
            offset: addr.offset,
            max: 0,
        };
        if flags.aligned() && !addr.offset.is_multiple_of(size as u64) {
            return Err(MemoryError::MisalignedLoad {
                addr: addr.clone(),
                load_size: size,
            });
        }
        if addr.region != AddressRegion::Stack {
            return Err(unmapped());
        }
        self.ranges
            .iter()
            .enumerate()
            .find_map(|(i, r)| {
                let at = addr.offset.checked_sub(r.base)? as usize;
                let end = at.checked_add(size)?;
                (end <= r.bytes.len()).then_some((i, at))
            })
            .ok_or_else(unmapped)
    }
}

impl<'a> State<'a> for LaneState<'a> {
    fn get_function(&self, _: FuncRef) -> Option<&'a Function> {
        None
    }

    fn get_current_function(&self) -> &'a Function {
        self.func
    }

    fn get_libcall_handler(&self) -> LibCallHandler {
        |_, _| Err(CraneliftTrap::UnreachableCodeReached)
    }

    fn push_frame(&mut self, _: &'a Function) {}

    fn pop_frame(&mut self) {}

    fn current_frame_mut(&mut self) -> &mut Frame<'a> {
        &mut self.frame
    }

    fn current_frame(&self) -> &Frame<'a> {
        &self.frame
    }

    fn stack_address(
        &self,
        size: AddressSize,
        slot: StackSlot,
        offset: u64,
    ) -> Result<Address, MemoryError> {
        let base = self.ranges[self.buffers + 1 + slot.as_u32() as usize].base;
        Address::from_parts(size, AddressRegion::Stack, 0, base.wrapping_add(offset))
    }

    fn checked_load(
        &self,
        address: Address,
        ty: Type,
        flags: MemFlagsData,
    ) -> Result<DataValue, MemoryError> {
        let size = ty.bytes() as usize;
        let (range, at) = self.find(&address, size, flags)?;
        let bytes = &self.ranges[range].bytes[at..at + size];
        Ok(DataValue::read_from_slice_le(bytes, ty))
    }

    fn checked_store(
        &mut self,
        address: Address,
        v: DataValue,
        flags: MemFlagsData,
    ) -> Result<(), MemoryError> {
        let size = v.ty().bytes() as usize;
        let (range, at) = self.find(&address, size, flags)?;
        let range = &mut self.ranges[range];
        if range.readonly {
            return Err(MemoryError::InvalidOffset {
                offset: address.offset,
                max: 0,
            });
        }
        v.write_to_slice_le(&mut range.bytes[at..at + size]);
        Ok(())
    }

    fn function_address(&self, _: AddressSize, _: &ExternalName) -> Result<Address, MemoryError> {
        Err(MemoryError::InvalidEntry { entry: 0, max: 0 })
    }

    fn get_function_from_address(&self, _: Address) -> Option<InterpreterFunctionRef<'a>> {
        None
    }

    fn resolve_global_value(&self, _: GlobalValue) -> Result<DataValue, MemoryError> {
        Err(MemoryError::InvalidEntry { entry: 0, max: 0 })
    }

    fn get_pinned_reg(&self) -> DataValue {
        DataValue::I64(0)
    }

    fn set_pinned_reg(&mut self, _: DataValue) {}
}
