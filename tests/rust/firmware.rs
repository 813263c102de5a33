//! The same work on a bare Cortex-M4 in QEMU, without a crate for its start: [quiet] SEED.
//! Unless it is quiet, an interrupt allocates at any time. What it does is not in the checksum.
#![no_std]
#![no_main]

extern crate alloc;

#[path = "heap.rs"]
mod heap;
#[path = "work.rs"]
mod work;

use core::arch::asm;
use core::fmt::Write;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

const OPEN: usize = 1;
const WRITE: usize = 5;
const MODE_W: usize = 4;
const GET_CMDLINE: usize = 0x15;
const EXIT: usize = 0x18;
const EXITED: usize = 0x20026;
const FAILED: usize = 0x20023;

fn semihosting(operation: usize, argument: usize) -> usize {
    let mut result = operation;
    unsafe { asm!("bkpt 0xab", inout("r0") result, in("r1") argument) };
    result
}

fn exit(reason: usize) -> ! {
    semihosting(EXIT, reason);
    loop {}
}

struct Console;

impl core::fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let words = [c":tt".as_ptr() as usize, MODE_W, 3];
        let stdout = semihosting(OPEN, words.as_ptr() as usize);
        let words = [stdout, text.as_ptr() as usize, text.len()];
        semihosting(WRITE, words.as_ptr() as usize);
        Ok(())
    }
}

#[panic_handler]
fn panicked(info: &core::panic::PanicInfo) -> ! {
    let _ = writeln!(Console, "{info}");
    exit(FAILED)
}

extern "C" fn fault() {
    exit(FAILED);
}

static TICKS: AtomicU32 = AtomicU32::new(0);

// Objects of up to 23 words, alive during the interrupt only.
extern "C" fn tick() {
    let count = TICKS.fetch_add(1, Relaxed);
    let words = core::hint::black_box(alloc::vec![count; 1 + count as usize % 23]);
    assert!(words.iter().all(|&word| word == count));
}

// The board's linker script keeps tables that refer to it.
#[no_mangle]
extern "C" fn __aeabi_unwind_cpp_pr0() {}

extern "C" {
    static __stack: u8;
}

#[repr(C)]
struct Vectors(*const u8, [extern "C" fn(); 15]);
unsafe impl Sync for Vectors {}

#[link_section = ".vectors"]
#[used]
static VECTORS: Vectors = Vectors(&raw const __stack, {
    let mut all = [fault as extern "C" fn(); 15];
    all[0] = _start;
    all[14] = tick;
    all
});

#[no_mangle]
extern "C" fn _start() {
    main();
    exit(EXITED);
}

fn main() {
    let mut line = [0u8; 80];
    let words = [line.as_mut_ptr() as usize, line.len()];
    semihosting(GET_CMDLINE, words.as_ptr() as usize);
    let text = line.split(|&byte| byte == 0).next().unwrap();
    let mut words = core::str::from_utf8(text).unwrap().rsplit(' ');
    let seed = words.next().unwrap().parse().unwrap_or(1);
    let is_quiet = words.next() == Some("quiet");
    let systick = 0xe000_e010 as *mut u32;
    if !is_quiet {
        unsafe { systick.add(1).write_volatile(2500) }; // cycles between two interrupts
        unsafe { systick.write_volatile(7) };
    }
    let mut used_bytes = 0;
    let checksum = work::work(seed, || used_bytes = heap::HEAP.statistics().used_bytes);
    unsafe { systick.write_volatile(0) };
    assert!(heap::HEAP.statistics().misuse_count == 0);
    let ticks = TICKS.load(Relaxed);
    let _ = writeln!(Console, "used {used_bytes} ticks {ticks}\nchecksum {checksum:08x} failed 0");
    heap::HEAP.end();
}
