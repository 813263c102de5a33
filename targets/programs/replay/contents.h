// Checks the contents of objects, for tests. With TAU_ASSERT_LEVEL 2, each word that the replay
// writes encodes its object and its offset. The word is checked at every later load and before the
// object is freed. A lost page, two pages on one frame, or a wrong translation therefore stop the
// simulation.
//
// At lower levels none of this is compiled, so the measured program is the one without it.
//
// A map after the slots, in plain memory, has one bit per known word. Heap pages for which the map
// has no room are not checked. The check itself never faults: a known word was written, and its
// page stays mapped until its object is freed.
#ifndef TAU_REPLAY_CONTENTS_H
#define TAU_REPLAY_CONTENTS_H

#include "targets/tile/program.h"

#if TAU_ASSERT_LEVEL >= 2

#define CONTENTS_ROW_WORDS 32u  // words of the map per page
#define contents_page_value contents_value
#define CONTENTS_WORD(address) (((address)-TAU_TILE_ADDRESS_WINDOW) / 4)

static uint32_t *contents_sizes;        // size of each slot's object, in bytes
static uint32_t *contents_generations;  // number of times that each slot was freed
static uint32_t *contents_map;
static uint32_t contents_slots, contents_words;

// Places the map in SIZE_BYTES of plain memory at MEMORY.
static void contents_start(uint32_t *memory, uint32_t size_bytes, uint32_t slots_count,
                           uint32_t heap_pages) {
    const uint32_t row_bytes = 4 * CONTENTS_ROW_WORDS;
    if (size_bytes / 8 < slots_count || size_bytes - 8 * slots_count < 2 * row_bytes) {
        tau_tile_fail("no room to check what objects hold");
    }
    uint32_t pages = (size_bytes - 8 * slots_count) / row_bytes;
    pages = pages > heap_pages ? heap_pages + 1 : pages;
    contents_sizes = memory;
    contents_generations = memory + slots_count;
    contents_map = memory + 2 * slots_count;
    contents_slots = slots_count;
    contents_words = pages * TAU_TILE_SIZE_PAGE_BYTES / 4;
    for (uint32_t i = 0; i < 2 * slots_count + pages * CONTENTS_ROW_WORDS; i++) {
        memory[i] = 0;
    }
}

static uint32_t contents_value(uint32_t slot, uint32_t offset) {
    const uint32_t owner = slot * 0x9E3779B1u + contents_generations[slot] * 0x85EBCA77u;
    return (owner ^ owner >> 15) + offset;
}

static bool contents_is_known(uintptr_t address) {
    const uint32_t word = CONTENTS_WORD(address);
    return word < contents_words && (contents_map[word / 32] >> word % 32 & 1) != 0;
}

_Noreturn static void contents_fail(uintptr_t address, uint32_t slot, uint32_t offset,
                                    uint32_t found) {
    tau_tile_print("slot ");
    tau_tile_print_number(slot);
    tau_tile_print(", offset ");
    tau_tile_print_number(offset);
    tau_tile_print(" at ");
    tau_tile_print_hex(address);
    tau_tile_print(" holds ");
    tau_tile_print_hex(found);
    for (uint32_t other = 0; other < contents_slots; other++) {
        const uint32_t place = found - contents_value(other, 0);
        if (place < contents_sizes[other] && place % 4 == 0) {
            tau_tile_print(", that is slot ");
            tau_tile_print_number(other);
            tau_tile_print(", offset ");
            tau_tile_print_number(place);
        }
    }
    tau_tile_print("\n");
    tau_tile_fail("an object does not hold what was written to it");
}

// Records that the word at OFFSET of the object in SLOT holds its value.
static void contents_wrote(uint32_t slot, const void *object, uintptr_t address) {
    const uint32_t word = CONTENTS_WORD(address);
    (void)slot;
    (void)object;
    if (word < contents_words) {
        contents_map[word / 32] |= 1u << word % 32;
    }
}

// Checks FOUND, which was read at ADDRESS.
static void contents_check(uint32_t slot, const void *object, uintptr_t address, uint32_t found) {
    const uint32_t offset = address - (uintptr_t)object;
    if (contents_is_known(address) && found != contents_value(slot, offset)) {
        contents_fail(address, slot, offset, found);
    }
}

