// Counts, for several input streams one after the other, how often each element occurs in each.
//
//     mc sparse|hash STREAMS DISTINCT ELEMENTS SEED
//
// Stands for the paper's mc [P0-36], of which it says no more than that. Elements are numbers of
// eight digits; a stream has ELEMENTS of them, DISTINCT different ones. A stream's table is freed
// when the stream ends; the result, its most frequent elements, is kept until all are done, and
// lies behind the table: at the end of the heap.
//
// `sparse` is the case that the paper calls extreme: the table is indexed by the element itself and
// never initialized (Briggs and Torczon 1993, the idea of the paper's section II-C1). It reserves
// 400 MB and touches as many pages as there are different elements; every stream touches others.
// `hash` is the same with open addressing, as most would write it: small, and touched throughout.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGE 100000000u
#define BEST_COUNT 8
#define LIST_MIN 16u
#define SLOTS_MIN 32u

struct entry {
    uint32_t element;
    uint32_t count;
};

struct result {
    struct result *older;
    struct entry best[BEST_COUNT];
};

struct table {
    struct entry *list;  // grows
    uint32_t used;
    uint32_t capacity;
    uint32_t *place;       // sparse: where an element may be in the list; hash: 1 + place, or 0
    uint32_t slots_count;  // hash: slots of `place`, a power of two; sparse: 0
};

static void *needed(void *memory) {
    if (memory == NULL) {
        fputs("mc: no memory\n", stderr);
        exit(2);
    }
    return memory;
}

// xorshift32: the same streams on every machine.
static uint32_t drawn(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static uint32_t slot_of(const struct table *table, uint32_t element) {
    uint32_t slot = element * 2654435761u & (table->slots_count - 1);
    while (table->place[slot] != 0 && table->list[table->place[slot] - 1].element != element) {
        slot = (slot + 1) & (table->slots_count - 1);
    }
    return slot;
}

static void hash_again(struct table *table) {
    free(table->place);
    table->slots_count *= 2;
    table->place = needed(calloc(table->slots_count, sizeof *table->place));
    for (uint32_t index = 0; index < table->used; index++) {
        table->place[slot_of(table, table->list[index].element)] = index + 1;
    }
}

static void append(struct table *table, uint32_t element) {
    if (table->used == table->capacity) {
        table->capacity *= 2;
        table->list = needed(realloc(table->list, table->capacity * sizeof *table->list));
    }
    table->list[table->used++] = (struct entry){.element = element, .count = 1};
}

static void count_sparse(struct table *table, uint32_t element) {
    const uint32_t index = table->place[element];  // anything, if the element is new
    if (index < table->used && table->list[index].element == element) {
        table->list[index].count++;
    } else {
        table->place[element] = table->used;
        append(table, element);
    }
}

static void count_hashed(struct table *table, uint32_t element) {
    uint32_t slot = slot_of(table, element);
    if (table->place[slot] != 0) {
        table->list[table->place[slot] - 1].count++;
        return;
    }
    if (2 * table->used >= table->slots_count) {
        hash_again(table);
        slot = slot_of(table, element);
    }
    table->place[slot] = table->used + 1;
    append(table, element);
}

static int more_frequent(const void *first, const void *second) {
    const struct entry *const a = first;
    const struct entry *const b = second;
    if (a->count != b->count) {
        return a->count < b->count ? 1 : -1;
    }
    return (a->element > b->element) - (a->element < b->element);
}

static struct result *counted(int sparse, uint32_t distinct, uint32_t elements, uint32_t *state,
                              struct result *older) {
    const uint32_t stream = drawn(state);
    struct table table = {.capacity = LIST_MIN, .slots_count = sparse ? 0 : SLOTS_MIN};
    table.place = needed(sparse ? malloc(RANGE * sizeof *table.place)
                                : calloc(SLOTS_MIN, sizeof *table.place));
    struct result *const result = needed(calloc(1, sizeof *result));
    table.list = needed(malloc(LIST_MIN * sizeof *table.list));
    for (uint32_t index = 0; index < elements; index++) {
        const uint32_t kind =
            index < distinct ? index : drawn(state) % (drawn(state) % distinct + 1);
        uint32_t element = stream ^ ((kind + 1) * 2246822519u);
        element = drawn(&element) % RANGE;
        if (sparse) {
            count_sparse(&table, element);
        } else {
            count_hashed(&table, element);
        }
    }
    qsort(table.list, table.used, sizeof *table.list, more_frequent);
    const uint32_t best = table.used < BEST_COUNT ? table.used : BEST_COUNT;
    memcpy(result->best, table.list, best * sizeof *table.list);
    result->older = older;
    free(table.list);
    free(table.place);
    return result;
}

int main(int argc, char **argv) {
    const int sparse = argc == 6 && strcmp(argv[1], "sparse") == 0;
    if (argc != 6 || (!sparse && strcmp(argv[1], "hash") != 0)) {
        fputs("usage: mc sparse|hash STREAMS DISTINCT ELEMENTS SEED\n", stderr);
        return 2;
    }
    const uint32_t streams = (uint32_t)strtoul(argv[2], NULL, 10);
    const uint32_t distinct = (uint32_t)strtoul(argv[3], NULL, 10);
    const uint32_t elements = (uint32_t)strtoul(argv[4], NULL, 10);
    uint32_t state = (uint32_t)strtoul(argv[5], NULL, 10);
    if (streams == 0 || distinct == 0 || elements < distinct || state == 0) {
        fputs("mc: numbers from 1 on, and no fewer elements than different ones\n", stderr);
        return 2;
    }
    struct result *newest = NULL;
    for (uint32_t stream = 0; stream < streams; stream++) {
        newest = counted(sparse, distinct, elements, &state, newest);
    }
    uint32_t checksum = 0;
    while (newest != NULL) {
        struct result *const older = newest->older;
        checksum = checksum * 31 + newest->best[0].element + newest->best[0].count;
        free(newest);
        newest = older;
    }
    printf("mc: %u streams, %u\n", streams, checksum);
    return 0;
}
