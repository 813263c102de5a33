// Replays a trace, which the host feeds through the mailbox, on a heap over the tile's pages.
//
// 1. Every call of malloc, aligned_alloc, resize and free is measured by its own stopwatch. The
//    result is sent with the number of mapped pages after the call.
// 2. A page is mapped by the fault of the load or store that needs it. The trap handler below calls
//    the core's fault handler. The tile itself measures how long a fault takes.
// 3. calloc clears the object. A realloc that moves copies the mapped part of the old object, word
//    by word.
//
// The host's side, and the meaning of the numbers: tool/tautochrone/replay/tile/tile.py. Events
// have the meaning of tool/native/replay/paging.c; tool/tests/replay/tile/test_tile.py compares the
// two.
#include "facts/gen/tau_replay_fault.h"
#include "facts/gen/tau_replay_format.h"
#include "facts/gen/tau_trace_format.h"

#include TAU_REPLAY_SYSTEM  // system_<heap>.h
#include "targets/programs/replay/contents.h"

static struct tau_frames frames;
static uint32_t **slots;
static uint32_t slots_count;
static uint32_t command_number;
static uint32_t heap_pages;

_Noreturn void tau_replay_assert_failed(const char *text) {
    tau_tile_fail(text);
}

static struct tau_page page_of(uintptr_t address) {
    return (struct tau_page){(address - TAU_TILE_ADDRESS_WINDOW) / TAU_TILE_SIZE_PAGE_BYTES};
}

static void send(uint32_t channel) {
    tau_tile_send(channel, system_mapped_pages());
}

// Reports the end and stops.
_Noreturn static void end(uint32_t reason) {
    tau_tile_start(REPLAY_CHANNEL_END, command_number);
    tau_tile_done(REPLAY_CHANNEL_END, reason);
    send(REPLAY_CHANNEL_END);
    tau_tile_exit(0);
}

// Faults of loads and stores in the window, the program's and the allocator's.
uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    const uint32_t access = cause == 5 ? TAU_READ : TAU_WRITE;
    if ((cause != 5 && cause != 7) || address < TAU_TILE_ADDRESS_WINDOW ||
        address >= TAU_TILE_ADDRESS_FRAMES) {
        tau_tile_fail("a trap that is no access to the heap");
    }
    contents_faulted(address);
    const enum tau_status status = system_map_page(page_of(address), access);
    if (status == TAU_NO_FRAME) {
        end(TAU_REPLAY_NO_FRAME);
    }
    if (status != TAU_OK) {
        tau_tile_print_number(status);
        tau_tile_print(" is why the page of ");
        tau_tile_print_hex(address);
        tau_tile_print(" cannot be mapped\n");
        tau_tile_fail("an access to memory that nobody has");
    }
    return pc;
}

// ---- memory of objects ----

static void clear(uint32_t *object, uint32_t size_bytes) {
    volatile uint32_t *const words = object;
    const uint32_t count = (size_bytes + 3) / 4;
    for (uint32_t i = 0; i < count; i++) {
        words[i] = 0;
    }
}

// Writes one word in each page of the bytes from FIRST to END - 1.
static void touch_pages(uint32_t slot, uint32_t *object, uint32_t first, uint32_t end_bytes) {
    uintptr_t address = (uintptr_t)object + first;
    const uintptr_t end_address = (uintptr_t)object + end_bytes;
    while (address < end_address) {
        *(volatile uint32_t *)(address & ~(uintptr_t)3) =
            contents_page_value(slot, address - (uintptr_t)object);
        contents_wrote(slot, object, address);
        address = (address / TAU_TILE_SIZE_PAGE_BYTES + 1) * TAU_TILE_SIZE_PAGE_BYTES;
    }
}

