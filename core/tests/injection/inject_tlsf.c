// Measures the effects of faults of a caller. Each random program makes one fault and then
// continues correctly. An oracle outside the heap knows the contents of every live object and of
// the memory around the heap.
//
// Usage: inject_tlsf FIRST_SEED TRIALS (a class). Prints one line per class: `class | detected |
// crashed | damaged | skipped | unnoticed`. A trial is
// - detected: the port was told, or a call returned a reason, before anything was damaged;
// - crashed: the heap accessed an address without memory;
// - damaged: unreported, a live object or memory outside changed, two objects overlap or lie
//   outside, a pointer was freed twice, or a call that reports changed a byte of the heap;
// - skipped: not made, because a live object started at the address again, which cannot be told
//   apart, or because no object was merged;
// - unnoticed: none of these until all objects were freed.
// The last lines are about frees of every aligned address that is not an object, in heaps after as
// many random calls: `free of addresses ... | tried | accepted`.
//
// The heap lies in 16 GiB of otherwise unused addresses, so no wild access escapes. A link leads at
// most 2 GiB away, and a size from there at most 4 GiB.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "core/private/link.h"
#include "core/tests/kit/fuzz.h"
#include "core/tests/kit/port_test.h"
#include "core/tlsf.h"

enum { HEAP_BYTES = 4096, AROUND_BYTES = 4096, OBJECTS = 24, SIZE_MAX_BYTES = 200 };
enum { CALLS_BEFORE = 60, CALLS_BETWEEN = 6, CALLS_AFTER = 60, OVERFLOW_BYTES = 16 };
enum { WINDOW_BYTES = AROUND_BYTES + HEAP_BYTES + AROUND_BYTES };
#define RESERVED_BYTES ((size_t)16 << 30)

enum outcome { DETECTED, CRASHED, DAMAGED, SKIPPED, UNNOTICED, OUTCOMES };

struct object {
    unsigned char *bytes;  // NULL: none
    size_t size;
};

// WINDOW is the heap and the memory around it; SHADOW its expected bytes where `is_known` is set:
// in live objects and outside the heap.
static unsigned char *window;
static unsigned char *memory;  // the heap's part of the window
static unsigned char shadow[WINDOW_BYTES];
static bool is_known[WINDOW_BYTES];
static unsigned char before_call[WINDOW_BYTES];
static struct object objects[OBJECTS];
static struct tau_tlsf *heap;
static bool is_misused;  // a call has returned a reason
static bool is_damaged;
static bool is_skipped;
static bool is_unwritten;  // new objects keep what their memory held before
static sigjmp_buf crash;

static void on_crash(int number) {
    (void)number;
    siglongjmp(crash, 1);
}

// ---- The oracle --------------------------------------------------------------------------------

static void know(const unsigned char *bytes, size_t count) {
    memcpy(shadow + (bytes - window), bytes, count);
    memset(is_known + (bytes - window), true, count);
}

static void forget(const unsigned char *bytes, size_t count) {
    memset(is_known + (bytes - window), false, count);
}

static bool all_is_as_known(void) {
    for (size_t i = 0; i < WINDOW_BYTES; i++) {
        if (is_known[i] && window[i] != shadow[i]) {
            return false;
        }
    }
    return true;
}

// The object is the heap's memory and nobody else's; from now on its bytes are known.
static void accept_object(struct object *object, unsigned char *bytes, size_t size) {
    const size_t at = (size_t)((uintptr_t)bytes - (uintptr_t)memory);
    *object = (struct object){bytes, size};
    if (at >= HEAP_BYTES || size > HEAP_BYTES - at || (uintptr_t)bytes % TAU_ALIGNMENT != 0) {
        is_damaged = true;
        return;
    }
    for (size_t i = 0; i < size; i++) {
        is_damaged = is_damaged || is_known[bytes - window + (ptrdiff_t)i];
    }
    if (is_damaged) {
        return;
    }
    for (size_t i = 0; i < size && !is_unwritten; i++) {
        bytes[i] = (unsigned char)(test_random_below(4) == 0 ? test_random() : 0);
    }
    know(bytes, size);
}

static bool is_told(void) {
    return is_misused || test_port.misuse_count != 0;
}

static bool is_over(void) {
    return is_damaged || is_told();
}

// A call that reports has changed nothing; all others have kept the known objects.
static void judge_call(bool is_copying) {
    if (!is_copying && is_told() && memcmp(before_call, window, WINDOW_BYTES) != 0) {
        is_damaged = true;
    }
    is_damaged = is_damaged || !all_is_as_known();
}

