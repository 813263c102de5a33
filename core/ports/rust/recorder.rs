//! Records the calls of an allocator, in `recorder.c`.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::{ptr, slice};

use crate::{Lock, PlanHeap, Port, Statistics};

/// Records each call of the allocator `A` once, as the program made it: with the requested size and
/// alignment, the caller, and the task and time that `P` says. A program has one recorder; a second
/// one refuses every request.
///
/// `P`'s lock is held for the whole call. It must not be one that `A` also takes, unless it nests.
/// The caller is the code that Rust's allocation function was called from, in an optimized build.
/// For a `Vec` or a `String` that grows, this is a function of `alloc`.
#[repr(C)]
pub struct Recorder<A, P: Port> {
    functions: &'static Functions,
    lock: Lock<P>,
    allocator: A,
}

/// `struct rust_recorder_functions`; the last four are its `struct tau_record_port`.
#[repr(C)]
struct Functions {
    acquire: unsafe extern "C" fn(*const c_void),
    release: unsafe extern "C" fn(*const c_void),
    serve: unsafe extern "C" fn(*const c_void, &Call) -> *mut u8,
    task: extern "C" fn() -> u32,
    write: unsafe extern "C" fn(*const c_void, *const u8, usize) -> bool,
    ticks: Option<extern "C" fn(*const c_void) -> u32>,
    context: usize,
    ticks_per_second: u32,
}

/// `struct rust_call`.
#[repr(C)]
struct Call {
    operation: u32,
    object: *mut u8,
    size: usize,
    alignment: usize,
    new_size: usize,
}

extern "C" {
    fn tau_rust_record_capture(bytes: *const u8, size: usize) -> bool;
    fn tau_rust_record_alloc(recorder: *const c_void, size: usize, align: usize) -> *mut u8;
    fn tau_rust_record_alloc_zeroed(recorder: *const c_void, size: usize, align: usize) -> *mut u8;
    fn tau_rust_record_realloc(
        object: *mut u8,
        size: usize,
        alignment: usize,
        new_size: usize,
    ) -> *mut u8;
    fn tau_rust_record_dealloc(object: *mut u8, size: usize, alignment: usize);
    fn tau_rust_record_mark(recorder: *const c_void, is_end: bool);
}

pub(crate) fn capture(bytes: &[u8]) -> bool {
    // SAFETY: C reads the bytes.
    unsafe { tau_rust_record_capture(bytes.as_ptr(), bytes.len()) }
}

/// The recorder's lock is held when the heap in it is called.
pub struct Held;

unsafe impl Port for Held {
    type State = ();
    fn acquire() {}
    fn release(_state: ()) {}
}

impl<P: Port> Recorder<PlanHeap<Held>, P> {
    /// For a `static`, in place of [`PlanHeap::new`].
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self::over(PlanHeap::new())
    }

    /// As [`PlanHeap::statistics`].
    pub fn statistics(&self) -> Statistics {
        let state = P::acquire();
        let statistics = self.allocator.statistics();
        P::release(state);
        statistics
    }
}

impl<A: GlobalAlloc, P: Port> Recorder<A, P> {
    const FUNCTIONS: &'static Functions = &Functions {
        acquire: Self::acquire,
        release: Self::release,
        serve: Self::serve,
        task: Self::task,
        write: Self::write,
        ticks: if P::TICKS_PER_SECOND == 0 { None } else { Some(Self::ticks) },
        context: 0,
        ticks_per_second: P::TICKS_PER_SECOND,
    };

    /// For a `static` allocator that takes the place of `allocator`.
    pub const fn over(allocator: A) -> Self {
        Self { functions: Self::FUNCTIONS, lock: Lock::NEW, allocator }
    }

    /// Writes the end of the recording. Call it where the program ends.
    pub fn end(&self) {
        unsafe { tau_rust_record_mark(self.pointer(), true) }
    }

    /// Writes what was recorded so far. Call it when idle, in a program that never ends.
    pub fn flush(&self) {
        unsafe { tau_rust_record_mark(self.pointer(), false) }
    }

    fn pointer(&self) -> *const c_void {
        ptr::from_ref(self).cast()
    }

    // SAFETY, here and below: C passes on what this recorder has passed to it.
    unsafe fn lock_of(recorder: *const c_void) -> *const c_void {
        unsafe { (&raw const (*recorder.cast::<Self>()).lock).cast() }
    }

    unsafe extern "C" fn acquire(recorder: *const c_void) {
        unsafe { Lock::<P>::acquire(Self::lock_of(recorder)) }
    }

    unsafe extern "C" fn release(recorder: *const c_void) {
        unsafe { Lock::<P>::release(Self::lock_of(recorder)) }
    }

    unsafe extern "C" fn serve(recorder: *const c_void, call: &Call) -> *mut u8 {
        unsafe {
            let allocator = &(*recorder.cast::<Self>()).allocator;
            let layout = Layout::from_size_align_unchecked(call.size, call.alignment);
            match call.operation {
                0 => allocator.alloc(layout),
                1 => allocator.alloc_zeroed(layout),
                2 => allocator.realloc(call.object, layout, call.new_size),
                _ => {
                    allocator.dealloc(call.object, layout);
                    ptr::null_mut()
                }
            }
        }
    }

    extern "C" fn task() -> u32 {
        P::task()
    }

    extern "C" fn ticks(_context: *const c_void) -> u32 {
        P::ticks()
    }

    unsafe extern "C" fn write(_context: *const c_void, bytes: *const u8, size: usize) -> bool {
        P::write(unsafe { slice::from_raw_parts(bytes, size) })
    }
}

// SAFETY: nothing but the lock's state changes, under the lock.
unsafe impl<A: Sync, P: Port> Sync for Recorder<A, P> {}

// SAFETY: as for A, which serves every call.
unsafe impl<A: GlobalAlloc, P: Port> GlobalAlloc for Recorder<A, P> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { tau_rust_record_alloc(self.pointer(), layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { tau_rust_record_alloc_zeroed(self.pointer(), layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { tau_rust_record_realloc(object, layout.size(), layout.align(), size) }
    }

    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        unsafe { tau_rust_record_dealloc(object, layout.size(), layout.align()) }
    }
}
