// Every system call with hostile arguments, each in a process of its own. A line for each number
// has the outcome of each call: 0 or the error as an exit code (e00 is EFAULT), a signal, or a
// timeout.
#include "hostile.h"

#define CALLS 480l
#define STATUS_NO_CALL (38ul << 8)  // ENOSYS
#define FILES 7l
#define CONSOLE_FILE 30l
#define HIGH_FILE 40l
#define CALLS_PER_OPENING 8l

static unsigned long random_state;

static unsigned long random_word(void) {
    random_state += 0x9e3779b97f4a7c15ul;
    unsigned long word = random_state;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ul;
    word = (word ^ word >> 27) * 0x94d049bb133111ebul;
    return word ^ word >> 31;
}

// Files 0 to 7, small numbers, sizes, addresses good and bad, and bits.
static long random_value(void) {
    static const long values[] = {
        0,
        1,
        -1,
        -100,
        PAGE_BYTES - 1,
        PAGE_BYTES,
        1l << 20,
        0x7fffffff,
        (long)0x80000000ul,
        (long)(1ul << 63),
        DATA,
        DATA + 8,
        DATA + PAGE_BYTES - 8,
        DATA + PAGE_BYTES - 3,
        READ_ONLY,
        UNMAPPED,
        KERNEL_CODE,
        1l << 40,
    };
    const unsigned long count = sizeof values / sizeof *values;
    const unsigned long word = random_word();
    switch (word % 8) {
    case 0:
    case 1:
        return (long)(word >> 8 & 7);
    case 2:
        return (long)(word >> 8 & 63);
    case 3:
        return STRINGS + (long)(word >> 8 & 7) * 16;
    case 4:
        return (long)(word >> 8);
    default:
        return values[(word >> 8) % count];
    }
}

static void fill_pages(void) {
    static const char *const strings[] = {"/f", "/d", "/n", "/d/x", "", "f", "/proc", "ramfs"};
    volatile long *const data = (volatile long *)DATA;
    for (long word = 0; word < PAGE_BYTES / 8; word++) {
        data[word] = random_value();
    }
    for (long number = 0; number < 8; number++) {
        volatile char *target = (volatile char *)STRINGS + number * 16;
        for (const char *next = strings[number]; *next != 0; next++) {
            *target++ = *next;
        }
        *target = 0;
    }
}

// A file, a folder, both ends of a pipe, a file of the kernel, an event counter.
static void open_files(void) {
    static const char *const names[] = {"/f", "/d", "/n"};
    const long here = AT_WORKING_DIRECTORY;
    int ends[2];
    for (unsigned name = 0; name < 3; name++) {
        ask(CALL_UNMOUNT, (long)names[name], 2, 0, 0, 0, 0);
        ask(CALL_UNLINK, here, (long)"/d/x", 0, 0, 0, 0);
        ask(CALL_UNLINK, here, (long)names[name], 0, 0, 0, 0);
        ask(CALL_UNLINK, here, (long)names[name], 0x200, 0, 0, 0);
    }
    ask(CALL_MKDIR, here, (long)"/d", 0700, 0, 0, 0);
    ask(CALL_PIPE, (long)ends, 0, 0, 0, 0, 0);
    const long opened[FILES] = {
        ask(CALL_OPEN, here, (long)"/f", CREATE | READ_WRITE_FILE | NOT_BLOCKING, 0600, 0, 0),
        ask(CALL_OPEN, here, (long)"/d", 0, 0, 0, 0),
        ends[0],
        ends[1],
        ask(CALL_OPEN, here, (long)"/proc/stat", 0, 0, 0, 0),
        ask(CALL_EVENT, 0, 0, 0, 0, 0, 0),
        ask(CALL_OPEN, here, (long)"/", 0, 0, 0, 0),
    };
    for (long number = 0; number < FILES; number++) {
        ask(CALL_DUP_TO, opened[number], HIGH_FILE + number, 0, 0, 0, 0);
        ask(CALL_CLOSE, opened[number], 0, 0, 0, 0, 0);
    }
    for (long number = 0; number < FILES; number++) {
        ask(CALL_DUP_TO, HIGH_FILE + number, number, 0, 0, 0, 0);
        ask(CALL_CLOSE, HIGH_FILE + number, 0, 0, 0, 0, 0);
    }
}

