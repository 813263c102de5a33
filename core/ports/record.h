// Records how a firmware uses its heap. Add record.c to the build and provide a clock and a write
// function (UART, RTT, a file through semihosting). `tau import` turns the bytes into a trace.
//
// It is freestanding C17 without allocation and without globals. The caller owns the state, a
// struct.
// Cost: O(1) per call. A call encodes at most TAU_RECORD_ROW_BYTES_MAX bytes. A full buffer is
// passed to the write function once.
//
// Calls must not overlap. Call from inside the allocator's own lock, as the listeners below do, or
// define TAU_RECORD_LOCK in the header that TAU_PORT_HEADER names (core/port.h). Record a malloc
// after it, a free before it. Record the size that the program asked for, which may be 0.
//
//   static struct tau_record recording;
//   static bool send(void *uart, const void *bytes, size_t n) { return uart_send(uart, bytes, n); }
//   static uint32_t cycles(void *unused) { return DWT->CYCCNT; }
//   tau_record_start(&recording,
//                    &(struct tau_record_port){send, cycles, UART1, SystemCoreClock});
//
// Firmware and static Linux programs whose heap is malloc, or FreeRTOS's pvPortMalloc
// (docs/ports/freertos.md): add record_wrap.c instead of record.c. It calls the functions below for
// every function of the heap. Zephyr's build adds it by an option (docs/ports/zephyr.md).
//
// Rows (core/ports/record_row.h) and blocks: docs/spec/recorder.md, "The raw recording".
#ifndef TAU_CORE_PORTS_RECORD_H
#define TAU_CORE_PORTS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ports/record_row.h"
#include "facts/gen/tau_abi_format.h"

#ifdef TAU_PORT_HEADER
#include TAU_PORT_HEADER
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of the buffer: one block with its header.
#ifndef TAU_RECORD_BUFFER_BYTES
#define TAU_RECORD_BUFFER_BYTES 512u
#endif
// Entries of the site cache of a block: a power of two up to 128. A cached call site takes one byte
// instead of five or more.
#ifndef TAU_RECORD_TARGET_SITES
#define TAU_RECORD_TARGET_SITES 16u
#endif
#ifndef TAU_RECORD_LOCK
#define TAU_RECORD_LOCK(record) ((void)(record))
#define TAU_RECORD_UNLOCK(record) ((void)(record))
#endif

// ---- The stream: each block decodes alone, so a capture may start anywhere and lose blocks ----

#define TAU_RECORD_BLOCK_MAGIC 0x54756154u  // "TauT"
#define TAU_RECORD_BLOCK_HEADER_BYTES 44u
#define TAU_RECORD_BLOCK_VERSION 3u

// The ABI that this code is compiled for, as a number of facts/abi.toml; 0 if none of them.
#if defined(__x86_64__) && defined(__LP64__)
#define TAU_RECORD_ABI TAU_ABI_NUMBER_X86_64
#elif defined(__aarch64__) && defined(__LP64__)
#define TAU_RECORD_ABI TAU_ABI_NUMBER_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__LP64__)
#define TAU_RECORD_ABI TAU_ABI_NUMBER_RISCV64
#elif defined(__arm__) && defined(__ARM_EABI__)
#define TAU_RECORD_ABI TAU_ABI_NUMBER_ARM
#elif defined(__riscv) && __riscv_xlen == 32 && !defined(__riscv_32e)
#define TAU_RECORD_ABI TAU_ABI_NUMBER_RISCV32
#elif defined(__i386__)
#define TAU_RECORD_ABI TAU_ABI_NUMBER_I386
#else
#define TAU_RECORD_ABI 0u
#endif

// A firmware's functions. write returns false if the bytes could not be sent; they are then
// dropped and counted. It must not allocate. ticks may wrap around. It is extended to 64 bits as
// long as a row is recorded in each of its periods. If ticks is NULL, times count rows.
struct tau_record_port {
    bool (*write)(void *context, const void *bytes, size_t size_bytes);
    uint32_t (*ticks)(void *context);
    void *context;
    uint32_t ticks_per_second;
};

// Opaque. Defined here for its size.
struct tau_record {
    struct tau_record_port port;
    uint64_t ticks;
    uint64_t last_address;
    uint64_t last_site;
    uint64_t dropped_rows;
    uint32_t latest_ticks;
    uint32_t sequence;
    uint32_t thread;
    uint16_t rows;
    uint16_t used_bytes;
    uint32_t image;   // 0: none is told
    bool is_flushed;  // nothing was recorded since the latest mark
    uintptr_t sites[TAU_RECORD_TARGET_SITES];
    uint8_t buffer[TAU_RECORD_BUFFER_BYTES];
};

void tau_record_start(struct tau_record *record, const struct tau_record_port *port);
// Sets the task of the rows that follow to THREAD, which is 0 at the start. A change takes five
// bytes. Numbers above 1,048,575 all count as one task, so a handle needs a number of its own.
void tau_record_thread(struct tau_record *record, uint32_t thread);
// States which image runs, as a number other than 0 that another build rarely has. It is written
// now and in each 16th block. Call after tau_record_start.
void tau_record_image(struct tau_record *record, uint32_t image);
// Call after a request of SIZE_BYTES that the heap refused. It is no event of the trace: `tau
// import` counts it, and names the first one.
void tau_record_refused(struct tau_record *record, size_t size_bytes, uintptr_t site);
// Call after an allocation that succeeded. SITE is the caller's address, or 0.
void tau_record_malloc(struct tau_record *record, uintptr_t address, size_t size_bytes,
                       uintptr_t site);
void tau_record_calloc(struct tau_record *record, uintptr_t address, size_t size_bytes,
                       uintptr_t site);
// ALIGNMENT is a power of two.
void tau_record_aligned_alloc(struct tau_record *record, uintptr_t address, size_t size_bytes,
                              size_t alignment, uintptr_t site);
// Call before an object is freed. Nothing happens for an ADDRESS of 0, here and above.
void tau_record_free(struct tau_record *record, uintptr_t address, uintptr_t site);
// Call before and after realloc of an object, in pairs. An ADDRESS of 0 at the end says that
// realloc failed, or that it freed the object if SIZE_BYTES is 0.
void tau_record_realloc_begin(struct tau_record *record, uintptr_t address, uintptr_t site);
void tau_record_realloc_end(struct tau_record *record, uintptr_t address, size_t size_bytes,
                            uintptr_t site);
// Writes the buffered rows out, with a mark that no row is missing so far. Call when idle, and at
// the end of a firmware that never exits. Writes nothing if nothing was recorded since.
void tau_record_flush(struct tau_record *record);
// The same at the program's exit. A stream without one of these marks may lack its end: `tau
// import` warns.
void tau_record_end(struct tau_record *record);
// Rows that the write function refused.
uint64_t tau_record_dropped(const struct tau_record *record);

#ifdef __cplusplus
}
#endif

#endif
