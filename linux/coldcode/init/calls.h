// System calls of riscv64 Linux, without a C library.
#ifndef TAU_INIT_CALLS_H
#define TAU_INIT_CALLS_H

enum call {
    CALL_DUP = 23,
    CALL_MKDIR = 34,
    CALL_UNLINK = 35,
    CALL_SYMLINK = 36,
    CALL_LINK = 37,
    CALL_MOUNT = 40,
    CALL_TRUNCATE = 46,
    CALL_OPEN = 56,
    CALL_CLOSE = 57,
    CALL_PIPE = 59,
    CALL_DIRECTORY = 61,
    CALL_SEEK = 62,
    CALL_READ = 63,
    CALL_WRITE = 64,
    CALL_READ_LINK = 78,
    CALL_STAT = 79,
    CALL_EXIT_GROUP = 94,
    CALL_NANOSLEEP = 101,
    CALL_CLOCK = 113,
    CALL_KILL = 129,
    CALL_REBOOT = 142,
    CALL_UNAME = 160,
    CALL_PID = 172,
    CALL_UNMAP = 215,
    CALL_CLONE = 220,
    CALL_MAP = 222,
    CALL_PROTECT = 226,
    CALL_WAIT = 260,
    CALL_RENAME = 276,
};

#define AT_WORKING_DIRECTORY (-100L)

static inline long call6(long number, const long *arguments) {
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = arguments[0];
    register long a1 __asm__("a1") = arguments[1];
    register long a2 __asm__("a2") = arguments[2];
    register long a3 __asm__("a3") = arguments[3];
    register long a4 __asm__("a4") = arguments[4];
    register long a5 __asm__("a5") = arguments[5];
    __asm__ volatile("ecall"
                     : "+r"(a0)
                     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                     : "memory");
    return a0;
}

static inline long call(enum call number, long a, long b, long c, long d) {
    const long arguments[6] = {a, b, c, d, 0, 0};
    return call6(number, arguments);
}

#endif
