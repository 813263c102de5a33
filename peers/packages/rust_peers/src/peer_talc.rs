//! talc: boundary tags with binned gaps.

use super::{prefixed, store_layout, stored_layout, Peer};
use core::ptr::{null_mut, NonNull};
use talc::base::Talc;
use talc::source::Manual;
use talc::DefaultBinning;

/// talc's dependencies name the `alloc` crate, which wants a global allocator; nothing here calls
/// it.
struct Refusing;

unsafe impl core::alloc::GlobalAlloc for Refusing {
    unsafe fn alloc(&self, _: core::alloc::Layout) -> *mut u8 {
        null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: core::alloc::Layout) {}
}

#[global_allocator]
static REFUSING: Refusing = Refusing;

pub struct Heap(Talc<Manual, DefaultBinning>);

impl Peer for Heap {
    unsafe fn new() -> Self {
        Heap(Talc::new(Manual))
    }
    unsafe fn adopt(&mut self, memory: *mut u8, size_bytes: usize) -> bool {
        self.0.claim(memory, size_bytes).is_some()
    }
    unsafe fn allocate(&mut self, alignment: usize, size_bytes: usize) -> *mut u8 {
        let block = self.0.allocate(prefixed(alignment, size_bytes));
        store_layout(block.map_or(null_mut(), NonNull::as_ptr), alignment, size_bytes)
    }
    unsafe fn release(&mut self, pointer: *mut u8) {
        let (alignment, size_bytes) = stored_layout(pointer);
        self.0.deallocate(pointer.sub(alignment), prefixed(alignment, size_bytes))
    }
    unsafe fn resize(&mut self, pointer: *mut u8, size_bytes: usize) -> *mut u8 {
        let (alignment, old_bytes) = stored_layout(pointer);
        let block = pointer.sub(alignment);
        let old = prefixed(alignment, old_bytes);
        if self.0.try_realloc_in_place(block, old, size_bytes + alignment) {
            return store_layout(block, alignment, size_bytes);
        }
        super::move_to_new(self, pointer, size_bytes)
    }
}
