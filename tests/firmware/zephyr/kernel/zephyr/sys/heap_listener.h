// A stand-in for Zephyr's sys/heap_listener.h: an identifier is the address of a struct sys_heap.
#ifndef HEAP_LISTENER_H
#define HEAP_LISTENER_H

#include <stddef.h>
#include <stdint.h>

enum heap_event { HEAP_ALLOC = 1, HEAP_FREE };

struct heap_listener {
    struct heap_listener *next;
    uintptr_t heap_id;
    enum heap_event event;
    void (*told)(uintptr_t heap_id, void *object, size_t bytes);
};

#define HEAP_ID_FROM_POINTER(heap_pointer) ((uintptr_t)(heap_pointer))
#define HEAP_LISTENER_ALLOC_DEFINE(name, id, function)                                             \
    struct heap_listener name = {.heap_id = (id), .event = HEAP_ALLOC, .told = (function)}
#define HEAP_LISTENER_FREE_DEFINE(name, id, function)                                              \
    struct heap_listener name = {.heap_id = (id), .event = HEAP_FREE, .told = (function)}

void heap_listener_register(struct heap_listener *listener);
void heap_listener_notify_alloc(uintptr_t heap_id, void *object, size_t bytes);
void heap_listener_notify_free(uintptr_t heap_id, void *object, size_t bytes);

#endif
