// Goal: from check level 1 on, no single overwritten word of a block makes a call read or write
// outside the heap's memory. Method: the heap fills one page between pages without memory, as one
// pool or as three that touch. In random states, every bit of every word that the heap keeps at a
// block's ends is flipped, and the word is overwritten by values that are likely to harm. After
// each of these faults, every call is made on a fresh copy of the damaged heap. A crash or a walk
// without end is a failure.
//
// Two words are overwritten at a time where both are needed to imitate a block: the header and the
// footer of a free block whose size wraps around.
//
// Usage: corrupt_heap FIRST_SEED STATES
// Crashes are caught in the program itself: a child per call would take a thousand times as long.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "core/budget.h"
#include "core/private/heap/budget_table.h"
#include "core/tests/kit/fuzz.h"
#include "core/tests/kit/port_test.h"
#include "core/tlsf.h"

_Static_assert(TAU_CHECK_LEVEL >= 1, "level 0 checks nothing, so there is nothing to test");

enum { HEAP_BYTES = 4096, OBJECTS = 16, SIZE_MAX_BYTES = 300, WORDS_MAX = 1024, NEAR_BYTES = 700 };
enum { WORD = sizeof(tau_word), WORD_BITS = 8 * WORD, UNIT = TAU_ALIGNMENT };
enum { STEPS_MAX = 2 * HEAP_BYTES / UNIT, FAILURES_SHOWN = 20 };
enum { EDGE_FIRST = HEAP_BYTES / 2, EDGE_SECOND = HEAP_BYTES * 3 / 4 };  // between three pools
// 32-bit links lead 2 GiB away, and a size from there 4 GiB.
#define RESERVED_BYTES (sizeof(void *) > 4 ? (size_t)16 << 30 : (size_t)1 << 30)

struct object {
    unsigned char *bytes;  // NULL: none
    size_t size;
};

static unsigned char *memory;
static unsigned char image[HEAP_BYTES];  // the sound heap
static struct object objects[OBJECTS];
static struct tau_budget *budget;  // NULL: a TLSF alone
static struct tau_tlsf *tlsf;
static tau_word *words[WORDS_MAX];  // that the heap keeps
static size_t words_count;
static unsigned steps_count;  // in one walk
static size_t calls_count;
static sigjmp_buf crash;

static void on_crash(int number) {
    siglongjmp(crash, number);
}

// ---- The heap under test -----------------------------------------------------------------------

static void *call_malloc(size_t size) {
    return budget != NULL ? tau_budget_malloc(budget, size) : tau_tlsf_malloc(tlsf, size);
}

static void *call_aligned_alloc(size_t alignment, size_t size) {
    return budget != NULL ? tau_budget_aligned_alloc(budget, alignment, size)
                          : tau_tlsf_aligned_alloc(tlsf, alignment, size);
}

static void *call_realloc(void *pointer, size_t size) {
    return budget != NULL ? tau_budget_realloc(budget, pointer, size)
                          : tau_tlsf_realloc(tlsf, pointer, size);
}

static void call_free(void *pointer) {
    (void)(budget != NULL ? tau_budget_free(budget, pointer) : tau_tlsf_free(tlsf, pointer));
}

static void look_at_object(void *pointer) {
    if (budget != NULL) {
        (void)tau_budget_usable_size(budget, pointer);
        return;
    }
    (void)tau_tlsf_usable_size(tlsf, pointer);
    (void)tau_tlsf_alignment(tlsf, pointer);
    (void)tau_tlsf_check_pointer(tlsf, pointer);
}

static bool count_step(void *context, void *payload, size_t size_bytes, bool is_free) {
    (void)context;
    (void)payload;
    (void)size_bytes;
    (void)is_free;
    return ++steps_count < STEPS_MAX;
}

static void look_at_heap(void) {
    steps_count = 0;
    tau_tlsf_walk(tlsf, count_step, NULL);
    EXPECT(tau_tlsf_statistics(tlsf).largest_free_bytes <= HEAP_BYTES);
    (void)tau_tlsf_invariants_hold(tlsf);
    EXPECT(tau_tlsf_add_pool(tlsf, memory, HEAP_BYTES / 4) != TAU_OK);
    if (budget != NULL) {
        (void)tau_budget_statistics(budget);
        (void)tau_budget_invariants_hold(budget);
    }
}

