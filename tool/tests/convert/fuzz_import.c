// Feeds damaged CSV and heaptrack text to the importer in pieces of random length: flipped bits,
// bytes of meaning put in, lines cut and doubled. Built with sanitizers by test_trace_damage.py.
//
//   fuzz_import TEXT SCRATCH FORM SEED ROUNDS        FORM is 0 for CSV, 1 for heaptrack
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/native/convert/import.h"

static uint64_t state;

static uint64_t random_below(uint64_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

static size_t damage(char *text, size_t count) {
    static const char meaning[] = "\n\r,\"+-xtvmcX 0f9\\";
    for (uint64_t times = 1 + random_below(4); times > 0 && count > 2; times--) {
        size_t at = (size_t)random_below(count);
        switch (random_below(4)) {
        case 0:
            text[at] = (char)(text[at] ^ (1 << random_below(8)));
            break;
        case 1:
            text[at] = meaning[random_below(sizeof meaning)];
            break;
        case 2:
            memmove(text + at, text + at + 1, count - at - 1);
            count--;
            break;
        default:
            memcpy(text + at, text, count - at < at ? count - at : at);
            break;
        }
    }
    return random_below(8) == 0 ? (size_t)random_below(count) : count;
}

static void import(const char *text, size_t count, const char *scratch, int form) {
    enum tau_trace_status status;
    struct tau_trace_writer *writer = tau_trace_writer_open(scratch, "{}", &status);
    if (writer == NULL) {
        exit(2);
    }
    struct tau_trace_importer *importer =
        tau_trace_importer_open(writer, (enum tau_trace_import_format)form);
    bool good = true;
    for (size_t at = 0; good && at < count;) {
        size_t piece = 1 + (size_t)random_below(300);
        piece = piece < count - at ? piece : count - at;
        // A piece of its own memory, so that reading beyond it is seen.
        char *copy = malloc(piece);
        memcpy(copy, text + at, piece);
        good = tau_trace_importer_feed(importer, copy, piece);
        free(copy);
        at += piece;
    }
    good = good && tau_trace_importer_end(importer);
    if (good != (tau_trace_importer_message(importer)[0] == '\0')) {
        abort();  // a failure has a cause, a success has none
    }
    tau_trace_importer_close(importer);
    if (tau_trace_writer_close(writer) != TAU_TRACE_OK) {
        abort();
    }
}

int main(int count, char **values) {
    if (count != 6) {
        return 2;
    }
    FILE *file = fopen(values[1], "rb");
    char *text = malloc(1u << 20), *copy = malloc(1u << 20);
    if (file == NULL || text == NULL || copy == NULL) {
        return 2;
    }
    size_t whole = fread(text, 1, 1u << 20, file);
    fclose(file);
    state = strtoull(values[4], NULL, 0) * 2 + 1;
    for (unsigned long round = strtoul(values[5], NULL, 0); round > 0; round--) {
        memcpy(copy, text, whole);
        import(copy, damage(copy, whole), values[2], atoi(values[3]));
    }
    free(text);
    free(copy);
    return 0;
}
