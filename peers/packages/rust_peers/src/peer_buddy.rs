//! buddy_system_allocator: binary buddies.

use super::{prefixed, store_layout, stored_layout, Peer};
use core::ptr::{null_mut, NonNull};

pub struct Heap(buddy_system_allocator::Heap<28>);

impl Peer for Heap {
    unsafe fn new() -> Self {
        Heap(buddy_system_allocator::Heap::empty())
    }
    unsafe fn adopt(&mut self, memory: *mut u8, size_bytes: usize) -> bool {
        self.0.init(memory as usize, size_bytes);
        true
    }
    unsafe fn allocate(&mut self, alignment: usize, size_bytes: usize) -> *mut u8 {
        let block = self.0.alloc(prefixed(alignment, size_bytes));
        store_layout(block.map_or(null_mut(), NonNull::as_ptr), alignment, size_bytes)
    }
    unsafe fn release(&mut self, pointer: *mut u8) {
        let (alignment, size_bytes) = stored_layout(pointer);
        let block = NonNull::new_unchecked(pointer.sub(alignment));
        self.0.dealloc(block, prefixed(alignment, size_bytes))
    }
    unsafe fn resize(&mut self, pointer: *mut u8, size_bytes: usize) -> *mut u8 {
        super::move_to_new(self, pointer, size_bytes)
    }
}
