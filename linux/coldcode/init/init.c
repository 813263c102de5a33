// The first program of a kernel with cold code: calls the kernel in many ways, prints one hash of
// what came back, what the pager has counted, and powers off. Each line of it begins with "tau: ".
//
// The hash must not depend on time, addresses or process numbers. Of a call, success or the error
// is hashed; of files, the content.
#include "calls.h"

#define PAGE_BYTES 4096
#define CALLS 463
#define FNV_PRIME 1099511628211ul
#define FNV_START 14695981039346656037ul
#define CHILD_FLAGS 17  // SIGCHLD
#define POWER_OFF 0x4321fedc
#define READ_WRITE 3
#define PRIVATE_ANONYMOUS 0x22
#define FIXED 0x10
#define PAGE_ADDRESS 0x5a5a5000
#define CREATE_READ_WRITE 0102

static unsigned long hash = FNV_START;
static char buffer[PAGE_BYTES];

static void add(unsigned long value) {
    for (int byte = 0; byte < 8; byte++) {
        hash = (hash ^ (value >> 8 * byte & 0xff)) * FNV_PRIME;
    }
}

static void add_result(long result) {
    add(result < 0 ? (unsigned long)result : 1);
}

// ---- Console

static unsigned long length_of(const char *text) {
    unsigned long length = 0;
    while (text[length] != 0) {
        length++;
    }
    return length;
}

static void print(const char *text) {
    call(CALL_WRITE, 1, (long)text, (long)length_of(text), 0);
}

static void print_hash(void) {
    static const char digits[] = "0123456789abcdef";
    char text[17] = {0};
    for (int digit = 0; digit < 16; digit++) {
        text[digit] = digits[hash >> (60 - 4 * digit) & 15];
    }
    print("tau: hash ");
    print(text);
    print("\n");
}

// Prints the lines of a file, each with a prefix.
static void print_file(const char *path) {
    const long file = call(CALL_OPEN, AT_WORKING_DIRECTORY, (long)path, 0, 0);
    long bytes = call(CALL_READ, file, (long)buffer, PAGE_BYTES - 1, 0);
    char *line = buffer;
    if (bytes < 0) {
        return;
    }
    buffer[bytes] = 0;
    for (char *next = buffer; *next != 0; next++) {
        if (*next == '\n') {
            *next = 0;
            print("tau: ");
            print(line);
            print("\n");
            line = next + 1;
        }
    }
    call(CALL_CLOSE, file, 0, 0, 0);
}

// ---- Work

static void read_all(const char *path) {
    const long file = call(CALL_OPEN, AT_WORKING_DIRECTORY, (long)path, 0, 0);
    add_result(file);
    while (call(CALL_READ, file, (long)buffer, PAGE_BYTES, 0) > 0) {
    }
    call(CALL_CLOSE, file, 0, 0, 0);
}

static void use_proc(void) {
    static const char *const paths[] = {
        "/proc/cpuinfo",   "/proc/devices",   "/proc/filesystems", "/proc/interrupts",
        "/proc/iomem",     "/proc/meminfo",   "/proc/mounts",      "/proc/stat",
        "/proc/self/maps", "/proc/self/stat", "/proc/self/status", "/proc/vmallocinfo",
        "/proc/none",
    };
    for (unsigned path = 0; path < sizeof paths / sizeof *paths; path++) {
        read_all(paths[path]);
    }
}

static void use_files(void) {
    const long here = AT_WORKING_DIRECTORY;
    add_result(call(CALL_MKDIR, here, (long)"/d", 0700, 0));
    const long file = call(CALL_OPEN, here, (long)"/d/a", CREATE_READ_WRITE, 0600);
    for (int byte = 0; byte < PAGE_BYTES; byte++) {
        buffer[byte] = (char)(byte * 7);
    }
    for (int times = 0; times < 20; times++) {
        add((unsigned long)call(CALL_WRITE, file, (long)buffer, 3000, 0));
    }
    add((unsigned long)call(CALL_SEEK, file, 12345, 0, 0));
    add((unsigned long)call(CALL_READ, file, (long)buffer, 1000, 0));
    add((unsigned long)buffer[999]);
    add_result(call(CALL_TRUNCATE, file, 100, 0, 0));
    add_result(call(CALL_CLOSE, file, 0, 0, 0));
    add_result(call(CALL_LINK, here, (long)"/d/a", here, (long)"/d/b"));
    add_result(call(CALL_SYMLINK, (long)"a", here, (long)"/d/c", 0));
    add((unsigned long)call(CALL_READ_LINK, here, (long)"/d/c", (long)buffer, PAGE_BYTES));
    add_result(call(CALL_STAT, here, (long)"/d/c", (long)buffer, 0));
    add_result(call(CALL_RENAME, here, (long)"/d/b", here, (long)"/d/e"));
    const long folder = call(CALL_OPEN, here, (long)"/d", 0, 0);
    add((unsigned long)call(CALL_DIRECTORY, folder, (long)buffer, PAGE_BYTES, 0));
    add_result(call(CALL_CLOSE, folder, 0, 0, 0));
    add_result(call(CALL_UNLINK, here, (long)"/d/a", 0, 0));
    add_result(call(CALL_UNLINK, here, (long)"/d/c", 0, 0));
    add_result(call(CALL_UNLINK, here, (long)"/d/e", 0, 0));
    add_result(call(CALL_UNLINK, here, (long)"/d", 0x200, 0));
}

