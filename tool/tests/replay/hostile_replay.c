// Feeds the replayer with events that no honest trace holds. Goal: it refuses what breaks the rules
// of slots, and neither crashes nor reads or writes out of bounds whatever it is given. Method: a
// reader that hands out events from memory in place of the real one, cases by hand, then random
// events; meant to run with sanitizers. Usage: hostile_replay SEED ROUNDS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/peers.h"

#define EVENTS_MAX 200u
#define SLOTS 5u

struct event {
    uint64_t size_bytes;
    uint32_t slot;
    uint8_t op;
    uint8_t flags;
    uint8_t align_log2;
};

struct tau_trace_reader {
    struct tau_trace_totals totals;
    struct event events[EVENTS_MAX];
};

static struct tau_trace_reader source;

const struct tau_trace_totals *tau_trace_reader_totals(const struct tau_trace_reader *reader) {
    return &reader->totals;
}

enum tau_trace_status tau_trace_reader_block(struct tau_trace_reader *reader, uint64_t index,
                                             const struct tau_trace_columns *columns,
                                             size_t *count) {
    (void)index;
    *count = (size_t)reader->totals.events;
    for (size_t i = 0; i < *count; i++) {
        columns->size_bytes[i] = reader->events[i].size_bytes;
        columns->slot[i] = reader->events[i].slot;
        columns->op[i] = reader->events[i].op;
        columns->flags[i] = reader->events[i].flags;
        columns->align_log2[i] = reader->events[i].align_log2;
    }
    return TAU_TRACE_OK;
}

static enum tau_trace_status open_events(const struct event *events, size_t count, uint64_t slots) {
    struct tau_replay_refusal refusal;
    source.totals =
        (struct tau_trace_totals){.events = count, .blocks = 1, .slots_count_max = slots};
    memcpy(source.events, events, count * sizeof *events);
    struct tau_replay *replay = tau_replay_open(&source, count, &refusal);
    struct tau_replay_system *systems[2] = {NULL, NULL};
    if (replay != NULL) {
        systems[0] = tau_system_kingsley_open();
        systems[1] = tau_system_static_open(replay);
    }
    for (size_t i = 0; i < 2 && systems[i] != NULL; i++) {
        struct tau_replay_result result;
        tau_replay_run(replay, systems[i], 1 << 20, 1, &result);
        if (result.fault > TAU_REPLAY_INIT_FAILED) {
            printf("system %zu: fault %u\n", i, (unsigned)result.fault);
            exit(1);
        }
    }
    tau_system_close(systems[0]);
    tau_system_close(systems[1]);
    tau_replay_close(replay);
    return (enum tau_trace_status)refusal.status;
}

static void expect(const char *name, enum tau_trace_status wanted, const struct event *events,
                   size_t count, uint64_t slots) {
    const enum tau_trace_status status = open_events(events, count, slots);
    if (status != wanted) {
        printf("%s: status %d, wanted %d\n", name, (int)status, (int)wanted);
        exit(1);
    }
}

