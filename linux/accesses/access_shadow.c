// See access_shadow.h. Bits are set and cleared a word at a time.
//
// SPDX-License-Identifier: GPL-2.0-or-later
#include "access_shadow.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"

#define PAGE_BYTES 4096ul
#define CHUNK_BYTES (1ul << CHUNK_LOG2)

struct shadow_chunk *shadow_chunks[1ul << (ADDRESS_BITS - CHUNK_LOG2)];
Addr shadow_low;
UWord shadow_span;

// A stack of numbers that are free, over the numbers that were ever used.
struct numbers {
    UInt *free;
    UInt free_count, free_room, used;
};

static struct shadow_object *objects;
static UInt objects_room;
static struct numbers object_numbers, slot_numbers;

static UInt numbers_take(struct numbers *numbers) {
    return numbers->free_count > 0 ? numbers->free[--numbers->free_count] : numbers->used++;
}

static void numbers_give(struct numbers *numbers, UInt number) {
    if (numbers->free_count == numbers->free_room) {
        numbers->free_room = numbers->free_room == 0 ? 1024 : 2 * numbers->free_room;
        numbers->free =
            VG_(realloc)("tau.numbers", numbers->free, numbers->free_room * sizeof *numbers->free);
    }
    numbers->free[numbers->free_count++] = number;
}

// ---- granules

// The bytes of an object that have granules: one of no byte has one, so that it can be found.
static SizeT extent(SizeT size_bytes) {
    return size_bytes == 0 ? GRANULE_BYTES : VG_ROUNDUP(size_bytes, GRANULE_BYTES);
}

static struct shadow_chunk *chunk_of(Addr address) {
    tl_assert(address >> ADDRESS_BITS == 0);
    struct shadow_chunk **chunk = &shadow_chunks[address >> CHUNK_LOG2];
    if (*chunk == NULL) {
        *chunk = VG_(am_shadow_alloc)(sizeof **chunk);
        if (*chunk == NULL) {
            VG_(out_of_memory_NORETURN)("tau.shadow", sizeof **chunk);
        }
    }
    return *chunk;
}

// Sets both bits of the granules of [start, end): IS_HEAP, and IS_UNTOUCHED.
static void set_bits(Addr start, Addr end, Bool is_heap, Bool is_untouched) {
    while (start < end) {
        struct shadow_chunk *chunk = chunk_of(start);
        struct shadow_word *word = shadow_word(start);
        UWord first = shadow_bit(start), count = (end - start) >> GRANULE_LOG2;
        tl_assert(chunk != NULL);
        count = count < 64 - first ? count : 64 - first;
        ULong mask = (count == 64 ? ~0ull : (1ull << count) - 1) << first;
        word->heap = is_heap ? word->heap | mask : word->heap & ~mask;
        word->untouched = is_untouched ? word->untouched | mask : word->untouched & ~mask;
        start += count << GRANULE_LOG2;
    }
}

static void set_owner(Addr address, UInt object) {
    UWord granule = (address & (CHUNK_BYTES - 1)) >> GRANULE_LOG2;
    chunk_of(address)->owner[granule] = object;
}

static void set_owners(Addr start, Addr end, UInt object) {
    set_owner(start, object);
    for (Addr page = VG_ROUNDUP(start + 1, PAGE_BYTES); page < end; page += PAGE_BYTES) {
        set_owner(page, object);
    }
}

static void reach(Addr start, Addr end) {
    Addr high = shadow_low + shadow_span;
    Addr low = shadow_span == 0 || start < shadow_low ? start : shadow_low;
    shadow_span = (end > high ? end : high) - low;
    shadow_low = low;
}

Bool shadow_is_heap(Addr address) {
    struct shadow_word *word = shadow_word(address);
    return word != NULL && (word->heap >> shadow_bit(address) & 1) != 0;
}

Bool shadow_is_untouched(Addr address) {
    struct shadow_word *word = shadow_word(address);
    return word != NULL && (word->untouched >> shadow_bit(address) & 1) != 0;
}

void shadow_set_touched(Addr address) {
    shadow_word(address)->untouched &= ~(1ull << shadow_bit(address));
}