// ---- Correct calls -----------------------------------------------------------------------------

static void call_malloc(struct object *object) {
    const size_t size = 1 + test_random_below(SIZE_MAX_BYTES);
    memcpy(before_call, window, WINDOW_BYTES);
    unsigned char *const bytes = tau_tlsf_malloc(heap, size);
    judge_call(false);
    if (bytes != NULL && !is_damaged) {
        accept_object(object, bytes, size);
    }
}

static void call_free(struct object *object) {
    const struct object freed = *object;
    memcpy(before_call, window, WINDOW_BYTES);
    forget(freed.bytes, freed.size);
    is_misused = tau_tlsf_free(heap, freed.bytes) != TAU_OK;
    judge_call(false);
    object->bytes = NULL;
}

static void call_realloc(struct object *object) {
    const size_t size = 1 + test_random_below(SIZE_MAX_BYTES);
    const size_t kept = size < object->size ? size : object->size;
    unsigned char content[SIZE_MAX_BYTES];
    memcpy(content, object->bytes, object->size);
    forget(object->bytes, object->size);
    unsigned char *const bytes = tau_tlsf_realloc(heap, object->bytes, size);
    if (bytes == NULL) {
        know(object->bytes, object->size);
        is_damaged = is_damaged || memcmp(object->bytes, content, object->size) != 0;
    } else {
        is_damaged = is_damaged || ((uintptr_t)bytes - (uintptr_t)memory < HEAP_BYTES &&
                                    memcmp(bytes, content, kept) != 0);
        accept_object(object, bytes, size);
    }
    judge_call(true);
}

static void carry_out(unsigned calls) {
    for (unsigned call = 0; call < calls && !is_over(); call++) {
        struct object *const object = &objects[test_random_below(OBJECTS)];
        if (object->bytes == NULL) {
            call_malloc(object);
        } else if (test_random_below(6) == 0) {
            call_realloc(object);
        } else {
            call_free(object);
        }
    }
}

static void free_all(void) {
    for (unsigned i = 0; i < OBJECTS && !is_over(); i++) {
        if (objects[i].bytes != NULL) {
            call_free(&objects[i]);
        }
    }
}

// ---- Faults ------------------------------------------------------------------------------------

static struct object *any_live(void) {
    struct object *object;
    do {
        object = &objects[test_random_below(OBJECTS)];
    } while (object->bytes == NULL);
    return object;
}

// An object that was just freed.
static struct object freed_object(void) {
    struct object *const object = any_live();
    const struct object freed = *object;
    call_free(object);
    return freed;
}

// A live address as the heap's links write it: in an object, or outside the heap.
static tau_word live_link(void) {
    const unsigned char *address = window + test_random_below(AROUND_BYTES / 8) * 8;
    if (test_random_below(2) == 0) {
        const struct object *const object = any_live();
        address = object->bytes + test_random_below(object->size / 8 + 1) * 8;
    }
    return tau_link_to(heap, address);
}

static void write_word(unsigned char *bytes, size_t index, tau_word word) {
    memcpy(bytes + index * sizeof word, &word, sizeof word);
}

static void zero_a_freed_object(void) {
    const struct object freed = freed_object();
    memset(freed.bytes, 0, freed.size);
}

static void write_one_link(void) {
    write_word(freed_object().bytes, test_random_below(2), live_link());
}

static void write_two_links(void) {
    unsigned char *const bytes = freed_object().bytes;
    write_word(bytes, 0, live_link());
    write_word(bytes, 1, live_link());
}

static bool is_object(const unsigned char *bytes) {
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (objects[i].bytes == bytes) {
            return true;
        }
    }
    return false;
}

// After a few correct calls.
static void free_again(struct object freed) {
    carry_out((unsigned)test_random_below(CALLS_BETWEEN));
    is_skipped = !is_over() && is_object(freed.bytes);
    if (!is_over() && !is_skipped) {
        is_misused = tau_tlsf_free(heap, freed.bytes) != TAU_OK;
        is_damaged = !is_misused;
    }
}

static void free_twice(void) {
    free_again(freed_object());
}

// The object's block was merged with the one before it, so its old header still says that it is in
// use, also where its memory is part of a new object.
static void free_merged_twice(void) {
    is_skipped = true;
    for (unsigned tries = 0; tries < CALLS_AFTER; tries++) {
        if (objects[0].bytes == NULL) {
            call_malloc(&objects[0]);
        }
        const struct object freed = freed_object();
        tau_word header;
        memcpy(&header, freed.bytes - sizeof header, sizeof header);
        if ((header & 1u) == 0) {  // docs/spec/tlsf.md: FREE
            is_unwritten = true;
            free_again(freed);
            return;
        }
    }
}