static void copy_mapped(const uint32_t *from, uint32_t *to, uint32_t size_bytes) {
    const uint32_t count = (size_bytes + 3) / 4;
    uint32_t i = 0;
    while (i < count) {
        const uintptr_t address = (uintptr_t)&from[i];
        const uint32_t in_page =
            (TAU_TILE_SIZE_PAGE_BYTES - address % TAU_TILE_SIZE_PAGE_BYTES) / 4;
        const uint32_t stop = in_page < count - i ? i + in_page : count;
        if (!system_is_mapped(page_of(address))) {
            i = stop;
        }
        for (; i < stop; i++) {
            ((volatile uint32_t *)to)[i] = from[i];
        }
    }
}

// Reports that the faults so far belong to this command, if there were any.
static void note_faults(uint32_t mapped_before) {
    if (system_mapped_pages() != mapped_before) {
        tau_tile_start(REPLAY_CHANNEL_FAULTED, command_number);
        tau_tile_done(REPLAY_CHANNEL_FAULTED, 0);
        send(REPLAY_CHANNEL_FAULTED);
    }
}

// ---- commands ----

static void allocate(uint32_t slot, uint32_t size_bytes, uint32_t align_log2, uint32_t word) {
    void *object;
    if (align_log2 == 0) {
        tau_tile_start(REPLAY_CHANNEL_MALLOC, command_number);
        object = system_malloc(size_bytes);
        tau_tile_done(REPLAY_CHANNEL_MALLOC, (uint32_t)object);
        send(REPLAY_CHANNEL_MALLOC);
    } else {
        const uint32_t alignment = 1u << align_log2;
        tau_tile_start(REPLAY_CHANNEL_ALIGNED_ALLOC, command_number);
        object = system_aligned_alloc(alignment, size_bytes);
        tau_tile_done(REPLAY_CHANNEL_ALIGNED_ALLOC, (uint32_t)object);
        send(REPLAY_CHANNEL_ALIGNED_ALLOC);
    }
    if (object == NULL && size_bytes != 0) {
        end(TAU_REPLAY_NO_MEMORY);
    }
    slots[slot] = object;
    contents_resize(slot, object, 0, size_bytes);
    const uint32_t mapped = system_mapped_pages();
    if (object != NULL && (word & 0xFF) == REPLAY_OP_CALLOC) {
        clear(object, size_bytes);
        contents_cleared(slot, object, size_bytes);
    } else if (object != NULL && (word & REPLAY_FLAG_ALL_PAGES) != 0) {
        touch_pages(slot, object, 0, size_bytes);
    }
    note_faults(mapped);
}

static void release(void *object) {
    if (object == NULL) {
        return;
    }
    tau_tile_start(REPLAY_CHANNEL_FREE, command_number);
    const enum tau_status status = system_free(object);
    tau_tile_done(REPLAY_CHANNEL_FREE, status);
    send(REPLAY_CHANNEL_FREE);
    if (status != TAU_OK) {
        tau_tile_fail("a proper free was refused");
    }
}

static void reallocate(uint32_t slot, uint32_t size_bytes, uint32_t old_bytes, uint32_t word) {
    uint32_t *const old = slots[slot];
    if (old == NULL) {
        allocate(slot, size_bytes, 0, word);
        return;
    }
    if (size_bytes == 0) {
        contents_end(slot, old, contents_size_bytes(slot), true);
        release(old);
        slots[slot] = NULL;
        return;
    }
    tau_tile_start(REPLAY_CHANNEL_RESIZE, command_number);
    const bool is_resized = system_resize(old, size_bytes);
    tau_tile_done(REPLAY_CHANNEL_RESIZE, is_resized);
    send(REPLAY_CHANNEL_RESIZE);
    if (!is_resized) {
        allocate(slot, size_bytes, 0, word);
    } else {
        contents_resize(slot, old, contents_size_bytes(slot), size_bytes);
    }
    const uint32_t mapped = system_mapped_pages();
    if (is_resized && (word & REPLAY_FLAG_ALL_PAGES) != 0) {
        touch_pages(slot, old, 0, size_bytes);
    }
    if (!is_resized) {
        copy_mapped(old, slots[slot], old_bytes < size_bytes ? old_bytes : size_bytes);
        contents_moved(slot, old, slots[slot], old_bytes < size_bytes ? old_bytes : size_bytes);
    }
    note_faults(mapped);
    if (!is_resized) {
        contents_end(slot, old, old_bytes, false);
        release(old);
    }
}

