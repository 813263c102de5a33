// Exception tables: the kernel reads and writes a program's memory where there is none. Each place
// has a fixup, whose code is cold too by the time that the fault is handled. A line for each group
// has the results, which are exact: how many bytes were transferred before the bad page, or EFAULT.
#include "hostile.h"

enum calls {
    GET_DIRECTORY = 17,
    EVENT_CONTROL = 21,
    FILE_CONTROL = 25,
    IO_CONTROL = 29,
    FILE_SYSTEM = 43,
    VECTOR_READ = 65,
    SELECT = 72,
    POLL = 73,
    SET_ADDRESS = 96,
    FUTEX = 98,
    ROBUST_LIST = 99,
    SLEEP = 101,
    TIMER_CREATE = 107,
    TIME_GET = 113,
    SIGNAL_STACK = 132,
    SIGNAL_RETURN = 139,
    NAME = 160,
    LIMIT_GET = 163,
    TIME_OF_DAY = 169,
    INFORMATION = 179,
    QUEUE_SEND = 189,
    EXECUTE = 221,
    PRIORITY_CONTROL = 167,
    RANDOM = 278,
    STATX = 291,
};

static const long bad[] = {0, 1, UNMAPPED, UNMAPPED + 5, KERNEL_CODE, 1l << 40, -8, READ_ONLY};
#define BADS (sizeof bad / sizeof *bad)
#define COPIED_TOGETHER 64l
static long scratch;

static void end_group(void) {
    print("\n");
}

static void group(const char *name) {
    print("tau: table_");
    print(name);
    print(" _");
}

// A result: a number of bytes, or an error with a minus.
static void show(long result) {
    print(result < 0 ? ".-" : ".");
    print_hex((unsigned long)(result < 0 ? -result : result));
}

static void show_error(long result) {
    show(result < 0 ? result : 0);
}

static void fill(char byte) {
    for (volatile char *next = (char *)DATA; next < (char *)DATA + PAGE_BYTES; next++) {
        *next = byte;
    }
}

// The call with a bad address in one place of its arguments.
static void with_bad(long number, long *arguments, int place) {
    for (unsigned index = 0; index < BADS; index++) {
        arguments[place] = bad[index];
        show_error(call6(number, arguments));
    }
}

static void use_all_bad(void) {
    static struct time no_time;
    struct {
        const char *name;
        int place;
        long number;
        long arguments[6];
    } calls[] = {
        {"getcwd", 0, GET_DIRECTORY, {0, 100}},
        {"open", 1, CALL_OPEN, {AT_WORKING_DIRECTORY, 0, 0, 0}},
        {"pipe", 0, CALL_PIPE, {0}},
        {"statfs", 1, FILE_SYSTEM, {STRINGS, 0}},
        {"readlink", 2, CALL_READ_LINK, {AT_WORKING_DIRECTORY, (long)"/link", 0, 100}},
        {"stat", 2, CALL_STAT, {AT_WORKING_DIRECTORY, STRINGS, 0, 0}},
        {"statx", 4, STATX, {AT_WORKING_DIRECTORY, STRINGS, 0, 0x7ff, 0}},
        {"select", 1, SELECT, {64, 0, 0, 0, (long)&no_time, 0}},
        {"poll", 0, POLL, {0, 3, (long)&no_time, 0, 8}},
        {"futex_wait", 0, FUTEX, {0, 0, 77, 0, 0, 0}},
        {"futex_wake_op", 4, FUTEX, {DATA, 5, 1, 1, 0, 0x10001}},
        {"futex_requeue", 4, FUTEX, {DATA, 4, 1, 1, 0, 0}},
        {"nanosleep", 0, SLEEP, {0, 0}},
        {"timer_create", 2, TIMER_CREATE, {0, 0, 0}},
        {"clock_gettime", 1, TIME_GET, {0, 0}},
        {"sigaction", 1, CALL_SIGNAL_ACTION, {10, 0, 0, 8}},
        {"sigaction_old", 2, CALL_SIGNAL_ACTION, {10, 0, 0, 8}},
        {"sigprocmask", 2, CALL_SIGNAL_MASK, {0, 0, 0, 8}},
        {"sigaltstack", 0, SIGNAL_STACK, {0, 0}},
        {"uname", 0, NAME, {0}},
        {"getrlimit", 1, LIMIT_GET, {3, 0}},
        {"gettimeofday", 0, TIME_OF_DAY, {0, 0}},
        {"sysinfo", 0, INFORMATION, {0}},
        {"prctl_name", 1, PRIORITY_CONTROL, {15, 0}},
        {"wait", 1, CALL_WAIT, {-1, 0, 1, 0}},
        {"mount", 4, CALL_MOUNT, {STRINGS, STRINGS, STRINGS + 16, 0, 0}},
        {"getdents", 1, CALL_DIRECTORY, {3, 0, 400}},
        {"msgsnd", 1, QUEUE_SEND, {0, 0, 8, 0}},
        {"lock", 2, FILE_CONTROL, {3, 5, 0}},
        {"ioctl", 2, IO_CONTROL, {1, 0x5401, 0}},
        {"execve", 0, EXECUTE, {0, 0, 0}},
        {"random", 0, RANDOM, {0, 8, 0}},
    };
    const long folder = ask(CALL_OPEN, AT_WORKING_DIRECTORY, (long)"/", 0, 0, 0, 0);
    ask(CALL_DUP_TO, folder, 3, 0, 0, 0, 0);
    ask(CALL_SYMLINK, (long)"/", AT_WORKING_DIRECTORY, (long)"/link", 0, 0, 0);
    for (unsigned row = 0; row < sizeof calls / sizeof *calls; row++) {
        group(calls[row].name);
        with_bad(calls[row].number, calls[row].arguments, calls[row].place);
        end_group();
    }
}

