// Writes a recording to the file TAU_RECORD_CAPTURE: through the debugger or QEMU (semihosting) on
// Cortex-M and RISC-V, and directly on Linux, where children of a fork write nothing. The one file
// that includes it has TAU_RECORD_CAPTURE.
#ifndef TAU_CORE_PORTS_RECORD_CAPTURE_H
#define TAU_CORE_PORTS_RECORD_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ports/record.h"

#ifdef TAU_RECORD_CAPTURE
#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static pid_t record_capture_process;  // a child of it would write the same file

static intptr_t record_capture_open(void) {
    record_capture_process = getpid();
    return open(TAU_RECORD_CAPTURE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static bool record_capture_write(intptr_t file, const char *bytes, size_t size_bytes) {
    const int kept = errno;
    const bool is_own = getpid() == record_capture_process;
    while (is_own && size_bytes > 0) {
        const ssize_t written = write((int)file, bytes, size_bytes);
        if (written > 0) {
            bytes += written;
            size_bytes -= (size_t)written;
        } else if (errno != EINTR) {
            break;
        }
    }
    errno = kept;
    return size_bytes == 0;
}
#else
enum { RECORD_SEMIHOSTING_OPEN = 1, RECORD_SEMIHOSTING_WRITE = 5, RECORD_SEMIHOSTING_MODE_WB = 5 };

static intptr_t record_semihosting(uintptr_t operation, const uintptr_t *words) {
#if defined(__arm__)
    register uintptr_t result __asm__("r0") = operation;
    register const uintptr_t *argument __asm__("r1") = words;
    __asm__ volatile("bkpt 0xab" : "+r"(result) : "r"(argument) : "memory");
#elif defined(__riscv)
    register uintptr_t result __asm__("a0") = operation;
    register const uintptr_t *argument __asm__("a1") = words;
    __asm__ volatile(".balign 16\n.option push\n.option norvc\n"
                     "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                     : "+r"(result)
                     : "r"(argument)
                     : "memory");
#else
#error "no semihosting here: define tau_record_wrap_port, and not TAU_RECORD_CAPTURE"
#endif
    return (intptr_t)result;
}

static intptr_t record_capture_open(void) {
    static const char name[] = TAU_RECORD_CAPTURE;
    const uintptr_t words[] = {(uintptr_t)name, RECORD_SEMIHOSTING_MODE_WB, sizeof name - 1};
    return record_semihosting(RECORD_SEMIHOSTING_OPEN, words);
}

static bool record_capture_write(intptr_t file, const char *bytes, size_t size_bytes) {
    const uintptr_t words[] = {(uintptr_t)file, (uintptr_t)bytes, size_bytes};
    return record_semihosting(RECORD_SEMIHOSTING_WRITE, words) == 0;
}
#endif

// The write function of a struct tau_record_port.
static bool record_capture(void *context, const void *bytes, size_t size_bytes) {
    static intptr_t file = -1;
    (void)context;
    if (file < 0) {
        file = record_capture_open();
    }
    return file >= 0 && record_capture_write(file, bytes, size_bytes);
}

#endif
#endif
