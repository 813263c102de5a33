// Random calls on a heap, and objects whose contents are known: what the calls of TLSF, budgets and
// colored heaps share. A file that includes this says how its heap is called, in struct heap_calls.
#ifndef TAU_OBJECTS_H
#define TAU_OBJECTS_H

#include "core/config.h"
#include "core/tests/kit/fuzz.h"
#include "core/tests/kit/mechanism.h"

struct heap_calls {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*realloc)(void *pointer, size_t size);
    enum tau_status (*free)(void *pointer);
    size_t (*usable_size)(void *pointer);
    size_t (*choose_size)(void);
    size_t (*choose_alignment)(void);
    void (*given)(const struct fuzz_object *object, size_t usable);  // NULL: nothing to compare
    void (*refused)(size_t size, size_t alignment);                  // when a request is refused
    void (*expect_double_free)(void *pointer);                       // NULL: not seen by the heap
};

// Where the heap's memory starts, for the log.
static const unsigned char *objects_base;

static inline long long objects_offset(const void *pointer) {
    return pointer == NULL ? -1 : (const unsigned char *)pointer - objects_base;
}

static inline void objects_begin(const struct heap_calls *heap, struct fuzz_object *object,
                                 size_t size, size_t alignment) {
    const size_t usable = heap->usable_size(object->bytes);
    LOG("u %lld %zu\n", objects_offset(object->bytes), usable);
    fuzz_begin(object, usable, size, alignment);
    if (heap->given != NULL) {
        heap->given(object, usable);
    }
}

static inline void objects_allocate(const struct heap_calls *heap, struct fuzz_object *object) {
    const size_t size = heap->choose_size();
    const size_t kind = fuzz_choose(explores() ? 2 : 8);
    size_t alignment = TAU_ALIGNMENT;
    if (kind == 0) {
        alignment = heap->choose_alignment();
        object->bytes = heap->aligned_alloc(alignment, size);
        LOG("a %zu %zu %lld\n", alignment, size, objects_offset(object->bytes));
    } else if (kind == 2 && heap->calloc != NULL) {
        object->bytes = heap->calloc(1, size);
        LOG("c 1 %zu %lld\n", size, objects_offset(object->bytes));
        for (size_t i = 0; object->bytes != NULL && i < size; i++) {
            EXPECT_EQUAL(object->bytes[i], 0);
        }
    } else if (kind == 3) {
        object->bytes = heap->realloc(NULL, size);
        LOG("r -1 %zu %lld\n", size, objects_offset(object->bytes));
    } else {
        object->bytes = heap->malloc(size);
        LOG("m %zu %lld\n", size, objects_offset(object->bytes));
    }
    if (object->bytes == NULL) {
        heap->refused(size, alignment);
    } else {
        objects_begin(heap, object, size, alignment);
    }
}

static inline void objects_give_back(const struct heap_calls *heap, struct fuzz_object *object) {
    unsigned char *const bytes = object->bytes;
    fuzz_expect_intact(object, object->size);
    EXPECT_EQUAL(heap->free(bytes), TAU_OK);
    LOG("f %lld\n", objects_offset(bytes));
    object->bytes = NULL;
    if (heap->expect_double_free != NULL) {
        heap->expect_double_free(bytes);
    }
}

static inline void objects_resize(const struct heap_calls *heap, struct fuzz_object *object) {
    const size_t size = heap->choose_size();
    if (size == 0) {
        return;
    }
    fuzz_expect_intact(object, object->size);
    unsigned char *const moved = heap->realloc(object->bytes, size);
    LOG("r %lld %zu %lld\n", objects_offset(object->bytes), size, objects_offset(moved));
    if (moved == NULL) {
        heap->refused(size, object->alignment);
        EXPECT(size > object->size);
        return;
    }
    object->bytes = moved;
    fuzz_expect_intact(object, size < object->size ? size : object->size);
    objects_begin(heap, object, size, object->alignment);
}

// One of COUNT objects: any of them, or the first that is empty or any that is not.
static inline struct fuzz_object *objects_choose(struct fuzz_object *objects, size_t count) {
    if (!explores()) {
        return &objects[fuzz_choose(count)];
    }
    struct fuzz_object *chosen[FUZZ_OBJECTS];
    size_t chosen_count = 0;
    bool has_empty = false;
    for (size_t i = 0; i < count; i++) {
        if (objects[i].bytes != NULL || !has_empty) {
            has_empty = has_empty || objects[i].bytes == NULL;
            chosen[chosen_count++] = &objects[i];
        }
    }
    return chosen[fuzz_choose(chosen_count)];
}

// A call on one of the objects, which a third of the time changes its size, if it is there.
static inline void objects_call(const struct heap_calls *heap, struct fuzz_object *objects,
                                size_t count) {
    struct fuzz_object *const object = objects_choose(objects, count);
    if (object->bytes == NULL) {
        objects_allocate(heap, object);
    } else if (once_in(3)) {
        objects_resize(heap, object);
    } else {
        objects_give_back(heap, object);
    }
}

static inline void objects_give_all_back(const struct heap_calls *heap, struct fuzz_object *objects,
                                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (objects[i].bytes != NULL) {
            objects_give_back(heap, &objects[i]);
        }
    }
}

#endif