static void touch(uint32_t slot, uint32_t word, uint32_t offset, uint32_t last) {
    const uintptr_t object = (uintptr_t)slots[slot];
    const uint32_t mapped = system_mapped_pages();
    if (object == 0) {
        return;
    }
    volatile uint32_t *place = (volatile uint32_t *)(object + offset);
    volatile uint32_t *const end_word = (volatile uint32_t *)((object + last) & ~(uintptr_t)3);
    uint32_t granules = word >> 8 & 0xFF;
    do {
        if ((word & REPLAY_FLAG_STORES) != 0) {
            *place = contents_value(slot, (uintptr_t)place - object);
            contents_wrote(slot, slots[slot], (uintptr_t)place);
        } else {
            contents_check(slot, slots[slot], (uintptr_t)place, *place);
        }
        place += TAU_TRACE_GRANULE_BYTES / 4;
    } while (--granules != 0 && place <= end_word);
    place -= TAU_TRACE_GRANULE_BYTES / 4;
    if (((uintptr_t)place ^ (uintptr_t)end_word) >= TAU_TILE_SIZE_PAGE_BYTES) {
        // The last granule extends into another page.
        contents_check(slot, slots[slot], (uintptr_t)end_word, *end_word);
    }
    note_faults(mapped);
}

static void must(enum tau_status status) {
    if (status != TAU_OK) {
        tau_tile_fail("a region cannot be mapped or unmapped");
    }
}

// Maps a region and PAGES_MAPPED pages of it, and unmaps it. Both calls are measured.
static void measure_region(uint32_t word, uint32_t start, uint32_t pages, uint32_t pages_mapped) {
    const struct tau_page first = {start};
    const struct tau_page before = {start - 1};
    const struct tau_page behind = {start + pages};
    if ((word & REPLAY_FLAG_BEFORE) != 0) {
        must(system_map_region(before, 1));
    }
    if ((word & REPLAY_FLAG_BEHIND) != 0) {
        must(system_map_region(behind, 1));
    }
    tau_tile_start(REPLAY_CHANNEL_MAP_REGION, command_number);
    enum tau_status status = system_map_region(first, pages);
    tau_tile_done(REPLAY_CHANNEL_MAP_REGION, status);
    send(REPLAY_CHANNEL_MAP_REGION);
    must(status);
    for (uint32_t i = 0; i < pages_mapped; i++) {
        must(system_map_region_page((struct tau_page){start + i}));
    }
    tau_tile_start(REPLAY_CHANNEL_UNMAP_REGION, command_number);
    status = system_unmap_region(first, pages);
    tau_tile_done(REPLAY_CHANNEL_UNMAP_REGION, status);
    send(REPLAY_CHANNEL_UNMAP_REGION);
    must(status);
    if ((word & REPLAY_FLAG_BEFORE) != 0) {
        must(system_unmap_region(before, 1));
    }
    if ((word & REPLAY_FLAG_BEHIND) != 0) {
        must(system_unmap_region(behind, 1));
    }
    if (system_mapped_pages() != 0) {
        tau_tile_fail("a page of an unmapped region is mapped");
    }
}

// ---- start and end ----

// A reserved pool of COUNT frames, all ready, as tau_frames_add and _reserve would make it. It
// takes one store per frame instead of a hundred cycles.
static enum tau_status reserve_frames(uint32_t count) {
    uint32_t *const links = (uint32_t *)(uintptr_t)TAU_TILE_LINKS;
    const uint32_t frames_max = 1u << (tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 8 & 0xFF);
    if (count == 0 || count > frames_max) {
        return TAU_NO_FRAME;
    }
    return tau_frames_init_ready(&frames, links, count);
}

