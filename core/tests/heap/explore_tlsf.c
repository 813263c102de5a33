// Goal: no reachable state of a small heap is unsound. Method: from an empty heap of 1 KiB, it
// makes every sequence of calls up to a depth and visits each state once. A table remembers the
// states and the depth to which they were explored. Each state gets a full walk, and every pointer
// that is no object must be refused.
//
// Usage: explore_tlsf DEPTH STATES_MAX. Prints the number of states. Exits with 0 if no state was
// unsound.
#include "core/tests/heap/tlsf_heap.h"

enum { BYTES = 1024, UNIT = TAU_ALIGNMENT, WORD = sizeof(tau_word), DEPTH_MAX = 64 };

struct request {
    size_t size;
    size_t alignment;
};

// Few sizes, so that the states are few: the smallest block, two that share a class, and one that
// needs more than half of the heap.
static const struct request requests[] = {
    {1, 0}, {9 * UNIT, 0}, {10 * UNIT, 0}, {24 * UNIT, 0}, {BYTES / 2, 0}, {2 * UNIT, 8 * UNIT},
};
enum { REQUESTS_COUNT = sizeof requests / sizeof *requests, LIVE_MAX = 64 };

struct state {
    unsigned char *live[LIVE_MAX];
    size_t live_count;
    uint64_t hash;
};

static _Alignas(4096) unsigned char memory[BYTES];
static struct tau_tlsf *heap;
static uint64_t *table;  // pairs: hash, depth left plus one
static size_t table_slots;
static size_t states_count;
static size_t states_max;
static size_t calls_count;
static bool is_complete = true;

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

// What the future depends on: the blocks, and through their links the order of the lists.
static bool visit(void *context, void *payload, size_t size_bytes, bool is_free) {
    struct state *state = context;
    tau_word words[3];
    memcpy(words, (unsigned char *)payload - WORD, sizeof words);
    state->hash = mix(state->hash, (uint64_t)((unsigned char *)payload - memory));
    state->hash = mix(state->hash, size_bytes * 16 + words[0] % 16);
    if (is_free) {
        state->hash = mix(mix(state->hash, words[1]), words[2]);
    } else if (state->live_count < LIVE_MAX) {
        state->live[state->live_count++] = payload;
    }
    return true;
}

// Whether the state is new, or known but not explored to DEPTH_LEFT; remembers it if so.
static bool is_worth_exploring(uint64_t hash, size_t depth_left) {
    size_t slot = (size_t)(hash % table_slots);
    hash |= 1;
    while (table[2 * slot] != 0 && table[2 * slot] != hash) {  // bound: the table is never full
        slot = (slot + 1) % table_slots;
    }
    if (table[2 * slot] == hash && table[2 * slot + 1] > depth_left) {
        return false;
    }
    if (table[2 * slot] == 0) {
        if (states_count == states_max) {
            is_complete = false;
            return false;
        }
        states_count++;
    }
    table[2 * slot] = hash;
    table[2 * slot + 1] = depth_left + 1;
    return true;
}

static void expect_state_sound(const struct state *state) {
    EXPECT_EQUAL(check_tlsf(heap), 0);
    EXPECT(tau_tlsf_invariants_hold(heap));
    EXPECT_EQUAL(test_port.misuse_count + test_port.nested_count + test_port.inside_count +
                     test_port.outside_count,
                 0);
    for (size_t i = 0; i < state->live_count; i++) {
        EXPECT_EQUAL(tau_tlsf_check_pointer(heap, state->live[i]), TAU_OK);
    }
}

static void call(const struct state *state, size_t number) {
    size_t kind = number / REQUESTS_COUNT;
    const struct request *request = &requests[number % REQUESTS_COUNT];
    calls_count++;
    if (kind < state->live_count) {
        (void)tau_tlsf_realloc(heap, state->live[kind], request->size);
    } else if (request->alignment != 0) {
        (void)tau_tlsf_aligned_alloc(heap, request->alignment, request->size);
    } else {
        (void)tau_tlsf_malloc(heap, request->size);
    }
}

static void explore(size_t depth_left) {
    struct state state = {.hash = 1};
    unsigned char saved[BYTES];
    tau_tlsf_walk(heap, visit, &state);
    if (!is_worth_exploring(state.hash, depth_left)) {
        return;
    }
    expect_state_sound(&state);
    if (depth_left == 0 || test_failures_count > 0) {
        return;
    }
    memcpy(saved, memory, BYTES);
    for (size_t number = 0; number < (state.live_count + 1) * REQUESTS_COUNT; number++) {
        call(&state, number);
        explore(depth_left - 1);
        memcpy(memory, saved, BYTES);
    }
    for (size_t i = 0; i < state.live_count; i++) {
        calls_count++;
        EXPECT_EQUAL(tau_tlsf_free(heap, state.live[i]), TAU_OK);
        explore(depth_left - 1);
        memcpy(memory, saved, BYTES);
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc == 3);
    size_t depth = strtoull(argv[1], NULL, 0);
    states_max = strtoull(argv[2], NULL, 0);
    table_slots = 2 * states_max + 1;
    table = calloc(2 * table_slots, sizeof *table);
    REQUIRE(table != NULL && depth <= DEPTH_MAX);
    heap = tau_tlsf_init(memory, BYTES, 0);
    REQUIRE(heap != NULL);
    explore(depth);
    printf("depth %zu, %zu states, %zu calls, %s, %u failures\n", depth, states_count, calls_count,
           is_complete ? "complete" : "stopped at the states' limit", test_failures_count);
    free(table);
    return test_failures_count > 0;
}
