// The raw recording. The preloaded recorder writes one file per process. `tau record` merges the
// files into a trace.
//
//   0         4096                                       end of file
//   +---------+-----------+-----------+--------+-----------+--
//   | header  | chunk     | chunk     | hole   | chunk     | …   each starts at a multiple of 4096
//   +---------+-----------+-----------+--------+-----------+--
//
// A chunk belongs to one thread at a time and decodes alone. Its rows are defined in
// core/ports/record_row.h. They start from the chunk's own start time, address 0 and an empty site
// cache. A tag byte of 0 ends the chunk. All numbers are little-endian.
// docs/spec/recorder.md, "The raw recording", defines every bit.
#ifndef TAU_IFACE_RECORDING_H
#define TAU_IFACE_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#define TAU_RAW_MAGIC "TAURAW\r\n"
#define TAU_RAW_VERSION 3u
#define TAU_RAW_PAGE_BYTES 4096u
#define TAU_RAW_CHUNK_MAGIC 0x43756154u  // "TauC"
#define TAU_RAW_CHUNK_BYTES_MAX (4u << 20)
#define TAU_RAW_BUILD_ID_BYTES 20u
#define TAU_RAW_EMULATOR_BYTES 28u
// A site with this bit is a stack's: the other bits are a hash of its addresses.
#define TAU_RAW_STACK_BIT (UINT64_C(1) << 58)
#define TAU_RAW_STACK_FRAMES_MAX 32u
#define TAU_RAW_SUFFIX ".tauraw"

enum tau_raw_clock {
    TAU_RAW_CLOCK_MONOTONIC = 0,  // A tick is a nanosecond.
    TAU_RAW_CLOCK_TSC = 1,        // A tick is a cycle of the time-stamp counter.
};

enum tau_raw_kind {
    TAU_RAW_ROWS = 1,
    TAU_RAW_MODULES = 2,  // Lines of /proc/self/maps: executable ones, and each file's first.
    TAU_RAW_STACKS = 3,   // Stacks in words of 8 bytes: a site, the number of frames, and their
                          // return addresses, the innermost first. A site of 0 ends the chunk.
};

// Why recording stopped early, where no errno value says it.
enum tau_raw_stop {
    TAU_RAW_STOP_CONFINED = 0x10001,  // Under seccomp: the memory reserved before is full.
    TAU_RAW_STOP_DETACHED = 0x10002,  // `tau record` no longer waited for the process.
};

// File next to the recordings with the programs that their processes started by exec. Each entry is
// appended by one write: "PID TICKS PATH" and a 0 byte. Without PATH, the latest exec of that pid
// has failed.
#define TAU_RAW_EXECS "execs"

// The first page. Fields that change while the program runs are written by plain stores. When `tau
// record` stops waiting for a process, it writes stopped_ticks and stop_reason into that recording.
// The process finds them at its next chunk.
struct tau_raw_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t started_ticks;  // With pid: the recording's name.
    uint64_t started_ns;     // CLOCK_MONOTONIC at started_ticks.
    uint64_t started_unix_ns;
    uint64_t latest_ticks;  // The latest pair of both clocks, for the rate.
    uint64_t latest_ns;
    uint64_t ticks_per_second_hint;  // As measured by the tool before it started the program.
                                     // 0 = not known.
    uint32_t clock;                  // enum tau_raw_clock.
    uint32_t address_shift;          // Most objects start at multiples of 1 << address_shift.
    uint32_t forked_from_pid;        // 0 = started by exec, not forked while recorded.
    uint32_t children_lost;          // Forked children whose own recording could not be started.
    uint64_t forked_from_ticks;      // The parent recording's started_ticks.
    uint64_t forked_at_ticks;        // The forking thread's last row in the parent's recording.
    uint64_t stopped_ticks;          // When recording stopped early. Rows after it are incomplete.
    uint32_t stop_reason;            // Not 0: recording stopped early. An errno value, or
                                     // enum tau_raw_stop.
    uint32_t ended;                  // 1 = the program ran its exit handlers.
    uint32_t program_bytes;
    uint32_t directory_bytes;
    uint32_t arguments_bytes;
    uint32_t arguments_cut;    // 1 = the program has more arguments than fit here.
    uint32_t deep_binds;       // Libraries opened with RTLD_DEEPBIND: the flag was dropped.
    uint32_t calls_abandoned;  // Calls that never returned: left by siglongjmp.
    uint32_t abi;              // TAU_ABI_NUMBER_* (facts/abi.toml); 0 = none of them.
    uint32_t pointer_bytes;
    uint32_t malloc_alignment;                 // The alignment of the C library's malloc.
    uint32_t build_id_bytes;                   // 0 = the program has none.
    uint8_t build_id[TAU_RAW_BUILD_ID_BYTES];  // GNU build id, or the first bytes of one.
    char emulator[TAU_RAW_EMULATOR_BYTES];     // "qemu-arm 7.2.22". Empty = the program ran alone.
    char program[768];                         // Path of the executable.
    char directory[768];                       // Its working directory.
    char arguments[2328];                      // As in /proc/self/cmdline: each ends with a 0 byte.
    uint32_t stack_frames;                     // Most frames of a stack; 0 = sites are addresses.
    uint32_t stacks_cut;                       // Stacks that end in code without unwind tables.
    uint64_t events_lost;                      // Seen after recording stopped.
    uint64_t execs_unnoted;  // Started by exec where TAU_RAW_EXECS could not be opened.
};
// The same on every machine, whatever its pointers and the alignment of 8 bytes are.
_Static_assert(sizeof(struct tau_raw_header) == TAU_RAW_PAGE_BYTES, "the header is one page");
_Static_assert(offsetof(struct tau_raw_header, events_lost) == TAU_RAW_PAGE_BYTES - 16, "no gap");

struct tau_raw_chunk {
    uint32_t magic;  // Written last.
    uint32_t kind;   // enum tau_raw_kind.
    uint32_t bytes;  // Whole chunk, this header included; a multiple of TAU_RAW_PAGE_BYTES.
    uint32_t thread;
    uint64_t started_ticks;
    uint64_t offset;  // The chunk's own offset in the file: a stray magic is not taken for a chunk.
};

#endif