// What the objects hold decides what stands where a false size or link leads: zeros, anything, or
// words that imitate headers.
static void write_object(const struct object *object, unsigned content) {
    for (size_t at = 0; at + WORD <= object->size; at += WORD) {
        tau_word word = content == 0 ? 0 : (tau_word)test_random();
        if (content == 2) {
            memcpy(&word, memory + test_random_below(HEAP_BYTES / WORD) * WORD, WORD);
        }
        memcpy(object->bytes + at, &word, WORD);
    }
}

static void open_pools(void) {
    static const struct tau_budget_class classes[] = {{64, 4}, {24, 6}};
    budget = NULL;
    if (test_random_state % 4 == 3) {
        REQUIRE(tau_budget_init(&budget, memory, HEAP_BYTES, classes, 2) == TAU_OK);
        tlsf = (struct tau_tlsf *)(uintptr_t)tau_budget_shared(budget);
    } else if (test_random_state % 4 == 1) {
        tlsf = tau_tlsf_init(memory, EDGE_FIRST, HEAP_BYTES);
        REQUIRE(tau_tlsf_add_pool(tlsf, memory + EDGE_FIRST, EDGE_SECOND - EDGE_FIRST) == TAU_OK);
        REQUIRE(tau_tlsf_add_pool(tlsf, memory + EDGE_SECOND, HEAP_BYTES - EDGE_SECOND) == TAU_OK);
    } else {
        tlsf = tau_tlsf_init(memory, HEAP_BYTES, 0);
    }
    REQUIRE(tlsf != NULL);
}

static void open_heap(uint64_t seed) {
    test_random_state = seed;
    memset(memory, 0xc3, HEAP_BYTES);
    memset(objects, 0, sizeof objects);
    memset(&test_port, 0, sizeof test_port);
    open_pools();
    for (unsigned call = 0; call < 4 * OBJECTS; call++) {
        struct object *const object = &objects[test_random_below(OBJECTS)];
        if (object->bytes != NULL) {
            call_free(object->bytes);
            object->bytes = NULL;
            continue;
        }
        object->size = 1 + test_random_below(SIZE_MAX_BYTES);
        object->bytes = test_random_below(4) == 0 ? call_aligned_alloc(64, object->size)
                                                  : call_malloc(object->size);
        if (object->bytes != NULL) {
            write_object(object, (unsigned)(seed % 3));
        }
    }
    REQUIRE(test_port.misuse_count == 0);
    memcpy(image, memory, HEAP_BYTES);
}

// ---- Faults ------------------------------------------------------------------------------------

static void add_word(tau_word *word) {
    const uintptr_t offset = (uintptr_t)word - (uintptr_t)memory;
    if (offset < HEAP_BYTES && (words_count == 0 || words[words_count - 1] != word)) {
        REQUIRE(words_count < WORDS_MAX);
        words[words_count++] = word;
    }
}

// The words from FIRST to before END around the boundary before PAYLOAD: the last two of the
// block before it, the header, the links.
static void add_boundary(tau_word *payload, int first, int end) {
    for (int index = first; index < end; index++) {
        add_word(payload + index);
    }
}

static void add_sentinel(tau_word *payload) {
    if (payload != NULL) {
        add_boundary(payload, -3, 0);
    }
}

static bool add_block(void *context, void *payload, size_t size_bytes, bool is_free) {
    tau_word **const behind = context;
    (void)size_bytes;
    (void)is_free;
    if (payload == *behind) {
        add_boundary(payload, -3, 2);
    } else {  // before a pool's first block lies what describes the pool
        add_sentinel(*behind);
        add_boundary(payload, -1, 2);
    }
    *behind = (tau_word *)payload + ((tau_word *)payload)[-1] / UNIT * (UNIT / WORD);
    return true;
}

