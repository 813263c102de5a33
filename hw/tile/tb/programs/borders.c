// Every side of the window and of the memories after it: an access outside traps with the address
// of the half that is outside and changes no register; the half that is inside works.
// The causes of the two halves may differ; the register has the cause of the address's half.
// Works for every size of window and frames. Prints `ok`, accesses checked, and the cycle.
#include "targets/tile/window.h"

enum { FETCH_FAULT = 1, LOAD_FAULT = 5, STORE_FAULT = 7, PAGE = 4096 };

typedef uint32_t access_function(uint32_t address, uint32_t value);
access_function access_lw, access_lh, access_lhu, access_sw, access_sh, access_call;
extern const uint16_t code_begin[];
extern char border_return[];
__asm__(".globl border_return\nborder_return: ret");

static struct { uint32_t cause, address, pc, reason, count; } trap;
static uint32_t checked, map_it;

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    uint32_t reason = tau_tile_read(cause == FETCH_FAULT ? TAU_TILE_REGISTER_FETCH_CAUSE
                                                         : TAU_TILE_REGISTER_DATA_CAUSE);
    uint32_t page = tau_window_page_of(address);
    if (map_it && address == tau_window_address(page) && reason == TAU_TILE_CAUSE_UNMAPPED) {
        tau_window_map(page, page, TAU_WINDOW_ALL);
        map_it = 0;
        return pc;
    }
    trap.cause = cause;
    trap.address = address;
    trap.pc = pc;
    trap.reason = reason;
    trap.count++;
    return cause == FETCH_FAULT ? (uint32_t)(uintptr_t)border_return : pc + 4;
}

static void expect(int holds, const char *text, uint32_t address) {
    if (holds)
        return;
    const uint32_t words[] = {address, trap.cause, trap.address, trap.pc, trap.reason, trap.count};
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        tau_tile_print_hex(words[i]);
        tau_tile_print(" ");
    }
    tau_tile_fail(text);
}

static void expect_trap(uint32_t cause, uint32_t address, uint32_t at, uint32_t pc,
                        uint32_t reason) {
    expect(trap.count == 1, "not one trap", address);
    expect(trap.cause == cause, "wrong cause", address);
    expect(trap.address == at, "wrong address", address);
    expect(trap.pc == pc, "wrong pc", address);
    expect(trap.reason == reason, "wrong reason", address);
    trap.count = 0;
    checked++;
}

static uint32_t pc_of(access_function *function) {
    return (uint32_t)(uintptr_t)function;
}

// A word at `address` faults at `at`, as load and as store.
static void refused(uint32_t address, uint32_t at, uint32_t reason) {
    expect(access_lw(address, 7) == address, "a load that faulted has written", address);
    expect_trap(LOAD_FAULT, address, at, pc_of(access_lw), reason);
    access_sw(address, 7);
    expect_trap(STORE_FAULT, address, at, pc_of(access_sw), reason);
}

static void outside(uint32_t address, uint32_t at) {
    refused(address, at, TAU_TILE_CAUSE_OUTSIDE);
}

// A call of `address` faults at `at`.
static void no_code_for(uint32_t address, uint32_t at, uint32_t reason) {
    expect(access_call(address, 0x1000) == 0x1000, "an instruction has run", address);
    expect_trap(FETCH_FAULT, address, at, address, reason);
}

static void no_code(uint32_t address, uint32_t at) {
    no_code_for(address, at, TAU_TILE_CAUSE_OUTSIDE);
}

static volatile uint16_t *frame_half(uint32_t page, uint32_t offset) {
    return (volatile uint16_t *)(TAU_TILE_ADDRESS_FRAMES + page * PAGE + offset);
}

// Both sides of the first page that exists, and both of the last: page b is in frame b.
static void check_window(uint32_t end, uint32_t last) {
    const uint32_t window = TAU_TILE_ADDRESS_WINDOW;
    outside(window - 4, window - 4);
    outside(window - 2, window - 2);
    outside(window, window);
    outside(window + PAGE - 4, window + PAGE - 4);
    for (uint32_t mapped = 0; mapped < 2; mapped++) {
        tau_window_unmap(1);
        if (mapped)
            tau_window_map(1, 1, TAU_WINDOW_ALL);
        outside(window + PAGE - 2, window + PAGE - 2);
    }
    tau_window_map(1, 1, TAU_WINDOW_ALL);
    access_sw(window + PAGE, 0x12345678);
    expect(access_lw(window + PAGE, 0) == 0x12345678, "the first word", window + PAGE);
    tau_window_map(last, last, TAU_WINDOW_ALL);
    access_sw(end - 4, 0x87654321);
    expect(access_lw(end - 4, 0) == 0x87654321 && *frame_half(last, PAGE - 2) == 0x8765,
           "the last word", end - 4);
    expect(trap.count == 0, "a trap inside", end);
    if (end == TAU_TILE_ADDRESS_FRAMES) {
        // Machine mode goes on into the frames, which are not translated.
        access_sw(end - 2, 0xCAFE1234);
        expect(*frame_half(last, PAGE - 2) == 0x1234 && *frame_half(0, 0) == 0xCAFE, "store",
               end - 2);
        expect(access_lw(end - 2, 0) == 0xCAFE1234, "load", end - 2);
        tau_window_unmap(last);
        refused(end - 2, end - 2, TAU_TILE_CAUSE_UNMAPPED);
        checked += 2;
        return;
    }
    outside(end - 2, end);
    tau_window_unmap(last);
    refused(end - 2, end - 2, TAU_TILE_CAUSE_UNMAPPED);
    outside(end, end);
    outside(TAU_TILE_ADDRESS_FRAMES - 4, TAU_TILE_ADDRESS_FRAMES - 4);
    outside(TAU_TILE_ADDRESS_FRAMES - 2, TAU_TILE_ADDRESS_FRAMES - 2);
}