static void write_last_bytes(long file, long place) {
    const long vectors[4] = {DATA, 8, place, PAGE_BYTES};
    int ends[2];
    ask(CALL_PIPE, (long)ends, 0, 0, 0, 0, 0);
    show(ask(CALL_WRITE, ends[1], place, PAGE_BYTES, 0, 0, 0));
    show(ask(CALL_WRITE_VECTOR, ends[1], (long)vectors, 2, 0, 0, 0));
    ask(CALL_CLOSE, ends[0], 0, 0, 0, 0, 0);
    ask(CALL_CLOSE, ends[1], 0, 0, 0, 0, 0);
    if (place % COPIED_TOGETHER != 0) {
        // Linux 6.12 for riscv64 would never return: it copies none of the bytes that it can read,
        // and tries again.
        return;
    }
    ask(CALL_SEEK, file, 0, 0, 0, 0, 0);
    show(ask(CALL_WRITE, file, place, PAGE_BYTES, 0, 0, 0));
    show(ask(CALL_WRITE_VECTOR, file, (long)vectors, 2, 0, 0, 0));
}

static void read_last_bytes(long file, long place) {
    const long vectors[4] = {DATA, 8, place, PAGE_BYTES};
    ask(CALL_SEEK, file, 0, 0, 0, 0, 0);
    show(ask(CALL_READ, file, place, PAGE_BYTES, 0, 0, 0));
    ask(CALL_SEEK, file, 0, 0, 0, 0, 0);
    show(ask(VECTOR_READ, file, (long)vectors, 2, 0, 0, 0));
    show(ask(VECTOR_READ, file, place, 9, 0, 0, 0));
    show(*(volatile char *)(DATA + PAGE_BYTES - 1));
}