static void find_words(void) {
    tau_word *behind = NULL;
    words_count = 0;
    tau_tlsf_walk(tlsf, add_block, &behind);
    add_sentinel(behind);
    if (budget != NULL) {
        const struct budget_fields *const fields = budget_fields_of(budget);
        tau_word *const dedicated = tau_link_follow(budget, fields->dedicated);
        for (size_t i = 0; i < fields->dedicated_bytes / WORD; i++) {
            add_word(dedicated + i);
        }
    }
}

// The value number NUMBER that WORD is overwritten by. Returns false if there is none.
static bool value_of(unsigned number, const tau_word *word, tau_word *value) {
    static const int likely[] = {
        0, 1, 2, 3, 4, 5, 7, -1, -UNIT, 1 - UNIT, 1 - 4 * UNIT, HEAP_BYTES, HEAP_BYTES + 1};
    static const int steps[] = {-2 * UNIT, -UNIT, UNIT, 2 * UNIT};
    static const int places[] = {-UNIT, 0, HEAP_BYTES - UNIT, HEAP_BYTES};
    static const uintptr_t ends[] = {
        EDGE_FIRST, EDGE_FIRST + UNIT, EDGE_SECOND, EDGE_SECOND + UNIT};
    const unsigned kinds[] = {WORD_BITS, sizeof likely / sizeof *likely,
                              sizeof steps / sizeof *steps, sizeof places / sizeof *places, 8,
                              sizeof ends / sizeof *ends, 8};
    const tau_word old = *word;
    const tau_word flags = old & (UNIT - 1);
    const uintptr_t start = (uintptr_t)word;
    unsigned kind = 0;
    while (kind < sizeof kinds / sizeof *kinds && number >= kinds[kind]) {
        number -= kinds[kind++];
    }
    switch (kind) {
    case 0:
        *value = old ^ (tau_word)1 << number;
        return true;
    case 1:
        *value = (tau_word)(tau_signed_word)likely[number];
        return true;
    case 2:
        *value = old + (tau_word)(tau_signed_word)steps[number];
        return true;
    case 3:
        *value = tau_link_to(tlsf, memory + places[number]);
        return true;
    case 4:
        *value = *words[test_random_below(words_count)];
        return true;
    case 5:  // the block ends at a pool's descriptor
        *value = (tau_word)((uintptr_t)memory + ends[number] - start) / UNIT * UNIT + flags;
        return true;
    case 6:  // the block ends where another does, perhaps in another pool
        *value = (tau_word)((uintptr_t)words[test_random_below(words_count)] - start);
        *value = *value / UNIT * UNIT + flags;
        return true;
    default:
        return false;
    }
}

// ---- Calls on a damaged heap -------------------------------------------------------------------

enum { CALL_LOOK, CALL_MALLOCS, CALL_END, CALLS_OF_HEAP };
enum { CALL_OBSERVE, CALL_FREE, CALL_REALLOCS, CALLS_OF_OBJECT = CALL_REALLOCS + 6 };

static void make_call_of_heap(unsigned call) {
    if (call == CALL_LOOK) {
        look_at_heap();
    } else if (call == CALL_MALLOCS) {
        for (size_t size = 1; size < HEAP_BYTES; size = 2 * size + 8) {
            (void)call_malloc(size);
        }
        (void)call_aligned_alloc(128, 40);
    } else {
        for (unsigned i = 0; i < OBJECTS; i++) {
            call_free(objects[i].bytes);
        }
        for (size_t size = HEAP_BYTES; size > 8; size = size * 7 / 8) {
            void *const object = call_malloc(size);
            memset(object != NULL ? object : memory, 0x5a, object != NULL ? size : 0);
        }
        look_at_heap();
    }
}

static void make_call_of_object(unsigned call, const struct object *object) {
    const size_t sizes[] = {
        1, object->size / 2 + 1, object->size + 16, object->size + 60, 2 * object->size + 60, 900};
    if (call == CALL_OBSERVE) {
        look_at_object(object->bytes);
    } else if (call == CALL_FREE) {
        call_free(object->bytes);
        look_at_heap();
    } else {
        (void)call_realloc(object->bytes, sizes[call - CALL_REALLOCS]);
    }
}