static void use_memory(void) {
    static const long memory_map[6] = {0, 64 * PAGE_BYTES, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0};
    const long memory = call6(CALL_MAP, memory_map);
    add_result(memory);
    for (int page = 0; page < 64; page++) {
        ((volatile char *)memory)[page * PAGE_BYTES] = (char)page;
    }
    add_result(call(CALL_PROTECT, memory, PAGE_BYTES, 1, 0));
    add_result(call(CALL_READ, 0, memory, 0, 0));
    add_result(call(CALL_UNMAP, memory, 64 * PAGE_BYTES, 0, 0));
}

// A process that reads from a pipe what this one writes.
static void use_processes(void) {
    int ends[2];
    int status = 0;
    add_result(call(CALL_PIPE, (long)ends, 0, 0, 0));
    const long child = call(CALL_CLONE, CHILD_FLAGS, 0, 0, 0);
    if (child == 0) {
        long sum = 0;
        call(CALL_CLOSE, ends[1], 0, 0, 0);
        for (long bytes = 1; bytes > 0; sum += bytes) {
            bytes = call(CALL_READ, ends[0], (long)buffer, 100, 0);
        }
        call(CALL_EXIT_GROUP, sum & 0x7f, 0, 0, 0);
    }
    call(CALL_CLOSE, ends[0], 0, 0, 0);
    for (int times = 0; times < 33; times++) {
        add((unsigned long)call(CALL_WRITE, ends[1], (long)buffer, 77, 0));
    }
    call(CALL_CLOSE, ends[1], 0, 0, 0);
    add_result(call(CALL_WAIT, child, (long)&status, 0, 0));
    add((unsigned long)status);
}

// ---- Calls with hostile arguments

// Calls that would end or stop the process, wait for what never comes, or limit its time.
static int is_skipped(int number) {
    static const short skipped[] = {63,  72,  73,  93,  94,  117, 133, 137, 139, 142,
                                    164, 188, 215, 220, 221, 226, 261, 281, 424, 435};
    for (unsigned place = 0; place < sizeof skipped / sizeof *skipped; place++) {
        if (skipped[place] == number) {
            return 1;
        }
    }
    return 0;
}

static void call_all(long argument, volatile long *page) {
    const long arguments[6] = {argument, argument, argument, argument, argument, argument};
    for (int number = 0; number < CALLS; number++) {
        for (unsigned word = 0; page != 0 && word < PAGE_BYTES / sizeof *page; word++) {
            page[word] = 0;
        }
        if (!is_skipped(number)) {
            add_result(call6(number, arguments));
        }
    }
}

// In a process of its own, since it loses its files, rights and limits.
static void call_hostile(int pattern) {
    int ends[2];
    int status = 0;
    unsigned long childs_hash = 0;
    call(CALL_PIPE, (long)ends, 0, 0, 0);
    const long pipe = call(CALL_DUP, ends[1], 0, 0, 0);
    const long child = call(CALL_CLONE, CHILD_FLAGS, 0, 0, 0);
    if (child == 0) {
        // A page with nothing mapped after it, at an address that is the same in each run.
        static const long page_map[6] = {
            PAGE_ADDRESS, PAGE_BYTES, READ_WRITE, PRIVATE_ANONYMOUS | FIXED, -1, 0};
        const long page = pattern == 3 ? call6(CALL_MAP, page_map) : 0;
        static const long patterns[] = {0, -1, 1, 0, (long)0xffffffff80000000ul};
        call_all(pattern == 3 ? page : patterns[pattern], (volatile long *)page);
        call(CALL_WRITE, pipe, (long)&hash, sizeof hash, 0);
        call(CALL_EXIT_GROUP, 0, 0, 0, 0);
    }
    call(CALL_CLOSE, ends[1], 0, 0, 0);
    call(CALL_CLOSE, pipe, 0, 0, 0);
    call(CALL_READ, ends[0], (long)&childs_hash, sizeof childs_hash, 0);
    call(CALL_WAIT, child, (long)&status, 0, 0);
    call(CALL_CLOSE, ends[0], 0, 0, 0);
    add(childs_hash);
    add((unsigned long)status);
}

void _start(void) {
    call(CALL_MKDIR, AT_WORKING_DIRECTORY, (long)"/proc", 0755, 0);
    call(CALL_MKDIR, AT_WORKING_DIRECTORY, (long)"/debug", 0755, 0);
    call(CALL_MOUNT, (long)"proc", (long)"/proc", (long)"proc", 0);
    call(CALL_MOUNT, (long)"debugfs", (long)"/debug", (long)"debugfs", 0);
    print("tau: begin\n");
    for (int round = 0; round < TAU_ROUNDS; round++) {
        use_proc();
        use_files();
        use_memory();
        use_processes();
        for (int pattern = 0; pattern < 5; pattern++) {
            call_hostile(pattern);
        }
    }
    print_hash();
    print_file("/proc/meminfo");
    print_file("/debug/coldcode/counters");
    print("tau: end\n");
    call(CALL_REBOOT, 0xfee1dead, 672274793, POWER_OFF, 0);
    for (;;) {
    }
}
