// Maps a region and touches it: each first access faults, and the handler maps the page. An access
// outside the region must stay a fault, and after unmapping every access; one outside everything is
// an error of another cause. Returns the number of what is wrong, or 0.
#include "core/frames.h"
#include "core/vspace.h"

enum { CONTROL = 0x20000000, CONSOLE = 0x40000000, FRAMES = 0x00140000 };
enum { PAGES_LOG2 = 8, FRAMES_COUNT = 64, PART_BYTES = 1 << (PAGES_LOG2 + 3) };
enum { START = 3, PAGES = 5, TREE_BYTES = 256, STORE_FAULT = 7, CAUSE_UNMAPPED = 1 };
#define WINDOW 0x80000000u

static struct tau_frames frames;
static struct tau_vspace space;
static uint32_t links[FRAMES_COUNT], tree[TREE_BYTES / sizeof(uint32_t)];
static volatile unsigned mapped, refused, outside;

static volatile uint32_t *control(unsigned part) {
    return (volatile uint32_t *)(uintptr_t)(CONTROL + part * PART_BYTES);
}

static volatile uint32_t *word_of(uint32_t page) {
    return (volatile uint32_t *)(uintptr_t)(WINDOW + page * TAU_PAGE_BYTES);
}

static volatile uint32_t *frame_word(struct tau_frame frame) {
    return (volatile uint32_t *)(uintptr_t)(FRAMES + frame.number * TAU_PAGE_BYTES);
}

// crt0.S calls it, with mcause, mtval and mepc. It returns where to go on.
uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    const struct tau_page page = {(address - WINDOW) / TAU_PAGE_BYTES};
    const uint32_t access = cause == STORE_FAULT ? TAU_WRITE : TAU_READ;
    if (control(3)[257] != CAUSE_UNMAPPED) {
        outside++;
    } else if (tau_vspace_map_page(&space, page, access) == TAU_OK) {
        mapped++;
        return pc;
    } else {
        refused++;
    }
    return pc + ((*(const uint16_t *)(uintptr_t)pc & 3) == 3 ? 4 : 2);
}

int main(void) {
    const struct tau_vspace_tables tables = {
        .regions = (struct tau_validity_region *)(uintptr_t)control(0),
        .stacks = (struct tau_validity_stack *)(uintptr_t)control(1),
        .data = (uint32_t *)(uintptr_t)control(2),
        .tree = tree,
        .tree_bytes = tau_region_tree_size_bytes(PAGES_LOG2),
    };
    if (tables.tree_bytes > sizeof tree ||
        tau_frames_init_ready(&frames, links, FRAMES_COUNT) != TAU_OK ||
        tau_vspace_init_at(&space, &tables, PAGES_LOG2, &frames) != TAU_OK ||
        tau_vspace_map_region(&space, (struct tau_page){START}, PAGES, TAU_READ | TAU_WRITE)) {
        return 10;
    }
    for (uint32_t page = START; page < START + PAGES; page++) {
        *word_of(page) = page * 77;
    }
    struct tau_frame frame;
    for (uint32_t page = START; page < START + PAGES; page++) {
        if (tau_vspace_translate(&space, (struct tau_page){page}, TAU_READ, &frame) != TAU_OK ||
            *word_of(page) != page * 77 ||
            *frame_word(frame) != page * 77) {
            return 11;
        }
    }
    if (mapped != PAGES || refused != 0) {
        return 12;
    }
    *word_of(START + PAGES);
    if (refused != 1) {
        return 13;
    }
    if (tau_vspace_unmap_region(&space, (struct tau_page){START}) != TAU_OK) {
        return 14;
    }
    *word_of(START);
    control(2)[1 << PAGES_LOG2];  // behind the table's end
    for (const char *text = "mapped, touched, unmapped\n"; *text != 0; text++) {
        *(volatile uint32_t *)(uintptr_t)CONSOLE = (unsigned char)*text;
    }
    return mapped == PAGES && refused == 2 && outside == 1 ? 0 : 15;
}
