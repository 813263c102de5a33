//! The heap of a plan as the global allocator of a Rust program, with or without `std`:
//!
//! ```ignore
//! #[global_allocator]
//! static HEAP: tautochrone::Heap<Board> = tautochrone::Heap::new();
//! ```
//!
//! `Board` implements [`Port`], which has the lock. `docs/ports/rust.md` leads from a recording to
//! a plan. With the feature `record`, the same program records its calls.
//!
//! A request that the heap refuses gets a null pointer, so `alloc` calls `handle_alloc_error`.
//! - The heap is made by the first call, and never moved or destroyed.
//! - A program has one plan and one heap. A second [`Heap`] refuses every request.
//! - The core is compiled for the environment's plan. A plan for another word size, check level or
//!   optimization does not compile, or does not link.
#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;

#[cfg(feature = "record")]
mod recorder;
#[cfg(feature = "record")]
pub use recorder::Recorder;

/// What a program gives to its heap: the lock, and what a recording says of the program.
///
/// # Safety
/// From `acquire` to `release`, nothing else that allocates or frees runs: no other thread, and no
/// interrupt handler that uses the heap. Neither of the functions may allocate or panic. In a
/// recording, calls of [`Recorder`]'s inner allocator run between the two.
pub unsafe trait Port {
    /// What `release` needs, such as whether interrupts were enabled.
    type State;
    /// Takes the lock. The heap never takes it twice, and holds it for a bounded time: it copies
    /// and clears objects outside.
    fn acquire() -> Self::State;
    /// Returns the lock.
    fn release(state: Self::State);

    /// Number of the running task, up to 1,048,575. Called only in a recording, like all below.
    fn task() -> u32 {
        0
    }
    /// A clock, if `TICKS_PER_SECOND` is not 0. It may wrap around. Without it, times count calls.
    fn ticks() -> u32 {
        0
    }
    /// The frequency of `ticks`.
    const TICKS_PER_SECOND: u32 = 0;
    /// Sends bytes of the recording. False if they are lost. By default they go to `capture.bin`:
    /// by semihosting on Arm and RISC-V, directly on Linux.
    fn write(bytes: &[u8]) -> bool {
        #[cfg(feature = "record")]
        return recorder::capture(bytes);
        #[cfg(not(feature = "record"))]
        return bytes.is_empty();
    }
}

/// A heap's bytes, as its allocator counts them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// All memory of the heap, with its tables.
    pub heap_bytes: usize,
    /// Blocks of objects, with their headers.
    pub used_bytes: usize,
    /// The other blocks.
    pub free_bytes: usize,
    /// Of these, the bytes at the heap's end that no object ever had.
    pub untouched_bytes: usize,
    /// Frees that the core refused, such as a second free. Check level 0 detects none.
    pub misuse_count: usize,
}

type Hook = unsafe extern "C" fn(*const c_void);

/// `struct tau_rust_lock` of `port.h`, and the state behind it.
#[repr(C)]
struct Lock<P: Port> {
    acquire: Hook,
    release: Hook,
    state: UnsafeCell<MaybeUninit<P::State>>,
}

impl<P: Port> Lock<P> {
    const NEW: Self = Self {
        acquire: Self::acquire,
        release: Self::release,
        state: UnsafeCell::new(MaybeUninit::uninit()),
    };

    unsafe extern "C" fn acquire(lock: *const c_void) {
        let state = P::acquire();
        // SAFETY: C passes the lock that it was given, and this one is held now.
        unsafe { (*(*lock.cast::<Self>()).state.get()).write(state) };
    }

    unsafe extern "C" fn release(lock: *const c_void) {
        // SAFETY: as above; acquire has written the state.
        P::release(unsafe { (*(*lock.cast::<Self>()).state.get()).assume_init_read() });
    }
}

// `heap.c`. A heap begins with its lock.
extern "C" {
    fn tau_rust_heap_malloc(lock: *const c_void, alignment: usize, size: usize) -> *mut u8;
    fn tau_rust_heap_calloc(lock: *const c_void, alignment: usize, size: usize) -> *mut u8;
    fn tau_rust_heap_realloc(
        lock: *const c_void,
        object: *mut u8,
        old_size: usize,
        alignment: usize,
        size: usize,
    ) -> *mut u8;
    fn tau_rust_heap_free(lock: *const c_void, object: *mut u8);
    fn tau_rust_heap_statistics(lock: *const c_void) -> Statistics;
}

/// The heap of the plan, or of `TAU_HEAP_BYTES`. See [`Heap`].
#[repr(C)]
pub struct PlanHeap<P: Port> {
    lock: Lock<P>,
}

/// The heap of a program. Every call takes constant time, and the copying or clearing of bytes.
#[cfg(not(feature = "record"))]
pub type Heap<P> = PlanHeap<P>;
/// The heap of a program, which records its calls.
#[cfg(feature = "record")]
pub type Heap<P> = Recorder<PlanHeap<recorder::Held>, P>;

// SAFETY: nothing but the lock's state changes, under the lock.
unsafe impl<P: Port> Sync for PlanHeap<P> {}

impl<P: Port> PlanHeap<P> {
    /// For a `static`: C keeps the address of the heap that the first call uses.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { lock: Lock::NEW }
    }

    /// The bytes in use now. Cost: linear in the pools, of which there are 64 at most.
    pub fn statistics(&self) -> Statistics {
        // SAFETY: the pointer is this heap's.
        unsafe { tau_rust_heap_statistics(self.pointer()) }
    }

    /// Writes the end of a recording. Call it where the program ends. Without the feature `record`
    /// it does nothing.
    pub fn end(&self) {}

    /// Writes what was recorded so far. Call it when idle, in a program that never ends.
    pub fn flush(&self) {}

    fn pointer(&self) -> *const c_void {
        ptr::from_ref(self).cast()
    }
}

// SAFETY: the core's objects do not overlap, and have the size and alignment that was asked for.
// It never unwinds. A Layout has no size of 0 here, and its alignment is a power of two.
unsafe impl<P: Port> GlobalAlloc for PlanHeap<P> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { tau_rust_heap_malloc(self.pointer(), layout.align(), layout.size()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { tau_rust_heap_calloc(self.pointer(), layout.align(), layout.size()) }
    }

    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (old_size, alignment) = (layout.size(), layout.align());
        unsafe { tau_rust_heap_realloc(self.pointer(), object, old_size, alignment, size) }
    }

    unsafe fn dealloc(&self, object: *mut u8, _layout: Layout) {
        unsafe { tau_rust_heap_free(self.pointer(), object) }
    }
}
