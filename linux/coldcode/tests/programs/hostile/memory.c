// Out of memory: a child takes all of it and is killed, and the rest still works.
#include "hostile.h"

#define PIECE_BYTES (1l << 20)
#define POPULATE 0x8000l

static void take_all(void) {
    for (;;) {
        ask(CALL_MAP, 0, PIECE_BYTES, MAP_READ_WRITE, MAP_PRIVATE_ANONYMOUS | POPULATE, -1, 0);
    }
}

static unsigned long write_until_full(void) {
    static char text[PAGE_BYTES];
    const long file = ask(CALL_OPEN, AT_WORKING_DIRECTORY, (long)"/g", CREATE | 2, 0600, 0, 0);
    const long written = ask(CALL_WRITE, file, (long)text, PAGE_BYTES, 0, 0, 0);
    ask(CALL_CLOSE, file, 0, 0, 0, 0, 0);
    return (unsigned long)written;
}

void exhaust_memory(void) {
    set_console_level(CONSOLE_LOUD);
    const long child = fork();
    int status = 0;
    if (child == 0) {
        take_all();
    }
    ask(CALL_WAIT, child, (long)&status, 0, 0, 0, 0);
    print_number("memory_status", (unsigned long)status);
    print_number("memory_written", write_until_full());
}