// ---- objects

struct shadow_object *shadow_object(UInt object) {
    return &objects[object];
}

UInt shadow_add(Addr start, SizeT size_bytes) {
    tl_assert(start % GRANULE_BYTES == 0);
    UInt object = numbers_take(&object_numbers);
    if (object >= objects_room) {
        objects_room = objects_room == 0 ? 4096 : 2 * objects_room;
        objects = VG_(realloc)("tau.objects", objects, objects_room * sizeof *objects);
    }
    UInt slot = numbers_take(&slot_numbers);
    objects[object] = (struct shadow_object){start, size_bytes, slot};
    Addr end = start + extent(size_bytes);
    reach(start, end);
    set_bits(start, end, True, size_bytes > 0);
    set_owners(start, end, object);
    return object;
}

void shadow_remove(UInt object) {
    struct shadow_object *old = &objects[object];
    set_bits(old->start, old->start + extent(old->size_bytes), False, False);
    if (old->slot != OBJECT_NONE) {
        numbers_give(&slot_numbers, old->slot);
    }
    numbers_give(&object_numbers, object);
}

UInt shadow_owner(Addr address) {
    Addr page = address & ~(PAGE_BYTES - 1);
    Addr at = address & ~(GRANULE_BYTES - 1);
    // A page has 256 granules: at most five words of bits.
    while (at > page) {
        Addr before = at - GRANULE_BYTES;
        struct shadow_word *word = shadow_word(before);
        UWord bit = shadow_bit(before);
        // The granules up to and with BIT that no object has; the highest ends the way back.
        ULong gaps = ~word->heap & (bit == 63 ? ~0ull : (1ull << (bit + 1)) - 1);
        Addr base = before - (bit << GRANULE_LOG2);
        if (gaps != 0) {
            Addr start = base + ((64ul - (UWord)__builtin_clzll(gaps)) << GRANULE_LOG2);
            at = start > page ? start : page;
            break;
        }
        at = base > page ? base : page;
    }
    UWord granule = (at & (CHUNK_BYTES - 1)) >> GRANULE_LOG2;
    return shadow_chunks[at >> CHUNK_LOG2]->owner[granule];
}

UInt shadow_starting_at(Addr address) {
    if (address >> ADDRESS_BITS != 0 || address % GRANULE_BYTES != 0 || !shadow_is_heap(address)) {
        return OBJECT_NONE;
    }
    UInt object = shadow_owner(address);
    return objects[object].start == address ? object : OBJECT_NONE;
}

void shadow_resize(UInt object, Addr new_start, SizeT new_bytes) {
    struct shadow_object *old = &objects[object];
    Addr old_end = old->start + extent(old->size_bytes), new_end = new_start + extent(new_bytes);
    // A granule that the object filled in part is a new one when the object grows: in a layout that
    // is aligned to less, its other part may be on another page.
    UWord kept = new_bytes > old->size_bytes ? old->size_bytes >> GRANULE_LOG2
                                             : (new_bytes + GRANULE_BYTES - 1) >> GRANULE_LOG2;
    reach(new_start, new_end);
    if (new_start != old->start) {
        set_bits(new_start, new_end, True, new_bytes > 0);
        for (UWord i = 0; i < kept; i++) {
            if (!shadow_is_untouched(old->start + (i << GRANULE_LOG2))) {
                shadow_set_touched(new_start + (i << GRANULE_LOG2));
            }
        }
        set_bits(old->start, old_end, False, False);
    } else {
        set_bits(new_start + (kept << GRANULE_LOG2), new_end, True, new_bytes > 0);
        if (new_end < old_end) {
            set_bits(new_end, old_end, False, False);
        }
    }
    set_owners(new_start, new_end, object);
    old->start = new_start;
    old->size_bytes = new_bytes;
}

void shadow_inherit(void) {
    slot_numbers.free_count = 0;
    slot_numbers.used = 0;
    for (UInt object = 0; object < object_numbers.used; object++) {
        objects[object].slot = OBJECT_NONE;
    }
}
