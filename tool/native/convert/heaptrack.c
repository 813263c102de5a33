// heaptrack's raw records (`heaptrack --raw`, file format version 3; all numbers hexadecimal,
// strings preceded by their length):
//
//   v PROGRAM FORMAT                     Versions.
//   X TEXT                               The command line.
//   x LEN PATH                           The executable.
//   m LEN PATH BASE (VADDR SIZE)...      A module. "m 1 -" forgets all, "x" is the executable.
//   t IP PARENT                          The innermost frame of the next trace.
//   c MS                                 Milliseconds since the start.
//   + SIZE TRACE PTR                     An allocation.
//   - PTR                                A free.
//
// A raw file lacks the time between two `c` lines, the thread, and the called function: calloc and
// aligned_alloc look like malloc, realloc like a free and a malloc. An interpreted file has no
// pointers, so it is refused.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/native/convert/importer.h"

#define FORMAT_VERSION_MAX 3u
#define NS_PER_MS 1000000u

struct module {
    uint64_t start, end, base;
    char *path;
};

struct heaptrack {
    bool versioned;
    uint64_t now_ns;
    uint32_t *site_of_trace;  // 0-based: trace 1 is entry 0
    size_t traces_count, traces_room;
    struct module *modules;
    size_t modules_count, modules_room;
    char *executable;
};

static void forget_modules(struct heaptrack *state) {
    for (size_t i = 0; i < state->modules_count; i++) {
        free(state->modules[i].path);
    }
    state->modules_count = 0;
}

static void close_state(void *memory) {
    struct heaptrack *state = memory;
    forget_modules(state);
    free(state->modules);
    free(state->site_of_trace);
    free(state->executable);
}

// Reads " HEX" at *at; false iff there is none or it does not fit 64 bits.
static bool take_hex(const char **at, const char *end, uint64_t *value) {
    const char *from = *at;
    if (from == end || *from++ != ' ') {
        return false;
    }
    uint64_t result = 0;
    const char *first = from;
    for (; from < end && *from != ' '; from++) {
        char letter = (char)(*from | 0x20);
        unsigned digit = *from >= '0' && *from <= '9'     ? (unsigned)(*from - '0')
                         : letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a') + 10u
                                                          : 16u;
        if (digit == 16u || result >> 60 != 0) {
            return false;
        }
        result = result << 4 | digit;
    }
    *at = from;
    *value = result;
    return from > first;
}

// Reads " LEN TEXT"; the text is not terminated.
static bool take_text(const char **at, const char *end, const char **text, size_t *count) {
    uint64_t length;
    if (!take_hex(at, end, &length) || *at == end || **at != ' ' ||
        length > (uint64_t)(end - *at) - 1) {
        return false;
    }
    *text = *at + 1;
    *count = (size_t)length;
    *at += 1 + length;
    return true;
}

static char *copy_text(const char *text, size_t count) {
    char *copy = malloc(count + 1);
    if (copy != NULL) {
        memcpy(copy, text, count);
        copy[count] = '\0';
    }
    return copy;
}

static bool no_memory(struct tau_trace_importer *importer) {
    return tau_trace_import_fail(importer, "memory is short");
}

static bool malformed(struct tau_trace_importer *importer, const char *line, const char *end) {
    return tau_trace_import_fail(importer, "not a line of heaptrack's raw format: \"%.*s\"",
                                 (int)(end - line < 60 ? end - line : 60), line);
}

// Adds the module's segments, so that an address finds its module.
static bool take_module(struct tau_trace_importer *importer, struct heaptrack *state,
                        const char *line, const char *end) {
    const char *at = line + 1, *path;
    size_t count;
    uint64_t base, offset, size;
    if (!take_text(&at, end, &path, &count)) {
        return malformed(importer, line, end);
    }
    if (at == end) {
        forget_modules(state);
        return (count == 1 && *path == '-') || malformed(importer, line, end);
    }
    if (!take_hex(&at, end, &base)) {
        return malformed(importer, line, end);
    }
    bool executable = count == 1 && *path == 'x' && state->executable != NULL;
    while (at < end) {
        if (!take_hex(&at, end, &offset) || !take_hex(&at, end, &size)) {
            return malformed(importer, line, end);
        }
        if (state->modules_count == state->modules_room) {
            size_t room = state->modules_room == 0 ? 64 : state->modules_room * 2;
            struct module *modules = realloc(state->modules, room * sizeof *modules);
            if (modules == NULL) {
                return no_memory(importer);
            }
            state->modules = modules;
            state->modules_room = room;
        }
        char *copy = executable ? copy_text(state->executable, strlen(state->executable))
                                : copy_text(path, count);
        if (copy == NULL) {
            return no_memory(importer);
        }
        state->modules[state->modules_count++] = (struct module){
            .start = base + offset, .end = base + offset + size, .base = base, .path = copy};
    }
    return true;
}

