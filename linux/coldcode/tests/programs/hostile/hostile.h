// Shared by the parts of the hostile program. Each part prints lines "tau: NAME VALUE", which must
// be the same whether or not the kernel's code is paged.
#ifndef TAU_HOSTILE_H
#define TAU_HOSTILE_H

#include "linux/coldcode/init/calls.h"

#define PAGE_BYTES 4096l
// The same addresses in every run. No page is after DATA, and none after READ_ONLY.
#define DATA 0x5a5a5000l
#define READ_ONLY 0x5a5a7000l
#define UNMAPPED 0x5a5a6000l
#define STRINGS 0x5a5a9000l
#define KERNEL_CODE ((long)0xffffffff80040000ul)

enum more_calls {
    CALL_EVENT = 19,
    CALL_DUP_TO = 24,
    CALL_UNMOUNT = 39,
    CALL_WRITE_VECTOR = 66,
    CALL_READ_AT = 67,
    CALL_EXIT = 93,
    CALL_KERNEL_LOG = 116,
    CALL_SIGNAL_ACTION = 134,
    CALL_SIGNAL_MASK = 135,
    CALL_SIGNAL_WAIT = 137,
    CALL_LIMIT = 164,
    CALL_PROCESS = 172,
};

#define CREATE 0100l
#define READ_WRITE_FILE 2l
#define NOT_BLOCKING 04000l
#define CHILD_SIGNAL 17l
#define KILL_SIGNAL 9l
#define MAP_READ_WRITE 3l
#define MAP_PRIVATE_ANONYMOUS 0x22l
#define MAP_AT 0x10l

struct time {
    long seconds;
    long nanoseconds;
};

static inline long ask(long number, long a, long b, long c, long d, long e, long f) {
    const long arguments[6] = {a, b, c, d, e, f};
    return call6(number, arguments);
}

// ---- Printing

void print_to(long file);
void print(const char *text);
void print_number(const char *name, unsigned long value);  // "tau: NAME VALUE", in hexadecimal
void print_hex(unsigned long value);

// Messages of the kernel would fall into lines of ours.
#define CONSOLE_SILENT 1l
#define CONSOLE_LOUD 8l
void set_console_level(long level);

// ---- Processes

#define STATUS_TIMEOUT 0x10000ul
#define STATUS_NO_CHILD 0x20000ul

// Waits for a child, and kills it if it takes longer than any call that ends.
unsigned long end_of(long child);

// 0 in the child, as clone; a child has the signal SIGCHLD.
long fork(void);

// ---- Parts

void fuzz(void);
void use_exception_tables(void);
void dump_core(void);
void exhaust_memory(void);
void provoke_oopses(void);
void provoke_panic(void);
void write_to_code(void);

#endif