// What the first half was refused for is what counts, whatever the second is refused for.
static void check_causes(void) {
    const uint32_t rights = TAU_TILE_CAUSE_RIGHTS, border = tau_window_address(3);
    tau_window_map(2, 2, TAU_TILE_EXECUTE);
    tau_window_unmap(3);
    refused(border - 2, border - 2, rights);
    tau_window_map(3, 3, TAU_TILE_EXECUTE);
    tau_window_unmap(2);
    refused(border - 2, border - 2, TAU_TILE_CAUSE_UNMAPPED);
    tau_window_map(2, 2, TAU_WINDOW_ALL);
    refused(border - 2, border, rights);
}

// The same of fetches, which run ahead into the next page.
static void check_fetch_causes(void) {
    const uint32_t rights = TAU_TILE_CAUSE_RIGHTS, border = tau_window_address(3);
    const uint32_t jump = 0x00050067;  // jr a0
    for (uint32_t back = 2; back <= 8; back += 2) {
        tau_window_map(2, 2, TAU_TILE_READ);
        tau_window_unmap(3);
        no_code_for(border - back, border - back, rights);
        tau_window_map(3, 3, TAU_TILE_READ);
        tau_window_unmap(2);
        no_code_for(border - back, border - back, TAU_TILE_CAUSE_UNMAPPED);
    }
    // The word after the jump is refused first, but only the target counts.
    tau_window_map(2, 2, TAU_WINDOW_ALL);
    tau_window_unmap(3);
    tau_window_map(4, 4, TAU_TILE_READ);
    *frame_half(2, PAGE - 4) = (uint16_t)jump;
    *frame_half(2, PAGE - 2) = (uint16_t)(jump >> 16);
    const uint32_t target = tau_window_address(4) + 8;
    expect(access_call(border - 4, target) == target, "the target has run", border);
    expect_trap(FETCH_FAULT, border - 4, target, target, rights);
}

static void check_memories(uint32_t frames_end) {
    static const uint32_t ends[] = {0x00200000, 0x20000000, 0x2C100000, 0x40000400, 0x41000400};
    for (uint32_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        outside(ends[i] == 0x20000000 ? ends[i] - 4 : ends[i], ends[i] - 4 * (i == 1));
    outside(0x001FFFFE, 0x00200000);
    outside(0x1FFFFFFE, 0x1FFFFFFE);
    if (frames_end != 0)
        outside(frames_end, frames_end);
    outside(frames_end - 2, frames_end);
}

static void put_code(uint32_t address) {
    for (uint32_t i = 0; i < 4; i++, address += 2) {
        uint32_t page = tau_window_page_of(address);
        *frame_half(page, address % PAGE) = code_begin[i];
    }
}

static void check_fetches(uint32_t end, uint32_t last) {
    const uint32_t window = TAU_TILE_ADDRESS_WINDOW;
    const uint32_t nowhere[] = {
        0,          0x00180000, 0x20000000, 0x2C000000,        0x40000000,
        window - 4, window - 2, window,     window + PAGE - 2, TAU_TILE_ADDRESS_FRAMES};
    for (uint32_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++)
        no_code(nowhere[i], nowhere[i]);
    // 32-bit instructions whose second half is outside: of the bank, of the window.
    *(volatile uint16_t *)0x0017FFFEu = code_begin[0];
    no_code(0x0017FFFE, 0x00180000);
    tau_window_map(last, last, TAU_WINDOW_ALL);
    *frame_half(last, PAGE - 2) = code_begin[0];
    no_code(end - 2, end);
    tau_window_unmap(last);
    access_call(end - 2, 0);
    expect_trap(FETCH_FAULT, end - 2, end - 2, end - 2, TAU_TILE_CAUSE_UNMAPPED);
    // Inside, at the first place there is; its second half in a page that is mapped when it faults.
    tau_window_map(1, 1, TAU_WINDOW_ALL);
    put_code(window + PAGE);
    expect(access_call(window + PAGE, 0x1000) == 0x1123, "the first instruction", window + PAGE);
    tau_window_unmap(2);
    put_code(window + 2 * PAGE - 2);
    map_it = 1;
    expect(access_call(window + 2 * PAGE - 2, 0x1000) == 0x1123 && map_it == 0, "repeated", 2);
    expect(trap.count == 0, "a trap inside", window);
    checked += 2;
}

int main(void) {
    const uint32_t config = tau_tile_read(TAU_TILE_REGISTER_CONFIG);
    const uint32_t last = tau_window_pages() - 1, frames_log2 = config >> 8 & 255;
    const uint32_t end = tau_window_address(last) + PAGE;
    for (uint32_t page = 1; page < 8; page++)
        tau_window_unmap(page);
    tau_window_unmap(last);
    check_window(end, last);
    check_causes();
    check_fetch_causes();
    check_memories(TAU_TILE_ADDRESS_FRAMES + (PAGE << frames_log2));
    check_fetches(end, last);
    tau_tile_print("ok ");
    tau_tile_print_number(checked);
    tau_tile_print(" ");
    tau_tile_print_number((uint32_t)tau_tile_cycle());
    tau_tile_print("\n");
    return 0;
}