// Names the site of the next trace: the module and offset of its innermost return address, and the
// site of the trace above it.
static bool take_trace(struct tau_trace_importer *importer, struct heaptrack *state,
                       const char *line, const char *end) {
    const char *at = line + 1;
    uint64_t address, parent;
    if (!take_hex(&at, end, &address) || !take_hex(&at, end, &parent) || at != end) {
        return malformed(importer, line, end);
    }
    const struct module *found = NULL;
    for (size_t i = state->modules_count;
         found == NULL && i-- > 0;) {  // the latest mapping of an address holds
        const struct module *module = &state->modules[i];
        found = address >= module->start && address < module->end ? module : NULL;
    }
    const char *path = found != NULL ? found->path : "";
    uint64_t base = found != NULL ? found->base : 0;
    bool has_caller = parent != 0 && parent <= state->traces_count;
    uint32_t caller = has_caller ? state->site_of_trace[parent - 1] : 0;
    uint32_t site = tau_trace_writer_site(importer->writer, path, address - base, caller);
    if (state->traces_count == state->traces_room) {
        size_t room = state->traces_room == 0 ? 1024 : state->traces_room * 2;
        uint32_t *sites = realloc(state->site_of_trace, room * sizeof *sites);
        if (sites == NULL) {
            return no_memory(importer);
        }
        state->site_of_trace = sites;
        state->traces_room = room;
    }
    state->site_of_trace[state->traces_count++] = site;
    return site != 0 || no_memory(importer);
}

static bool take_version(struct tau_trace_importer *importer, struct heaptrack *state,
                         const char *line, const char *end) {
    const char *at = line + 1;
    uint64_t program, format;
    if (!take_hex(&at, end, &program) || !take_hex(&at, end, &format)) {
        return malformed(importer, line, end);
    }
    if (format > FORMAT_VERSION_MAX) {
        return tau_trace_import_fail(
            importer, "heaptrack's file format %" PRIu64 " is newer than %u, which is read here",
            format, FORMAT_VERSION_MAX);
    }
    state->versioned = true;
    importer->facts.timed = 1;
    return true;
}

static bool interpreted(struct tau_trace_importer *importer) {
    return tau_trace_import_fail(
        importer, "this is heaptrack's interpreted file, which no longer says which object a free "
                  "names, so it cannot be replayed: record with `heaptrack --raw`");
}

static bool take_allocation(struct tau_trace_importer *importer, struct heaptrack *state,
                            const char *line, const char *end) {
    struct tau_trace_import_event event = {.op = TAU_TRACE_OP_MALLOC, .time_ns = state->now_ns};
    const char *at = line + 1;
    uint64_t trace;
    if (!take_hex(&at, end, &event.size_bytes)) {
        return malformed(importer, line, end);
    }
    if (at == end) {
        return interpreted(importer);
    }
    if (!take_hex(&at, end, &trace) || !take_hex(&at, end, &event.key.low) || at != end) {
        return malformed(importer, line, end);
    }
    if (trace > state->traces_count) {
        return tau_trace_import_fail(importer, "names trace %" PRIu64 " of %zu", trace,
                                     state->traces_count);
    }
    event.site = trace == 0 ? 0 : state->site_of_trace[trace - 1];
    return tau_trace_import_add(importer, &event, true);
}

static bool take_line(struct tau_trace_importer *importer, const char *line, const char *end) {
    struct heaptrack *state = importer->state;
    if (line == end || *line == '#') {
        return true;
    }
    if (!state->versioned && *line != 'v') {
        return tau_trace_import_fail(importer,
                                     "not a heaptrack file: it does not start with its version");
    }
    const char *at = line + 1, *text;
    size_t count;
    uint64_t number;
    switch (*line) {
    case 'v':
        return take_version(importer, state, line, end);
    case '+':
        return take_allocation(importer, state, line, end);
    case '-': {
        struct tau_trace_import_event event = {.op = TAU_TRACE_OP_FREE, .time_ns = state->now_ns};
        return take_hex(&at, end, &event.key.low) && at == end
                   ? tau_trace_import_add(importer, &event, true)
                   : malformed(importer, line, end);
    }
    case 't':
        return take_trace(importer, state, line, end);
    case 'm':
        return take_module(importer, state, line, end);
    case 'c':
        if (!take_hex(&at, end, &number) || number > UINT64_MAX / NS_PER_MS) {
            return malformed(importer, line, end);
        }
        // heaptrack's clock thread and the program's threads race by a millisecond; time must not
        // go back.
        state->now_ns = number * NS_PER_MS > state->now_ns ? number * NS_PER_MS : state->now_ns;
        return true;
    case 'x':
        if (!take_text(&at, end, &text, &count)) {
            return malformed(importer, line, end);
        }
        free(state->executable);
        state->executable = copy_text(text, count);
        return state->executable != NULL || no_memory(importer);
    case 'X':
        at += at < end;
        snprintf(importer->command, sizeof importer->command, "%.*s", (int)(end - at), at);
        return true;
    case 's':  // strings and allocation kinds are an interpreter's work
    case 'i':
    case 'a':
        return interpreted(importer);
    case 'R':  // resident memory, page size, "attached": nothing of the heap's order
    case 'I':
    case 'A':
    case 'S':
        return true;
    default:
        return malformed(importer, line, end);
    }
}

static bool is_complete(struct tau_trace_importer *importer) {
    struct heaptrack *state = importer->state;
    return state->versioned || tau_trace_import_fail(importer, "the file is empty");
}

const struct tau_trace_import_form tau_trace_import_heaptrack = {
    .state_bytes = sizeof(struct heaptrack),
    .line = take_line,
    .end = is_complete,
    .close = close_state,
};
