//! A program with `std`, on a heap that records or is planned: SEED THREADS [more than all].
//! With the feature `counted`, it records the system's allocator and counts the calls itself.

extern crate alloc;

mod work;

#[cfg(feature = "counted")]
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard};

struct Threads;

static LOCK: Mutex<()> = Mutex::new(());

// SAFETY: std's locks do not allocate on Linux.
unsafe impl tautochrone::Port for Threads {
    type State = MutexGuard<'static, ()>;
    fn acquire() -> Self::State {
        LOCK.lock().unwrap_or_else(|broken| broken.into_inner())
    }
    fn release(state: Self::State) {
        drop(state);
    }
    #[cfg(feature = "counted")]
    fn task() -> u32 {
        counted::COUNTS[0].load(Relaxed) as u32 % 2
    }
    #[cfg(feature = "counted")]
    const TICKS_PER_SECOND: u32 = 1000;
    #[cfg(feature = "counted")]
    fn ticks() -> u32 {
        counted::COUNTS[0].load(Relaxed) as u32
    }
}

#[cfg(not(feature = "counted"))]
#[global_allocator]
static HEAP: tautochrone::Heap<Threads> = tautochrone::Heap::new();

#[cfg(feature = "counted")]
#[global_allocator]
static HEAP: tautochrone::Recorder<counted::Counted, Threads> =
    tautochrone::Recorder::over(counted::Counted);

#[cfg(feature = "counted")]
mod counted {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    pub struct Counted;
    pub static COUNTS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

    fn count(calls_bytes_aligned: [usize; 3]) {
        for (count, more) in COUNTS.iter().zip(calls_bytes_aligned) {
            count.fetch_add(more, Relaxed);
        }
    }

    fn count_new(layout: Layout) {
        count([1, layout.size(), usize::from(layout.align() > 16)]);
    }

    unsafe impl GlobalAlloc for Counted {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            count_new(layout);
            System.alloc(layout)
        }
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            count_new(layout);
            System.alloc_zeroed(layout)
        }
        unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            count([1, size, 0]);
            System.realloc(object, layout, size)
        }
        unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
            count([1, 0, 0]);
            System.dealloc(object, layout);
        }
    }
}

// Refused calls change nothing. They are made on HEAP, as Rust may leave out calls of `alloc`.
#[cfg(not(feature = "record"))]
fn check_refusals() {
    use std::alloc::{GlobalAlloc, Layout};
    let second: tautochrone::Heap<Threads> = tautochrone::Heap::new();
    let before = HEAP.statistics();
    let whole = Layout::array::<u8>(before.heap_bytes).unwrap();
    let small = Layout::new::<[u64; 4]>();
    unsafe {
        assert!(HEAP.alloc(whole).is_null() && HEAP.alloc_zeroed(whole).is_null());
        assert!(HEAP.alloc(whole.align_to(64).unwrap()).is_null());
        let object = HEAP.alloc(small);
        assert!(HEAP.realloc(object, small, usize::MAX / 4).is_null());
        assert!(HEAP.realloc(object, small, 16) == object); // in place
        assert!(HEAP.statistics().used_bytes > before.used_bytes);
        HEAP.dealloc(object, small);
        HEAP.dealloc(object, small);
        assert!(second.alloc(small).is_null() && second.statistics().used_bytes == 0);
    }
    let misuse_count = before.misuse_count + 1;
    assert!(HEAP.statistics() == tautochrone::Statistics { misuse_count, ..before });
    assert!(Vec::<u8>::new().try_reserve(before.heap_bytes).is_err());
}

fn main() {
    let mut words = std::env::args().skip(1);
    let seed: u32 = words.next().map_or(1, |word| word.parse().unwrap());
    let count: u32 = words.next().map_or(1, |word| word.parse().unwrap());
    let threads: Vec<_> = (seed..seed + count)
        .map(|seed| std::thread::spawn(move || work::work(seed, || ())))
        .collect();
    let checksum = threads.into_iter().fold(0, |sum, thread| sum ^ thread.join().unwrap());
    #[cfg(not(feature = "record"))]
    check_refusals();
    #[cfg(feature = "counted")]
    let [calls, bytes, aligned] = counted::COUNTS.each_ref().map(|count| count.load(Relaxed));
    HEAP.end();
    println!("checksum {checksum:08x} failed 0");
    #[cfg(feature = "counted")]
    println!("calls {calls} bytes {bytes} aligned {aligned}");
    if words.next().is_some() {
        std::hint::black_box(Vec::<u8>::with_capacity(1 << 30)); // handle_alloc_error
    }
}