// Bytes of a neighbor are the fault's own damage: from now on they are what must be kept.
static void overflow(void) {
    const struct object *const object = any_live();
    unsigned char *const behind = object->bytes + tau_tlsf_usable_size(heap, object->bytes);
    const int fill = test_random_below(2) == 0 ? 0 : 0x41;
    memset(behind, fill, OVERFLOW_BYTES);
    memcpy(shadow + (behind - window), behind, OVERFLOW_BYTES);
}

// ---- Trials ------------------------------------------------------------------------------------

static void open_heap(void) {
    memset(window, 0xc3, WINDOW_BYTES);
    memset(is_known, false, sizeof is_known);
    memset(objects, 0, sizeof objects);
    memset(&test_port, 0, sizeof test_port);
    is_misused = is_damaged = is_skipped = is_unwritten = false;
    know(window, AROUND_BYTES);
    know(memory + HEAP_BYTES, AROUND_BYTES);
    heap = tau_tlsf_init(memory, HEAP_BYTES, 0);
    REQUIRE(heap != NULL);
    carry_out(CALLS_BEFORE);
    REQUIRE(!is_over());
}

static enum outcome try_fault(void (*make)(void), uint64_t seed) {
    test_random_state = seed;
    open_heap();
    call_malloc(&objects[0]);  // so that one is live whatever happened
    if (sigsetjmp(crash, 1) != 0) {
        return CRASHED;
    }
    make();
    carry_out(CALLS_AFTER);
    free_all();
    return is_damaged ? DAMAGED : is_told() ? DETECTED : is_skipped ? SKIPPED : UNNOTICED;
}

static const struct fault {
    const char *name;
    void (*make)(void);
} faults[] = {
    {"zeroed", zero_a_freed_object},
    {"one link", write_one_link},
    {"two links", write_two_links},
    {"freed twice", free_twice},
    {"merged, freed twice", free_merged_twice},
    {"overflow", overflow},
};

// What the objects hold whose heap is freed everywhere.
static const char *const contents[] = {"ordinary", "left from before", "imitating headers"};

// Frees of every aligned address that is not an object, in heaps after many calls.
static void try_frees(unsigned content, uint64_t seed, unsigned rounds) {
    size_t tried = 0;
    size_t accepted = 0;
    for (unsigned round = 0; round < rounds; round++) {
        test_random_state = seed + round;
        open_heap();
        is_unwritten = content == 1;
        carry_out(is_unwritten ? CALLS_AFTER : 0);
        for (unsigned i = 0; i < OBJECTS && content == 2; i++) {
            for (size_t at = 0; objects[i].bytes != NULL && at + 8 <= objects[i].size; at += 4) {
                memcpy(objects[i].bytes + at, any_live()->bytes - 4, 4);
            }
        }
        for (size_t at = 0; at < HEAP_BYTES; at += TAU_ALIGNMENT) {
            if (!is_object(memory + at)) {
                tried++;
                accepted += tau_tlsf_check_pointer(heap, memory + at) == TAU_OK;
            }
        }
    }
    printf("free of addresses, contents %s | %zu | %zu\n", contents[content], tried, accepted);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 3);
    const uint64_t seed = strtoull(argv[1], NULL, 0);
    const unsigned trials = (unsigned)strtoul(argv[2], NULL, 0);
    unsigned char *const reserved =
        mmap(NULL, RESERVED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(reserved != MAP_FAILED);
    window = reserved + RESERVED_BYTES / 2;
    memory = window + AROUND_BYTES;
    REQUIRE(mprotect(window, WINDOW_BYTES, PROT_READ | PROT_WRITE) == 0);
    signal(SIGSEGV, on_crash);
    signal(SIGBUS, on_crash);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        unsigned counts[OUTCOMES] = {0};
        for (unsigned trial = 0; trial < trials; trial++) {
            counts[try_fault(faults[i].make, seed + trial)]++;
        }
        printf("%s | %u | %u | %u | %u | %u\n", faults[i].name, counts[DETECTED], counts[CRASHED],
               counts[DAMAGED], counts[SKIPPED], counts[UNNOTICED]);
    }
    for (unsigned content = 0; content < sizeof contents / sizeof *contents; content++) {
        try_frees(content, seed, trials);
    }
    return 0;
}