#define EXPECT(wanted, slots, ...)                                                                 \
    do {                                                                                           \
        const struct event events[] = {__VA_ARGS__};                                               \
        expect(#__VA_ARGS__, wanted, events, sizeof events / sizeof events[0], slots);             \
    } while (0)

static void cases(void) {
    const uint8_t allocate = TAU_TRACE_MALLOC;
    const uint8_t give_back = TAU_TRACE_FREE;
    const uint8_t resize = TAU_TRACE_REALLOC;
    EXPECT(TAU_TRACE_OK, 1, {8, 0, allocate, 0, 0}, {0, 0, give_back, 0, 0});
    EXPECT(TAU_TRACE_CORRUPT, 1, {8, 0, allocate, 0, 0}, {8, 0, allocate, 0, 0});  // live slot
    EXPECT(TAU_TRACE_CORRUPT, 1, {0, 0, give_back, 0, 0});                         // dead slot
    EXPECT(TAU_TRACE_CORRUPT, 1, {8, 0, resize, 0, 0});
    EXPECT(TAU_TRACE_CORRUPT, 1, {8, 1, allocate, 0, 0});  // slot too high
    EXPECT(TAU_TRACE_CORRUPT, 1, {8, TAU_TRACE_SLOT_NONE, allocate, 0, 0});
    EXPECT(TAU_TRACE_CORRUPT, 2, {8, 0, allocate, 0, 0});   // more slots than events
    EXPECT(TAU_TRACE_CORRUPT, 1, {8, 0, 9, 0, 0});          // no such operation
    EXPECT(TAU_TRACE_CORRUPT, 1, {8, 0, allocate, 0, 64});  // no such alignment
    EXPECT(TAU_TRACE_CORRUPT, 1, {UINT64_MAX, 0, allocate, 0, 0});
    EXPECT(TAU_TRACE_CORRUPT, 2, {UINT64_MAX / 2 - 1, 0, allocate, 0, 0},
           {UINT64_MAX / 2 - 1, 1, allocate, 0, 0});  // the sum
    EXPECT(TAU_TRACE_OK, 1, {UINT64_MAX / 2 - 1, 0, allocate, 0, 0});
    EXPECT(TAU_TRACE_OK, 1, {8, 0, TAU_TRACE_ALIGNED_ALLOC, 0, 63});
    EXPECT(TAU_TRACE_OK, 1, {0, TAU_TRACE_SLOT_NONE, give_back, TAU_TRACE_UNKNOWN, 0});
    EXPECT(TAU_TRACE_OK, 1, {8, 0, resize, TAU_TRACE_INHERITED, 0}, {0, 0, give_back, 0, 0});
}

static uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Mostly an event that fits the live objects; now and then anything.
static struct event random_event(uint64_t *state, bool *is_live) {
    const uint64_t odd = random_next(state) % 2000;
    const uint32_t slot = (uint32_t)(random_next(state) % SLOTS);
    struct event event = {
        .size_bytes = random_next(state) % 5000,
        .slot = slot,
        .op = is_live[slot] ? TAU_TRACE_FREE : (uint8_t)(random_next(state) % 2),
        .align_log2 = (uint8_t)(odd > 1900 ? random_next(state) % 14 : 0),
    };
    if (is_live[slot] && random_next(state) % 2 == 0) {
        event.op = TAU_TRACE_REALLOC;
    }
    is_live[slot] = event.op != TAU_TRACE_FREE;
    if (odd == 0) {
        event.size_bytes = random_next(state);
    } else if (odd == 1) {
        event.slot = TAU_TRACE_SLOT_NONE;
    } else if (odd == 2) {
        event.op = (uint8_t)(random_next(state) % 8);
    } else if (odd < 10) {
        event.flags = (uint8_t)(random_next(state) % 8);
    } else if (odd == 10) {
        event.align_log2 = (uint8_t)random_next(state);
    }
    return event;
}

int main(int count, char **arguments) {
    if (count != 3) {
        return 2;
    }
    uint64_t state = strtoull(arguments[1], NULL, 10) * 2 + 1;
    const unsigned long rounds = strtoul(arguments[2], NULL, 10);
    printf("seed %s\n", arguments[1]);
    cases();
    unsigned long accepted = 0;
    for (unsigned long round = 0; round < rounds; round++) {
        struct event events[EVENTS_MAX];
        const size_t length = SLOTS + random_next(&state) % (EVENTS_MAX - SLOTS);
        bool is_live[SLOTS] = {false};
        for (size_t i = 0; i < length; i++) {
            events[i] = random_event(&state, is_live);
        }
        accepted += open_events(events, length, SLOTS) == TAU_TRACE_OK;
    }
    printf("%lu of %lu accepted\n", accepted, rounds);
    return 0;
}