// Calls on another process are made on the caller: init would lose its limits or its memory. A new
// process sends no signal when it ends: whether its parent is still there is a matter of time.
static void keep_outcome(long number, long *arguments) {
    enum {
        IO_PRIORITY = 30,
        TRACE = 117,
        PARAMETERS = 118,
        SCHEDULER = 119,
        AFFINITY = 122,
        PRIORITY = 140,
        CLONE = 220,
        LIMITS = 261,
        READ_MEMORY = 270,
        WRITE_MEMORY = 271,
        ATTRIBUTES = 274,
        CLONE_BY_FIELDS = 435
    };
    enum { SIGNAL_BITS = 0xff, SIGNAL_FIELD = 4 };
    volatile long *const data = (volatile long *)DATA;
    switch (number) {
    case CLONE:
        arguments[0] &= ~(long)SIGNAL_BITS;
        break;
    case CLONE_BY_FIELDS:
        data[SIGNAL_FIELD] = 0;      // of fields at DATA
        data[SIGNAL_FIELD + 1] = 0;  // and at DATA + 8
        break;
    case PARAMETERS:
    case SCHEDULER:
    case AFFINITY:
    case LIMITS:
    case ATTRIBUTES:
        arguments[0] = 0;
        break;
    case READ_MEMORY:
    case WRITE_MEMORY:
        arguments[0] = ask(CALL_PROCESS, 0, 0, 0, 0, 0, 0);
        break;
    case IO_PRIORITY:
    case PRIORITY:
        arguments[0] = number == PRIORITY ? 0 : 1;
        arguments[1] = 0;
        break;
    case TRACE:
        arguments[1] = 0;
        break;
    default:
        break;
    }
}

// In registers only: what clone starts may run on the same stack.
static void call_and_exit(long number, const long *arguments) {
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = arguments[0];
    register long a1 __asm__("a1") = arguments[1];
    register long a2 __asm__("a2") = arguments[2];
    register long a3 __asm__("a3") = arguments[3];
    register long a4 __asm__("a4") = arguments[4];
    register long a5 __asm__("a5") = arguments[5];
    __asm__ volatile("ecall\n"
                     "bltz a0, 1f\n"
                     "li a0, 0\n"
                     "1: neg a0, a0\n"
                     "li a7, 94\n"
                     "ecall\n"
                     "unimp"
                     : "+r"(a0), "+r"(a7)
                     : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                     : "memory");
}

// Timers that a call starts could end the process before its exit, or not.
static void ignore_timers(void) {
    static const char timers[] = {14, 26, 27};
    const unsigned long ignore[4] = {1, 0, 0, 0};
    for (unsigned timer = 0; timer < sizeof timers; timer++) {
        ask(CALL_SIGNAL_ACTION, timers[timer], (long)ignore, 0, 8, 0, 0);
    }
}

static unsigned long outcome_of(long number, long round) {
    random_state = (unsigned long)(TAU_SEED)*0xd1342543de82ef95ul;
    random_state += (unsigned long)(number * 64 + round);
    const long child = fork();
    if (child == 0) {
        long arguments[6];
        fill_pages();
        for (int place = 0; place < 6; place++) {
            arguments[place] = random_value();
        }
        keep_outcome(number, arguments);
        call_and_exit(number, arguments);
    }
    return end_of(child);
}

static void print_name(long number) {
    char name[] = "tau: call_000 ";
    name[10] = (char)('0' + number / 100);
    name[11] = (char)('0' + number / 10 % 10);
    name[12] = (char)('0' + number % 10);
    print(name);
}

void fuzz(void) {
    int status;
    // Files 0 to 6 are for the calls.
    ask(CALL_DUP_TO, 1, CONSOLE_FILE, 0, 0, 0, 0);
    print_to(CONSOLE_FILE);
    ignore_timers();
    for (long number = 0; number < CALLS; number++) {
        if (number % CALLS_PER_OPENING == 0) {
            open_files();
        }
        print_name(number);
        for (long round = 0; round < TAU_ROUNDS; round++) {
            const unsigned long outcome = outcome_of(number, round);
            print_hex(outcome);
            if (outcome == STATUS_NO_CALL) {
                break;
            }
            print(".");
        }
        print("\n");
        // A call may have changed what the kernel says.
        set_console_level(CONSOLE_SILENT);
        while (ask(CALL_WAIT, -1, (long)&status, 1, 0, 0, 0) > 0) {
        }
    }
    for (long file = 0; file < FILES; file++) {
        ask(CALL_DUP_TO, CONSOLE_FILE, file, 0, 0, 0, 0);
    }
}