// The last bytes of a page with nothing after it: what fits is transferred.
static void use_last_bytes(void) {
    static const short lefts[] = {1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000, 4095, 4096};
    const long here = AT_WORKING_DIRECTORY;
    const long file = ask(CALL_OPEN, here, (long)"/t", CREATE | READ_WRITE_FILE, 0600, 0, 0);
    fill('t');
    ask(CALL_WRITE, file, DATA, PAGE_BYTES, 0, 0, 0);
    ask(CALL_WRITE, file, DATA, PAGE_BYTES, 0, 0, 0);
    for (unsigned index = 0; index < sizeof lefts / sizeof *lefts; index++) {
        const long place = DATA + PAGE_BYTES - lefts[index];
        fill((char)('a' + index));
        print("tau: table_last_bytes_");
        print_hex((unsigned long)lefts[index]);
        print(" _");
        // A name without an end.
        show(ask(CALL_OPEN, here, place, 0, 0, 0, 0));
        show_error(ask(GET_DIRECTORY, place, 2 * PAGE_BYTES, 0, 0, 0, 0));
        show_error(ask(NAME, place, 0, 0, 0, 0, 0));
        fill((char)('a' + index));
        write_last_bytes(file, place);
        read_last_bytes(file, place);
        end_group();
    }
    ask(CALL_CLOSE, file, 0, 0, 0, 0, 0);
}

// What the kernel touches of a process that ends, or that gets a signal.
static void in_child(const char *name, void (*act)(void)) {
    group(name);
    const long child = fork();
    if (child == 0) {
        act();
        ask(CALL_EXIT, 5, 0, 0, 0, 0, 0);
    }
    show((long)end_of(child));
    end_group();
}

static void end_with_bad_address(void) {
    ask(SET_ADDRESS, UNMAPPED, 0, 0, 0, 0, 0);
}

static void end_with_bad_list(void) {
    ask(ROBUST_LIST, READ_ONLY, 24, 0, 0, 0, 0);
}

static void end_with_list_to_nowhere(void) {
    long *const list = (long *)DATA;
    list[0] = UNMAPPED;
    list[1] = -16;
    list[2] = KERNEL_CODE;
    ask(ROBUST_LIST, DATA, 24, 0, 0, 0, 0);
}

static void handle(int signal) {
    ask(CALL_EXIT, 100 + signal, 0, 0, 0, 0, 0);
}

static void signal_to(long stack_bytes) {
    const unsigned long action[3] = {(unsigned long)handle, 0x08000000, 0};
    const long stack[3] = {UNMAPPED - stack_bytes, 0, stack_bytes + PAGE_BYTES};
    ask(SIGNAL_STACK, (long)stack, 0, 0, 0, 0, 0);
    ask(CALL_SIGNAL_ACTION, 10, (long)action, 0, 8, 0, 0);
    ask(CALL_KILL, ask(CALL_PROCESS, 0, 0, 0, 0, 0, 0), 10, 0, 0, 0, 0);
}

static void signal_to_no_stack(void) {
    signal_to(0);
}

static void signal_to_a_stack(void) {
    const unsigned long action[3] = {(unsigned long)handle, 0x08000000, 0};
    const long stack[3] = {DATA, 0, PAGE_BYTES};
    ask(SIGNAL_STACK, (long)stack, 0, 0, 0, 0, 0);
    ask(CALL_SIGNAL_ACTION, 10, (long)action, 0, 8, 0, 0);
    ask(CALL_KILL, ask(CALL_PROCESS, 0, 0, 0, 0, 0, 0), 10, 0, 0, 0, 0);
}

static void return_from_no_signal(void) {
    __asm__ volatile("mv sp, %0\nli a7, 139\necall\nunimp" : : "r"(UNMAPPED) : "memory");
}

static void jump_into_kernel(void) {
    ((void (*)(void))KERNEL_CODE)();
}

static void read_kernel(void) {
    scratch = *(volatile long *)KERNEL_CODE;
}

static void write_read_only(void) {
    *(volatile long *)READ_ONLY = 1;
}

void use_exception_tables(void) {
    volatile char *const name = (volatile char *)STRINGS;
    name[0] = '/';
    name[1] = 0;
    fill(0);
    use_all_bad();
    use_last_bytes();
    in_child("end_address", end_with_bad_address);
    in_child("end_list", end_with_bad_list);
    in_child("end_list_to_nowhere", end_with_list_to_nowhere);
    in_child("signal_no_stack", signal_to_no_stack);
    in_child("signal_a_stack", signal_to_a_stack);
    in_child("signal_return", return_from_no_signal);
    in_child("jump_into_kernel", jump_into_kernel);
    in_child("read_kernel", read_kernel);
    in_child("write_read_only", write_read_only);
}
