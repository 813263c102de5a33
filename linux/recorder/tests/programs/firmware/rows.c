// A target's stream of the rows that stdin names, to the file that is the argument: "m ADDRESS
// SIZE" and "f ADDRESS" (malloc, free), "t NUMBER" (the thread of the rows from here on), "b 0"
// (flush, which ends the block), "e 0" (the program ends). Rows after the last two of these are
// left in the buffer.
#include <stdio.h>

#include "core/ports/record.h"

static uint32_t now;

static bool send(void *context, const void *bytes, size_t size_bytes) {
    return fwrite(bytes, 1, size_bytes, context) == size_bytes;
}

static uint32_t ticks(void *context) {
    (void)context;
    return now++;
}

int main(int count, char **arguments) {
    static struct tau_record recording;
    FILE *out = count == 2 ? fopen(arguments[1], "wb") : NULL;
    if (out == NULL) {
        return 1;
    }
    tau_record_start(&recording, &(struct tau_record_port){send, ticks, out, 1000});
    char what;
    unsigned int value, size;
    while (scanf(" %c %x", &what, &value) == 2) {
        if (what == 'm' && scanf("%u", &size) == 1) {
            tau_record_malloc(&recording, value, size, 0);
        } else if (what == 'f') {
            tau_record_free(&recording, value, 0);
        } else if (what == 't') {
            tau_record_thread(&recording, value);
        } else if (what == 'b') {
            tau_record_flush(&recording);
        } else {
            tau_record_end(&recording);
        }
    }
    return fclose(out);
}