// Makes call number NUMBER, which is one of the heap's or one of an object near AROUND. Returns
// false if there is none.
static bool make_call(unsigned number, const tau_word *around) {
    if (number < CALLS_OF_HEAP) {
        make_call_of_heap(number);
        return true;
    }
    const unsigned index = (number - CALLS_OF_HEAP) / CALLS_OF_OBJECT;
    if (index >= OBJECTS) {
        return false;
    }
    const struct object *const object = &objects[index];
    const uintptr_t distance = (uintptr_t)object->bytes - (uintptr_t)around + NEAR_BYTES;
    if (object->bytes != NULL && distance < 2 * NEAR_BYTES) {
        make_call_of_object((number - CALLS_OF_HEAP) % CALLS_OF_OBJECT, object);
    }
    return true;
}

// Makes every call after WORDS[i] was overwritten by VALUES[i].
static void try_calls(uint64_t seed, tau_word *const at[2], const tau_word values[2]) {
    volatile bool is_call = true;
    for (volatile unsigned number = 0; is_call; number++) {
        memcpy(memory, image, HEAP_BYTES);
        *at[0] = values[0];
        *at[1] = values[1];
        steps_count = 0;
        const int signal_number = sigsetjmp(crash, 0);
        if (signal_number == 0) {
            is_call = make_call(number, at[0]);
            calls_count++;
        }
        if (signal_number != 0 || steps_count >= STEPS_MAX) {
            test_port.lock_depth = 0;
            if (++test_failures_count <= FAILURES_SHOWN) {
                printf("seed %llu: 0x%llx at offset %zu, call %u: %s\n", (unsigned long long)seed,
                       (unsigned long long)values[0],
                       (size_t)((uintptr_t)at[0] - (uintptr_t)memory), number,
                       signal_number == 0 ? "a walk without end" : strsignal(signal_number));
            }
        }
    }
    memcpy(memory, image, HEAP_BYTES);
}

static bool try_wrapping_sizes(void *context, void *payload, size_t size_bytes, bool is_free) {
    (void)size_bytes;
    for (tau_word size = 2 * UNIT; is_free; size += UNIT) {
        tau_word *const header = (tau_word *)payload - 1;
        tau_word *const footer = header - size / WORD - 1;
        if ((uintptr_t)footer < (uintptr_t)words[0]) {
            break;
        }
        try_calls(*(const uint64_t *)context, (tau_word *const[]){header, footer},
                  (const tau_word[]){1 - size, 0 - size});
    }
    return true;
}

static void try_state(uint64_t seed) {
    open_heap(seed);
    find_words();
    for (size_t i = 0; i < words_count; i++) {
        tau_word value;
        for (unsigned number = 0; value_of(number, words[i], &value); number++) {
            try_calls(seed, (tau_word *const[]){words[i], words[i]},
                      (const tau_word[]){value, value});
        }
    }
    tau_tlsf_walk(tlsf, try_wrapping_sizes, &seed);
}

int main(int argc, char **argv) {
    REQUIRE(argc == 3);
    const uint64_t seed = strtoull(argv[1], NULL, 0);
    const uint64_t states = strtoull(argv[2], NULL, 0);
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_NODEFER};
    unsigned char *const reserved =
        mmap(NULL, RESERVED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(reserved != MAP_FAILED);
    memory = reserved + RESERVED_BYTES / 2;
    REQUIRE(mprotect(memory, HEAP_BYTES, PROT_READ | PROT_WRITE) == 0);
    for (unsigned i = 0; i < 4; i++) {
        REQUIRE(sigaction((const int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL}[i], &action, NULL) == 0);
    }
    for (uint64_t state = 0; state < states; state++) {
        try_state(seed + state);
    }
    printf("seed %llu, %llu states, %zu calls, %u failures\n", (unsigned long long)seed,
           (unsigned long long)states, calls_count, test_failures_count);
    return test_failures_count != 0;
}
