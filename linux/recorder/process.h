// This process's recording: its file, its header, and why it stopped.
#ifndef TAU_LINUX_RECORDER_PROCESS_H
#define TAU_LINUX_RECORDER_PROCESS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/recorder/clock.h"

// The part of the process that the hot path reads.
struct tau_process_hot {
    // One page that reads 0 in a forked child (MADV_WIPEONFORK): 0 = this process has no recording
    // yet.
    _Atomic uint32_t *alive;
    enum tau_clock clock;
    unsigned int stack_frames;  // most frames of a stack; 0 = stacks are not walked
    unsigned int stack_frames_wanted;
};

extern struct tau_process_hot tau_process_hot;

// Reads the environment that `tau record` set; called once, before anything else. Off without it.
//   TAU_PRELOAD                  linux/interpose/session.h has its words:
//     PID                        Record this process and no child. 0: Record all.
//     TICKS_PER_SECOND           The time-stamp counter's rate.
//     SECCOMP_FILTERS            How many filters `tau record` itself is under. Under more, the
//                                recorder stays off, because they may forbid its calls.
//     FLAGS                      1: Leave RTLD_DEEPBIND alone.
//     FRAMES                     The most frames of a stack; 0: A site is one address.
//     FOLDER                     Where the recordings go; absolute.
//   TAU_RECORD_EMULATOR          Name and version of the emulator that runs this program.
//   TAU_RECORD_CLOCK=monotonic   Do not use the time-stamp counter.
void tau_process_configure(char *const *environment);

// Starts this process's recording, in the program or in a forked child; there FORKED_AT_TICKS is
// the time of the forking thread's last row. RESET is called once, before the recording's first
// chunk. False if recording is off or cannot start.
bool tau_process_start(uint64_t forked_at_ticks, void (*reset)(void));

// In a forked child: it has no recording yet. The page `alive` tells it by itself, except under an
// emulator that does not wipe it.
void tau_process_forked(void);

// Brackets system calls of the recorder: no signal handler runs between the two, so none can leave
// by siglongjmp. False if the process is confined: no system call may be made, nor the end called.
bool tau_process_calls_begin(sigset_t *signals);
void tau_process_calls_end(const sigset_t *signals);

// Extends the file by BYTES at *offset, allocated on disk and mapped; NULL if recording stops here.
// In a confined process they come from the reserve.
void *tau_process_map(size_t bytes, uint64_t *offset);
// Anonymous memory; NULL if there is none.
void *tau_process_map_private(size_t bytes);
// Anonymous memory of BYTES at PLACE, unless something is mapped there already.
void tau_process_map_over(void *place, size_t bytes);
// Unmaps the result of tau_process_map or _private; in a confined process it stays mapped.
void tau_process_unmap(void *memory, size_t bytes);

// Maps the reserve that a confined process takes chunks from. False if it is there, or nothing is
// recorded.
bool tau_process_reserve(void);
// From here on this process may not make the recorder's system calls (seccomp). False, with nothing
// changed, if nothing is recorded. WITHOUT_CLOCK: the time-stamp counter may not be read either.
bool tau_process_confine(bool without_clock);
// The confinement failed after all.
void tau_process_confine_undo(void);
bool tau_process_is_confined(void);
// The clock may no longer be read. From here on rows are in order, and their times count events.
void tau_process_stop_clock(void);

// The time in the recording's clock.
uint64_t tau_process_now(void);
// Tells `tau record` that process PID (0 = this one) becomes the program PATH; PATH NULL: it did
// not. AT_TICKS is a time before the exec. Keeps errno; no lock and no allocation.
void tau_process_note_exec(uint32_t pid, const char *path, uint64_t at_ticks);

// Bytes of the file that are handed out so far.
uint64_t tau_process_file_bytes(void);

// Notes that the recording has stacks, and one whose walk ended early.
void tau_process_note_stack(bool is_cut);

// Ends recording permanently, with an errno value or an enum tau_raw_stop. The program continues.
void tau_process_stop(int reason);
bool tau_process_stopped(void);
// An event after that; a call that never returned.
void tau_process_count_lost(void);
void tau_process_count_abandoned(void);

// Whether an emulator runs this program. It runs no other: what the program starts by exec is a
// program of the host.
bool tau_process_is_emulated(void);

// Whether dlopen is to drop RTLD_DEEPBIND; counted.
bool tau_process_drops_deep_bind(void);

// At the program's exit.
void tau_process_end(void);

#endif
