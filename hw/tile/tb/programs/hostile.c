// Tables that hold anything: each access of a page is granted or refused as the definition says of
// the words that are there, with the right cause, and reaches the right frame. The definition is
// written down here once more, from the specification. The command's first word is the seed; run
// it with --fill, so that words which are not written hold anything too and every frame differs.
// Prints `ok`, how many accesses were granted, and how many were refused.
#include "targets/tile/window.h"

enum { PAGES = 48, ROUNDS = 24, FETCH_FAULT = 1, LOAD_FAULT = 5, STORE_FAULT = 7, PAGE = 4096 };
#define NUMBER ((1u << 27) - 1)

typedef uint32_t access_function(uint32_t address, uint32_t value);
access_function access_lw, access_sw;

static uint32_t random_state, unit, pages_count, trapped;

static uint32_t random_below(uint32_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return (uint32_t)((uint64_t)random_state * limit >> 32);
}

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    (void)address;
    if (cause != LOAD_FAULT && cause != STORE_FAULT)
        tau_tile_fail("foreign trap");
    trapped = tau_tile_read(TAU_TILE_REGISTER_DATA_CAUSE);
    return pc + 4;
}

// Mostly near PAGE_NUMBER, where the comparisons are; else anything.
static uint32_t number_near(uint32_t page_number) {
    switch (random_below(16)) {
    case 0:
        return 0;
    case 1:
        return ~0u;
    case 2:
        return random_below(~0u);
    case 3:
        return page_number | 1u << (18 + random_below(14));
    case 4:
        return pages_count;
    case 5:
        return page_number + 1;
    case 6:
        return page_number - 1;
    case 7:
    case 8:
        return random_below(PAGES);
    default:
        return page_number;
    }
}

// Half of the pages are a region of their own but for at most one of its four words.
static void fill(void) {
    for (uint32_t page = 0; page < PAGES; page++) {
        uint32_t numbers[4], wrong = random_below(6), alone = random_below(2);
        for (uint32_t i = 0; i < 4; i++)
            numbers[i] = alone && i != wrong ? page : number_near(page);
        if (!alone && random_below(3) == 0)
            numbers[0] = random_below(PAGES);
        TAU_TILE_TABLE0[2 * page] = numbers[0];
        TAU_TILE_TABLE0[2 * page + 1] = numbers[1] ^ random_below(32) << 27;
        TAU_TILE_TABLE1[2 * page] = numbers[2];
        TAU_TILE_TABLE1[2 * page + 1] = numbers[3];
        TAU_TILE_TABLE2[page] =
            random_below(8) == 0 ? 0 : random_below(64) << 26 | random_below(1u << 26);
    }
    if (unit == TAU_TILE_UNIT_RTMMU_TLB)
        TAU_TILE_UNIT[1] = 0;  // forget all
    if (unit == TAU_TILE_UNIT_TLB)
        TAU_TILE_UNIT[0] = 0;
}

static uint32_t is_mapped(uint32_t page) {
    if (unit != TAU_TILE_UNIT_RTMMU && unit != TAU_TILE_UNIT_RTMMU_TLB)
        return TAU_TILE_TABLE2[page] != 0;
    const uint32_t start = TAU_TILE_TABLE0[2 * page], place = TAU_TILE_TABLE1[2 * page];
    if (start == 0 || start > page || place < start || place >= pages_count)
        return 0;
    return place <= (TAU_TILE_TABLE0[2 * start + 1] & NUMBER) &&
           TAU_TILE_TABLE1[2 * place + 1] == page;
}

// The unit's owner is 0 throughout.
static uint32_t is_foreign(uint32_t word) {
    return unit == TAU_TILE_UNIT_TLB && (word >> TAU_TILE_PAGE_WORD_SHARED & 1) == 0 &&
           (word >> TAU_TILE_PAGE_WORD_OWNER & 15) != 0;
}

static void check(uint32_t page, uint32_t is_store, uint32_t frames_count) {
    const uint32_t word = TAU_TILE_TABLE2[page];
    const uint32_t offset = 4 * random_below(PAGE / 4), value = random_below(~0u);
    const uint32_t address = tau_window_address(page) + offset;
    volatile uint32_t *const there =
        (volatile uint32_t *)(TAU_TILE_ADDRESS_FRAMES + (word & NUMBER) % frames_count * PAGE +
                              offset);
    const uint32_t before = *there;
    uint32_t wanted = TAU_TILE_CAUSE_NONE;
    if (!is_mapped(page)) {
        wanted = TAU_TILE_CAUSE_UNMAPPED;
    } else if (is_foreign(word) || (word & (is_store ? TAU_TILE_WRITE : TAU_TILE_READ)) == 0) {
        wanted = TAU_TILE_CAUSE_RIGHTS;
    }
    trapped = TAU_TILE_CAUSE_NONE;
    const uint32_t read = is_store ? access_sw(address, value) : access_lw(address, value);
    const uint32_t right_read = is_store || wanted != 0 ? address : before;
    const uint32_t right_there = is_store && wanted == 0 ? value : before;
    if (trapped == wanted && read == right_read && *there == right_there)
        return;
    const uint32_t words[] = {page, wanted, trapped, read, right_read, *there, right_there};
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        tau_tile_print_hex(words[i]);
        tau_tile_print(" ");
    }
    tau_tile_fail("not what the definition says");
}

int main(void) {
    uint32_t words[4], granted = 0, refused = 0;
    if (!tau_tile_next_command(words))
        tau_tile_fail("no seed");
    random_state = words[0] | 1;
    const uint32_t config = tau_tile_read(TAU_TILE_REGISTER_CONFIG);
    unit = config >> 16 & 255;
    pages_count = tau_window_pages();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fill();
        for (uint32_t i = 0; i < 2 * PAGES; i++) {
            check(1 + random_below(PAGES - 1), random_below(2), 1u << (config >> 8 & 255));
            granted += trapped == TAU_TILE_CAUSE_NONE;
            refused += trapped != TAU_TILE_CAUSE_NONE;
        }
    }
    tau_tile_print("ok ");
    tau_tile_print_number(granted);
    tau_tile_print(" ");
    tau_tile_print_number(refused);
    tau_tile_print("\n");
    return 0;
}