static void start(const uint32_t command[4], bool has_heap) {
    const uint32_t pages_log2 = tau_tile_read(TAU_TILE_REGISTER_CONFIG) & 0xFF;
    enum tau_status status = reserve_frames(command[3]);
    if (status != TAU_OK) {
        end(TAU_REPLAY_INIT_FAILED | (uint32_t)status << 16);
    }
    const uint32_t plain_bytes = system_space_init(&frames, pages_log2);
    slots_count = command[1];
    const uint32_t slots_max = (TAU_TILE_SIZE_PLAIN_BYTES - plain_bytes) / sizeof *slots;
    if (plain_bytes == 0 || slots_count > slots_max) {
        end(TAU_REPLAY_INIT_FAILED | (uint32_t)TAU_POOL_TOO_SMALL << 16);
    }
    slots = (uint32_t **)((uintptr_t)TAU_TILE_PLAIN + plain_bytes);
    for (uint32_t slot = 0; slot < slots_count; slot++) {
        slots[slot] = NULL;
    }
    heap_pages = command[2];
    contents_start((uint32_t *)(slots + slots_count),
                   TAU_TILE_SIZE_PLAIN_BYTES - plain_bytes - slots_count * sizeof *slots,
                   slots_count, heap_pages);
    status = has_heap ? system_heap_init(heap_pages) : TAU_OK;
    if (status != TAU_OK) {
        end(TAU_REPLAY_INIT_FAILED | (uint32_t)status << 16);
    }
    tau_tile_start(REPLAY_CHANNEL_END, 0);
    tau_tile_done(REPLAY_CHANNEL_END, REPLAY_END_EMPTY);
    send(REPLAY_CHANNEL_END);
    tau_tile_write(TAU_TILE_REGISTER_FAULT_RECORDS, 1);
}

static void carry_out(const uint32_t command[4]) {
    const uint32_t slot = command[1];
    const uint32_t op = command[0] & 0xFF;
    if (op != REPLAY_OP_REGION && slot >= slots_count) {
        tau_tile_fail("a command for a slot that is not there");
    }
    switch (op) {
    case REPLAY_OP_MALLOC:
    case REPLAY_OP_CALLOC:
    case REPLAY_OP_ALIGNED_ALLOC:
        allocate(slot, command[2], command[0] >> 8 & 31, command[0]);
        break;
    case REPLAY_OP_REALLOC:
        reallocate(slot, command[2], command[3], command[0]);
        break;
    case REPLAY_OP_FREE:
        contents_end(slot, slots[slot], contents_size_bytes(slot), true);
        release(slots[slot]);
        slots[slot] = NULL;
        break;
    case REPLAY_OP_TOUCH:
        touch(slot, command[0], command[2], command[3]);
        break;
    case REPLAY_OP_REGION:
        measure_region(command[0], command[1], command[2], command[3]);
        break;
    default:
        tau_tile_fail("a command that is none");
    }
}

#if TAU_ASSERT_LEVEL >= 1
// Compares the count of mapped pages with a walk over the heap.
static void check_count(void) {
    uint32_t mapped = 0;
    for (uint32_t page = 1; page <= heap_pages; page++) {
        mapped += system_is_mapped((struct tau_page){page});
    }
    if (mapped != system_mapped_pages()) {
        tau_tile_fail("mapped pages are counted wrongly");
    }
}
#endif

int main(void) {
    uint32_t command[4];
    if ((tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 16 & 0xFF) != SYSTEM_UNIT) {
        tau_tile_fail("the program is for another unit");
    }
    if (!tau_tile_next_command(command) ||
        (command[0] != REPLAY_OP_START && command[0] != REPLAY_OP_SPACE)) {
        tau_tile_fail("the first command must be to start");
    }
    start(command, command[0] == REPLAY_OP_START);
    for (; tau_tile_next_command(command); command_number++) {
        carry_out(command);
    }
#if TAU_ASSERT_LEVEL >= 1
    check_count();
#endif
    end(TAU_REPLAY_COMPLETED);
}
