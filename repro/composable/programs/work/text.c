// A parser of JSON: it checks the text, and writes the kind and the place of each value.
#include "repro/composable/programs/work/work.h"

enum { DEPTH_MAX = 32, TOKEN_MAX_BYTES = 16 };
static char stack[DEPTH_MAX];
static uint32_t text_bytes;

static char *written(char *to, const char *from) {
    while (*from != 0) {
        *to++ = *from++;
    }
    return to;
}

// Nested arrays and objects of numbers and strings, as the seed has it.
void tau_iterations_begin(void) {
    static const char *const values[] = {"12345", "\"a word\"", "-0.25e3", "true", "null", "[]"};
    char *const text = (char *)tau_work_input;
    char *to = text;
    uint32_t state = TAU_SEED;
    uint32_t depth = 0;
    *to++ = '[';
    while (to < text + TAU_SIZE - TOKEN_MAX_BYTES) {
        const uint32_t choice = tau_work_random(&state) >> 8;
        if (choice % 8 == 0 && depth < DEPTH_MAX / 2 - 1) {
            to = written(to, "{\"key\": [");
            depth++;
        } else if (choice % 8 == 1 && depth > 0) {
            to = written(to, "0]}, ");
            depth--;
        } else {
            to = written(to, values[choice / 8 % 6]);
            to = written(to, ",\n ");
        }
    }
    *to++ = '0';
    text_bytes = (uint32_t)(to - text);
}

static uint32_t word_end(const char *text, uint32_t at) {
    if (text[at] == '"') {
        for (at++; text[at] != '"'; at++) {  // bound: the text
            at += text[at] == '\\';
        }
        return at + 1;
    }
    while (at < text_bytes && text[at] > ' ' && text[at] != ',' && text[at] != ']' &&
           text[at] != '}' && text[at] != ':') {
        at++;
    }
    return at;
}

void tau_iterations_run(void) {
    const char *const text = (const char *)tau_work_input;
    uint32_t depth = 0;
    uint32_t tokens = 0;
    for (uint32_t at = 0; at < text_bytes;) {
        const char c = text[at];
        if (c == '[' || c == '{') {
            stack[depth++ % DEPTH_MAX] = c;
            at++;
        } else if (c == ']' || c == '}') {
            if (depth == 0 || stack[(depth - 1) % DEPTH_MAX] != (c == ']' ? '[' : '{')) {
                return;
            }
            depth--;
            at++;
        } else if (c == ',' || c == ':' || c == ' ' || c == '\n') {
            at++;
        } else {
            tau_work_output[tokens++ % TAU_WORK_WORDS] = (uint32_t)c << 24 | at;
            at = word_end(text, at);
        }
    }
    tau_work_output[TAU_WORK_WORDS - 1] = tokens;
}