// Checks the known words of an object from FIRST to END - 1 and marks them unknown.
static void contents_forget(uint32_t slot, const void *object, uint32_t first, uint32_t end_bytes) {
    uintptr_t address = (uintptr_t)object + first;
    const uintptr_t end_address = (uintptr_t)object + end_bytes;
    while (address < end_address && CONTENTS_WORD(address) < contents_words) {
        const uint32_t word = CONTENTS_WORD(address);
        if (contents_map[word / 32] == 0) {
            address += 4 * (32 - word % 32);
            continue;
        }
        if (contents_is_known(address)) {
            contents_check(slot, object, address, *(const volatile uint32_t *)address);
            contents_map[word / 32] &= ~(1u << word % 32);
        }
        address += 4;
    }
}

// Sets the size of the object in SLOT to SIZE_BYTES. The bytes from KNOWN_BYTES on are unknown.
static void contents_resize(uint32_t slot, const void *object, uint32_t known_bytes,
                            uint32_t size_bytes) {
    if (size_bytes < known_bytes) {
        contents_forget(slot, object, (size_bytes + 3) & ~3u, known_bytes);
    }
    contents_sizes[slot] = size_bytes;
    for (uint32_t offset = (known_bytes + 3) & ~3u; offset < size_bytes; offset += 4) {
        if (contents_is_known((uintptr_t)object + offset)) {
            contents_fail((uintptr_t)object + offset, slot, offset,
                          *(const volatile uint32_t *)((uintptr_t)object + offset));
        }
    }
}

// After an object was cleared: checks that it is, and writes its values.
static void contents_cleared(uint32_t slot, const void *object, uint32_t size_bytes) {
    for (uint32_t offset = 0; offset < size_bytes; offset += 4) {
        volatile uint32_t *const word = (volatile uint32_t *)((uintptr_t)object + offset);
        if (*word != 0) {
            contents_fail((uintptr_t)word, slot, offset, *word);
        }
    }
    for (uint32_t offset = 0; offset < size_bytes; offset += 4) {
        *(volatile uint32_t *)((uintptr_t)object + offset) = contents_value(slot, offset);
        contents_wrote(slot, object, (uintptr_t)object + offset);
    }
}

// After the first bytes of an object were copied: exactly the words known of OLD are known of the
// new object.
static void contents_moved(uint32_t slot, const void *old, const void *object,
                           uint32_t size_bytes) {
    for (uint32_t offset = 0; offset < size_bytes; offset += 4) {
        const uintptr_t address = (uintptr_t)object + offset;
        const uint32_t word = CONTENTS_WORD(address);
        if (contents_is_known((uintptr_t)old + offset)) {
            contents_wrote(slot, object, address);
            contents_check(slot, object, address, *(const volatile uint32_t *)address);
        } else if (word < contents_words) {
            contents_map[word / 32] &= ~(1u << word % 32);
        }
    }
}

// Before the object is freed. With `is_last`, its slot is freed too.
static void contents_end(uint32_t slot, const void *object, uint32_t size_bytes, bool is_last) {
    contents_forget(slot, object, 0, size_bytes);
    contents_generations[slot] += is_last;
}

static uint32_t contents_size_bytes(uint32_t slot) {
    return contents_sizes[slot];
}

// At a fault at ADDRESS: checks that no word of its page is known.
static void contents_faulted(uintptr_t address) {
    const uint32_t word = CONTENTS_WORD(address) / 1024 * 1024;
    for (uint32_t i = 0; word < contents_words && i < CONTENTS_ROW_WORDS; i++) {
        if (contents_map[word / 32 + i] != 0) {
            tau_tile_print_hex(address);
            tau_tile_print("\n");
            tau_tile_fail("a page that objects are in is not mapped");
        }
    }
}

#else

#define contents_start(memory, size_bytes, slots_count, heap_pages) ((void)0)
#define contents_value(slot, offset) (slot)
#define contents_page_value(slot, offset) ((void)(slot), 1u)
#define contents_wrote(slot, object, address) ((void)0)
#define contents_check(slot, object, address, found) ((void)(found))
#define contents_resize(slot, object, known_bytes, size_bytes) ((void)0)
#define contents_cleared(slot, object, size_bytes) ((void)0)
#define contents_moved(slot, old, object, size_bytes) ((void)0)
#define contents_end(slot, object, size_bytes, is_last) ((void)0)
#define contents_size_bytes(slot) 0u
#define contents_faulted(address) ((void)0)

#endif
#endif
