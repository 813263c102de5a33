// A firmware on a stand-in for Zephyr's heap, with the listeners that core/ports/record.h gives.
//
// The stand-in follows what Zephyr documents and does: a listener hears one event of one heap,
// which its identifier names. An allocation is reported after it was made and a free before it is,
// both with the bytes of the chunk. A realloc in place is reported as an allocation of the new size
// and then a free of the old one, at one address; one that keeps the chunk is not reported.
// Arguments: file, seed, operations. Prints each operation.
#include <stdio.h>
#include <stdlib.h>

#include "core/ports/record.h"

// ---- The stand-in ----

struct sys_heap {
    unsigned int number;
};

struct k_heap {
    struct sys_heap heap;
};

enum event { EVENT_ALLOC = 1, EVENT_FREE };

struct heap_listener {
    struct heap_listener *next;
    uintptr_t heap_id;
    enum event event;
    void (*told)(uintptr_t heap_id, void *memory, size_t size_bytes);
};

#define HEAP_ID_LIBC ((uintptr_t)0)
#define HEAP_ID_FROM_POINTER(heap_pointer) ((uintptr_t)(heap_pointer))
#define HEAP_LISTENER_ALLOC_DEFINE(name, id, function)                                             \
    struct heap_listener name = {.heap_id = (id), .event = EVENT_ALLOC, .told = (function)}
#define HEAP_LISTENER_FREE_DEFINE(name, id, function)                                              \
    struct heap_listener name = {.heap_id = (id), .event = EVENT_FREE, .told = (function)}

static struct heap_listener *listeners;

void heap_listener_register(struct heap_listener *listener);
void heap_listener_register(struct heap_listener *listener) {
    listener->next = listeners;
    listeners = listener;
}

struct k_heap _system_heap;
static struct k_heap heap_of_libc;

static void tell(const struct k_heap *heap, enum event event, uintptr_t address, size_t size) {
    for (struct heap_listener *one = listeners; one != NULL; one = one->next) {
        if (one->heap_id == HEAP_ID_FROM_POINTER(&heap->heap) && one->event == event) {
            one->told(one->heap_id, (void *)address, size);
        }
    }
}

// ---- What the firmware adds ----

static struct tau_record recording;
static uint32_t now;

void record_the_heap(void);
#include "recipe.h"

static bool send(void *context, const void *bytes, size_t size_bytes) {
    return fwrite(bytes, 1, size_bytes, context) == size_bytes;
}

static uint32_t ticks(void *context) {
    (void)context;
    return now;
}

// ---- The program ----

#define CELLS 256u

static size_t chunk_bytes[CELLS];  // 0: no object here
static unsigned int name_of[CELLS];
static unsigned int names;

static unsigned int free_cell(void) {
    unsigned int cell = (unsigned int)rand() % CELLS;
    while (chunk_bytes[cell] != 0) {
        cell = (cell + 1) % CELLS;
    }
    return cell;
}

static uintptr_t address_of(unsigned int cell) {
    return 0x20001004u + cell * 1024u;
}

static size_t chunk_of(unsigned int size) {
    return (size + 4u + 7u) / 8u * 8u - 4u;
}

static void allocate(unsigned int name, size_t bytes) {
    const unsigned int cell = free_cell();
    chunk_bytes[cell] = bytes;
    name_of[cell] = name;
    tell(&_system_heap, EVENT_ALLOC, address_of(cell), bytes);
}

static void release(unsigned int cell) {
    tell(&_system_heap, EVENT_FREE, address_of(cell), chunk_bytes[cell]);
    chunk_bytes[cell] = 0;
}

static void resize(unsigned int cell, size_t bytes) {
    if (bytes == chunk_bytes[cell]) {
        return;
    }
    if (rand() % 4 == 0) {
        printf("malloc,%u,%zu\nfree,%u,0\n", ++names, bytes, name_of[cell]);
        allocate(names, bytes);
        release(cell);
        return;
    }
    const size_t old_bytes = chunk_bytes[cell];
    chunk_bytes[cell] = bytes;
    tell(&_system_heap, EVENT_ALLOC, address_of(cell), bytes);
    tell(&_system_heap, EVENT_FREE, address_of(cell), old_bytes);
    printf("realloc,%u,%zu\n", name_of[cell], bytes);
}

int main(int count, char **arguments) {
    if (count != 4) {
        return 1;
    }
    FILE *out = fopen(arguments[1], "wb");
    srand((unsigned int)atol(arguments[2]));
    tau_record_start(&recording, &(struct tau_record_port){send, ticks, out, 1000});
    record_the_heap();
    printf("op,id,size\n");
    for (long i = 0; i < atol(arguments[3]); i++) {
        now++;
        tell(&heap_of_libc, EVENT_ALLOC, address_of((unsigned int)rand() % CELLS), 20);
        const unsigned int cell = (unsigned int)rand() % (CELLS / 2);
        const size_t bytes = chunk_of(1u + (unsigned int)rand() % 200u);
        if (chunk_bytes[cell] == 0) {
            printf("malloc,%u,%zu\n", ++names, bytes);
            allocate(names, bytes);
        } else if (rand() % 2 == 0) {
            resize(cell, bytes);
        } else {
            printf("free,%u,0\n", name_of[cell]);
            release(cell);
        }
    }
    tau_record_flush(&recording);
    tau_record_flush(&recording);  // writes nothing more
    return fclose(out);
}
