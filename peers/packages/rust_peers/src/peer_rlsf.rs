//! rlsf: two-level segregated fit. Its free wants the alignment, which free(pointer) has not, so a
//! larger one than the natural is not kept (that favors it).

use super::{Peer, ALIGNMENT};
use core::alloc::Layout;
use core::ptr::{null_mut, slice_from_raw_parts_mut, NonNull};
use rlsf::Tlsf;

/// 20 first-level classes reach 8 MiB on a 32-bit machine with 32 second-level classes each.
pub struct Heap(Tlsf<'static, u32, u32, 20, 32>);

unsafe fn layout(size_bytes: usize) -> Layout {
    Layout::from_size_align_unchecked(size_bytes, ALIGNMENT)
}

impl Peer for Heap {
    unsafe fn new() -> Self {
        Heap(Tlsf::new())
    }
    unsafe fn adopt(&mut self, memory: *mut u8, size_bytes: usize) -> bool {
        let block = slice_from_raw_parts_mut(memory, size_bytes);
        self.0.insert_free_block_ptr(NonNull::new_unchecked(block)).is_some()
    }
    unsafe fn allocate(&mut self, _: usize, size_bytes: usize) -> *mut u8 {
        self.0.allocate(layout(size_bytes)).map_or(null_mut(), NonNull::as_ptr)
    }
    unsafe fn release(&mut self, pointer: *mut u8) {
        self.0.deallocate(NonNull::new_unchecked(pointer), ALIGNMENT)
    }
    unsafe fn resize(&mut self, pointer: *mut u8, size_bytes: usize) -> *mut u8 {
        self.0
            .reallocate(NonNull::new_unchecked(pointer), layout(size_bytes))
            .map_or(null_mut(), NonNull::as_ptr)
    }
}
