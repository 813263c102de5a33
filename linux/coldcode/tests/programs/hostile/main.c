// The first program of a kernel that is treated badly. -DTAU_PARTS says which parts run: bits in
// the order of hostile.h.
#include "hostile.h"

#define WAIT_SECONDS 2l
#define WAIT_NANOSECONDS 500000000l  // half a second more, since arguments are whole seconds
#define POWER_OFF 0x4321fedcl

// The compiler may call these.
void *memcpy(void *target, const void *source, unsigned long bytes) {
    const char *from = source;
    for (volatile char *next = target; bytes > 0; bytes--) {
        *next++ = *from++;
    }
    return target;
}

void *memset(void *target, int byte, unsigned long bytes) {
    for (volatile char *next = target; bytes > 0; bytes--) {
        *next++ = (char)byte;
    }
    return target;
}

// ---- Printing

static long console = 1;

void print_to(long file) {
    console = file;
}

void print(const char *text) {
    long length = 0;
    while (text[length] != 0) {
        length++;
    }
    ask(CALL_WRITE, console, (long)text, length, 0, 0, 0);
}

void print_hex(unsigned long value) {
    char digits[17];
    char *next = digits + 16;
    *next = 0;
    do {
        *--next = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value != 0);
    print(next);
}

void print_number(const char *name, unsigned long value) {
    print("tau: ");
    print(name);
    print(" ");
    print_hex(value);
    print("\n");
}

void set_console_level(long level) {
    ask(CALL_KERNEL_LOG, 8, 0, level, 0, 0, 0);
}

static void print_counters(void) {
    static char text[PAGE_BYTES];
    static const char path[] = "/debug/coldcode/counters";
    const long file = ask(CALL_OPEN, AT_WORKING_DIRECTORY, (long)path, 0, 0, 0, 0);
    const long bytes = ask(CALL_READ, file, (long)text, PAGE_BYTES - 1, 0, 0, 0);
    char *line = text;
    for (long place = 0; place < bytes; place++) {
        if (text[place] == '\n') {
            text[place] = 0;
            print("tau: ");
            print(line);
            print("\n");
            line = text + place + 1;
        }
    }
}

// ---- Processes

long fork(void) {
    return ask(CALL_CLONE, CHILD_SIGNAL, 0, 0, 0, 0, 0);
}

unsigned long end_of(long child) {
    static const struct time limit = {WAIT_SECONDS, WAIT_NANOSECONDS};
    const unsigned long ended = 1ul << (CHILD_SIGNAL - 1);
    int status = 0;
    unsigned long outcome = 0;
    if (child < 0) {
        return STATUS_NO_CHILD;
    }
    while (ask(CALL_WAIT, child, (long)&status, 1, 0, 0, 0) == 0) {
        if (ask(CALL_SIGNAL_WAIT, (long)&ended, 0, (long)&limit, sizeof ended, 0, 0) < 0) {
            outcome = STATUS_TIMEOUT;
            ask(CALL_KILL, child, KILL_SIGNAL, 0, 0, 0, 0);
        }
    }
    return outcome != 0 ? outcome : (unsigned)status;
}

// ---- Parts

static void map_at(long address, long protection) {
    ask(CALL_MAP, address, PAGE_BYTES, protection, MAP_PRIVATE_ANONYMOUS | MAP_AT, -1, 0);
}

void _start(void) {
    static void (*const parts[])(void) = {fuzz,           use_exception_tables, dump_core,
                                          exhaust_memory, provoke_oopses,       provoke_panic,
                                          write_to_code};
    const unsigned long ended = 1ul << (CHILD_SIGNAL - 1);
    ask(CALL_MKDIR, AT_WORKING_DIRECTORY, (long)"/proc", 0755, 0, 0, 0);
    ask(CALL_MKDIR, AT_WORKING_DIRECTORY, (long)"/debug", 0755, 0, 0, 0);
    ask(CALL_MOUNT, (long)"proc", (long)"/proc", (long)"proc", 0, 0, 0);
    ask(CALL_MOUNT, (long)"debugfs", (long)"/debug", (long)"debugfs", 0, 0, 0);
    ask(CALL_SIGNAL_MASK, 0, (long)&ended, 0, sizeof ended, 0, 0);
    map_at(DATA, MAP_READ_WRITE);
    map_at(READ_ONLY, 1);
    map_at(STRINGS, MAP_READ_WRITE);
    print("tau: begin\n");
    for (unsigned part = 0; part < sizeof parts / sizeof *parts; part++) {
        if ((TAU_PARTS) >> part & 1) {
            set_console_level(CONSOLE_SILENT);
            parts[part]();
        }
    }
    print_counters();
    print("tau: end\n");
    ask(CALL_REBOOT, 0xfee1dead, 672274793, POWER_OFF, 0, 0, 0);
    for (;;) {
    }
}
