// Oopses and warnings of the kernel, by its own module for such tests. Each ends the process that
// asked for it; the console has the backtraces.
#include "hostile.h"

static void provoke(const char *what) {
    static const struct time a_while = {0, 100000000};
    long length = 0;
    while (what[length] != 0) {
        length++;
    }
    print("tau: provoke ");
    print(what);
    print("\n");
    const long child = fork();
    if (child == 0) {
        const long file = ask(CALL_OPEN, AT_WORKING_DIRECTORY, (long)"/debug/provoke-crash/DIRECT",
                              READ_WRITE_FILE, 0, 0, 0);
        const long written = ask(CALL_WRITE, file, (long)what, length, 0, 0, 0);
        ask(CALL_EXIT, written < 0 ? -written : 0, 0, 0, 0, 0, 0);
    }
    const unsigned long outcome = end_of(child);
    // The kernel's messages come later than lines of programs.
    ask(CALL_NANOSLEEP, (long)&a_while, 0, 0, 0, 0, 0);
    print("tau: provoked_");
    print(what);
    print(" ");
    print_hex(outcome);
    print("\n");
}

void provoke_oopses(void) {
    static const char *const all[] = {"WARNING",        "WARNING_MESSAGE",  "EXCEPTION",
                                      "EXEC_USERSPACE", "ACCESS_USERSPACE", "REFCOUNT_INC_ZERO",
                                      "EXCEPTION"};
    set_console_level(CONSOLE_LOUD);
    for (unsigned number = 0; number < sizeof all / sizeof *all; number++) {
        provoke(all[number]);
    }
}

// A trap by `ebreak` in the kernel counts as an interrupt, in which no process can be ended.
void provoke_panic(void) {
    set_console_level(CONSOLE_LOUD);
    provoke("BUG");
}

void write_to_code(void) {
    set_console_level(CONSOLE_LOUD);
    provoke("WRITE_KERN");
}
