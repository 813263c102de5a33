//! dlmalloc, a port of Lea's allocator 2.8: over a fixed arena, or growing by steps of 64 KiB as on
//! a workstation.

use super::Peer;
use core::cell::Cell;
use dlmalloc::{Allocator, Dlmalloc};

const GROWS: bool = cfg!(feature = "dlmalloc_growing");

/// Hands out the memory from its start: all of it at once, or just what is asked for (which the
/// allocator has rounded up to its step). Nothing is taken back, as with sbrk when something lies
/// behind it.
pub struct Arena {
    next: Cell<*mut u8>,
    left_bytes: Cell<usize>,
}

unsafe impl Send for Arena {}

unsafe impl Allocator for Arena {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let left_bytes = self.left_bytes.get();
        let take_bytes = if GROWS { size } else { left_bytes };
        if size > left_bytes || take_bytes == 0 {
            return (core::ptr::null_mut(), 0, 0);
        }
        let start = self.next.get();
        self.next.set(start.wrapping_add(take_bytes));
        self.left_bytes.set(left_bytes - take_bytes);
        (start, take_bytes, 0)
    }
    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        core::ptr::null_mut()
    }
    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }
    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }
    fn can_release_part(&self, _: u32) -> bool {
        false
    }
    fn allocates_zeros(&self) -> bool {
        false
    }
    fn page_size(&self) -> usize {
        4096
    }
}

pub struct Heap(Dlmalloc<Arena>);

impl Peer for Heap {
    unsafe fn new() -> Self {
        let arena = Arena {
            next: Cell::new(core::ptr::null_mut()),
            left_bytes: Cell::new(0),
        };
        Heap(Dlmalloc::new_with_allocator(arena))
    }
    unsafe fn adopt(&mut self, memory: *mut u8, size_bytes: usize) -> bool {
        let arena = self.0.allocator();
        arena.next.set(memory);
        arena.left_bytes.set(size_bytes & !(super::ALIGNMENT - 1));
        GROWS || self.0.set_granularity(128)
    }
    unsafe fn allocate(&mut self, alignment: usize, size_bytes: usize) -> *mut u8 {
        self.0.c_memalign(alignment, size_bytes)
    }
    unsafe fn release(&mut self, pointer: *mut u8) {
        self.0.c_free(pointer)
    }
    unsafe fn resize(&mut self, pointer: *mut u8, size_bytes: usize) -> *mut u8 {
        self.0.c_realloc(pointer, size_bytes)
    }
}
