//! One Rust allocator as a library of replay (core/ports/library.h).
//!
//! The allocator's own state is placed at the start of the memory it manages, so that a footprint
//! counts it. `free` in C carries no size, so allocators that need one get it from two words in
//! front of the payload; rlsf and dlmalloc need none. Alignment of every object: two words (8 bytes
//! on a 32-bit machine).
#![no_std]

use core::alloc::Layout;
use core::mem::size_of;
use core::ptr::null_mut;

pub const ALIGNMENT: usize = 2 * size_of::<usize>();

#[cfg(feature = "rlsf")]
#[path = "peer_rlsf.rs"]
mod peer;
#[cfg(feature = "talc")]
#[path = "peer_talc.rs"]
mod peer;
#[cfg(any(feature = "dlmalloc", feature = "dlmalloc_growing"))]
#[path = "peer_dlmalloc.rs"]
mod peer;
#[cfg(feature = "linked_list_allocator")]
#[path = "peer_linked_list.rs"]
mod peer;
#[cfg(feature = "buddy_system_allocator")]
#[path = "peer_buddy.rs"]
mod peer;

/// What each `peer_*.rs` provides. Sizes are payload bytes.
pub trait Peer: Sized {
    unsafe fn new() -> Self;
    unsafe fn adopt(&mut self, memory: *mut u8, size_bytes: usize) -> bool;
    unsafe fn allocate(&mut self, alignment: usize, size_bytes: usize) -> *mut u8;
    unsafe fn release(&mut self, pointer: *mut u8);
    unsafe fn resize(&mut self, pointer: *mut u8, size_bytes: usize) -> *mut u8;
}

#[panic_handler]
fn stop(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// Makes the heap in `memory`; null if it is too small.
#[no_mangle]
pub unsafe extern "C" fn tau_library_init(
    memory: *mut u8,
    size_bytes: usize,
) -> *mut peer::Heap {
    let state_bytes = round_up(size_of::<peer::Heap>(), ALIGNMENT);
    if size_bytes < state_bytes + 1024 || memory as usize % ALIGNMENT != 0 {
        return null_mut();
    }
    let heap: *mut peer::Heap = memory.cast();
    heap.write(peer::Heap::new());
    let is_ready = (*heap).adopt(memory.add(state_bytes), size_bytes - state_bytes);
    if is_ready {
        heap
    } else {
        null_mut()
    }
}

#[no_mangle]
pub unsafe extern "C" fn tau_library_malloc(heap: *mut peer::Heap, size_bytes: usize) -> *mut u8 {
    (*heap).allocate(ALIGNMENT, size_bytes)
}

#[no_mangle]
pub unsafe extern "C" fn tau_library_calloc(
    heap: *mut peer::Heap,
    count: usize,
    size_bytes: usize,
) -> *mut u8 {
    let Some(all_bytes) = count.checked_mul(size_bytes) else {
        return null_mut();
    };
    let pointer = (*heap).allocate(ALIGNMENT, all_bytes);
    if !pointer.is_null() {
        pointer.write_bytes(0, all_bytes);
    }
    pointer
}

/// Left out for rlsf, which cannot keep an alignment for free(pointer): malloc takes its place.
#[cfg(not(feature = "rlsf"))]
#[no_mangle]
pub unsafe extern "C" fn tau_library_aligned_alloc(
    heap: *mut peer::Heap,
    alignment: usize,
    size_bytes: usize,
) -> *mut u8 {
    (*heap).allocate(alignment.max(ALIGNMENT), size_bytes)
}

#[no_mangle]
pub unsafe extern "C" fn tau_library_realloc(
    heap: *mut peer::Heap,
    pointer: *mut u8,
    size_bytes: usize,
) -> *mut u8 {
    (*heap).resize(pointer, size_bytes)
}

#[no_mangle]
pub unsafe extern "C" fn tau_library_free(heap: *mut peer::Heap, pointer: *mut u8) -> u32 {
    (*heap).release(pointer);
    0
}

pub const fn round_up(value: usize, multiple: usize) -> usize {
    (value + multiple - 1) & !(multiple - 1)
}

/// The layout of a block with the two words in front of its payload; `alignment` bytes are in front
/// at least.
#[allow(dead_code)]
pub unsafe fn prefixed(alignment: usize, size_bytes: usize) -> Layout {
    Layout::from_size_align_unchecked(size_bytes + alignment, alignment)
}

/// Stores size and alignment in front of the payload and returns the payload.
#[allow(dead_code)]
pub unsafe fn store_layout(block: *mut u8, alignment: usize, size_bytes: usize) -> *mut u8 {
    if block.is_null() {
        return block;
    }
    let pointer = block.add(alignment);
    pointer.cast::<usize>().sub(2).write(size_bytes);
    pointer.cast::<usize>().sub(1).write(alignment);
    pointer
}

/// The alignment and size that `store_layout` stored.
#[allow(dead_code)]
pub unsafe fn stored_layout(pointer: *mut u8) -> (usize, usize) {
    let words = pointer.cast::<usize>();
    (words.sub(1).read(), words.sub(2).read())
}

/// realloc for allocators without one of their own.
#[allow(dead_code)]
pub unsafe fn move_to_new<P: Peer>(heap: &mut P, pointer: *mut u8, size_bytes: usize) -> *mut u8 {
    let (alignment, old_bytes) = stored_layout(pointer);
    let fresh = heap.allocate(alignment, size_bytes);
    if !fresh.is_null() {
        core::ptr::copy_nonoverlapping(pointer, fresh, old_bytes.min(size_bytes));
        heap.release(pointer);
    }
    fresh
}
