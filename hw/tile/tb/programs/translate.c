// Carries out the host's commands and reports each result: writes of table memories
// 2 and 0 and of the unit's registers, and accesses to the window, which may fault. All pages have
// the unit's smallest size. test_translation.py compares with the models of the units. Each frame
// says its number to loads (word 0) and to calls (from CODE_WORD on); stores go to word 1.
//
// A command is {operation, a, b, 0}. Its record has under stopwatch 0, tagged with its number, the
// cycles of the access and its value, and why it was refused as the word that is sent.
#include "targets/tile/program.h"

enum { TABLE = 0, WRITE = 1, READ = 2, LOAD = 3, STORE = 4, CALL = 5, FRAME = 6, TABLE0 = 7 };
enum { FETCH_FAULT = 1, LOAD_FAULT = 5, STORE_FAULT = 7 };
enum { MARK = 0xF0000000, CODE_WORD = 16 };
enum { LOAD_CYCLES_MAX = 80 };  // of the composable unit's table

typedef uint32_t access_function(uint32_t address, uint32_t value);
access_function access_lw, access_sw, access_call;

static uint32_t refused, page_log2;

// The access is left out: behind the instruction, or at the `ret` behind another one for a call.
uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    if (refused != 0 || address - TAU_TILE_ADDRESS_WINDOW >= 0x40000000u)
        tau_tile_fail("a trap that nothing explains");
    if (cause == FETCH_FAULT) {
        refused = tau_tile_read(TAU_TILE_REGISTER_FETCH_CAUSE);
        return (uint32_t)(uintptr_t)access_lw + 4;
    }
    if (cause != LOAD_FAULT && cause != STORE_FAULT)
        tau_tile_fail("a trap that is no access");
    refused = tau_tile_read(TAU_TILE_REGISTER_DATA_CAUSE);
    return pc + 4;
}

static uint32_t page_address(uint32_t page) {
    return TAU_TILE_ADDRESS_WINDOW + (page << page_log2);
}

static volatile uint32_t *frame_word(uint32_t frame, uint32_t word) {
    return (volatile uint32_t *)(TAU_TILE_ADDRESS_FRAMES + (frame << page_log2)) + word;
}

static void fill_frames(uint32_t count) {
    for (uint32_t frame = 0; frame < count; frame++) {
        *frame_word(frame, 0) = MARK + frame;
        *frame_word(frame, 1) = 0;
        *frame_word(frame, CODE_WORD) = frame << 12 | 0x537;  // lui a0, frame
        *frame_word(frame, CODE_WORD + 1) = 0x8067;           // ret
        for (uint32_t i = 2; i < 16; i++)                     // fetched ahead, never run
            *frame_word(frame, CODE_WORD + i) = 0x8067;
    }
}

static uint32_t carry_out(const uint32_t command[4]) {
    const uint32_t a = command[1], b = command[2];
    switch (command[0]) {
    case TABLE:
        return TAU_TILE_TABLE2[a] = b;
    case TABLE0:
        return TAU_TILE_TABLE0[a] = b;
    case WRITE:
        TAU_TILE_UNIT[a] = b;
        for (uint32_t i = 0; i < LOAD_CYCLES_MAX; i++)
            __asm__ volatile("nop");
        return b;
    case READ:
        return TAU_TILE_UNIT[a];
    case LOAD:
        return access_lw(page_address(a), 0);
    case STORE:
        return access_sw(page_address(a) + 4, b);
    case CALL:
        return access_call(page_address(a) + 4 * CODE_WORD, 0) >> 12;
    case FRAME:
        return *frame_word(a, 1);
    default:
        tau_tile_fail("a command that is none");
    }
}

int main(void) {
    uint32_t command[4], number = 0;
    const uint32_t config = tau_tile_read(TAU_TILE_REGISTER_CONFIG);
    page_log2 = config >> 24;
    fill_frames(1u << (config >> 8 & 255));
    while (tau_tile_next_command(command)) {
        refused = 0;
        tau_tile_start(0, number++);
        uint32_t value = carry_out(command);
        tau_tile_done(0, value);
        tau_tile_send(0, refused);
    }
    return 0;
}
