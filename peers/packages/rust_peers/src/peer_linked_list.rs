//! linked_list_allocator: first fit over one sorted list.

use super::{prefixed, store_layout, stored_layout, Peer};
use core::ptr::{null_mut, NonNull};

pub struct Heap(linked_list_allocator::Heap);

impl Peer for Heap {
    unsafe fn new() -> Self {
        Heap(linked_list_allocator::Heap::empty())
    }
    unsafe fn adopt(&mut self, memory: *mut u8, size_bytes: usize) -> bool {
        self.0.init(memory, size_bytes);
        true
    }
    unsafe fn allocate(&mut self, alignment: usize, size_bytes: usize) -> *mut u8 {
        let block = self.0.allocate_first_fit(prefixed(alignment, size_bytes));
        store_layout(block.map_or(null_mut(), NonNull::as_ptr), alignment, size_bytes)
    }
    unsafe fn release(&mut self, pointer: *mut u8) {
        let (alignment, size_bytes) = stored_layout(pointer);
        let block = NonNull::new_unchecked(pointer.sub(alignment));
        self.0.deallocate(block, prefixed(alignment, size_bytes))
    }
    unsafe fn resize(&mut self, pointer: *mut u8, size_bytes: usize) -> *mut u8 {
        super::move_to_new(self, pointer, size_bytes)
    }
}
