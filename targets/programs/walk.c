// Walks over pages of the window as the host says, for `tau tlb discover` on the tile.
//
// Command {LINK, FROM, TO, CELL}: word CELL of page FROM gets the address of the same word of page
// TO. FROM is mapped to the frame of its number. {WALK, FIRST, COUNT, CELL}: COUNT accesses,
// beginning in page FIRST. Its record has the cycles and, as the word that is sent, the misses of
// the data TLB (lower half) and of the second level. Both wrap around.
#include "targets/tile/program.h"

enum { LINK = 0, WALK = 1, PAGE_LOG2 = 12 };
enum { DATA_TLB = 1u << 9, SECOND_TLB = 2u << 9, OWNER_BITS_MASK = 15 };

static uint32_t address_of(uint32_t page, uint32_t cell) {
    return TAU_TILE_ADDRESS_WINDOW + (page << PAGE_LOG2) + 4 * cell;
}

// Frames are not translated, so that this touches no TLB.
static void link_pages(uint32_t from, uint32_t to, uint32_t cell) {
    const uint32_t frame = TAU_TILE_ADDRESS_FRAMES + (from << PAGE_LOG2);
    *(volatile uint32_t *)(frame + 4 * cell) = address_of(to, cell);
    TAU_TILE_TABLE2[from] = from | TAU_TILE_RIGHTS;
}

static uint32_t misses_of(uint32_t tlb) {
    const uint32_t owner_bits = TAU_TILE_UNIT[TAU_TILE_TLB_KIND] & OWNER_BITS_MASK;
    TAU_TILE_UNIT[TAU_TILE_TLB_SELECT] = tlb | 1u << owner_bits;
    return TAU_TILE_UNIT[TAU_TILE_TLB_COUNTER];
}

static void walk(uint32_t first, uint32_t count, uint32_t cell) {
    uint32_t address = address_of(first, cell);
    TAU_TILE_UNIT[TAU_TILE_TLB_CLEAR] = 1;
    tau_tile_start(0, 0);
    for (uint32_t left = count; left > 0; left--)
        address = *(volatile uint32_t *)address;
    tau_tile_done(0, address);
    const uint32_t second = TAU_TILE_UNIT[TAU_TILE_TLB_LEVEL2] != 0 ? misses_of(SECOND_TLB) : 0;
    tau_tile_send(0, second << 16 | (misses_of(DATA_TLB) & 0xFFFF));
}

int main(void) {
    uint32_t words[4];
    while (tau_tile_next_command(words)) {
        if (words[0] == LINK) {
            link_pages(words[1], words[2], words[3]);
        } else {
            walk(words[1], words[2], words[3]);
        }
    }
    return 0;
}
