// Whether faults are precise and restartable: one access of each kind, aligned, misaligned and
// across two pages, with the pages mapped or not; rights; fetches; user mode; addresses outside
// everything. Each trap must name the instruction, the address and the cause, and the repeated
// access must have its normal effect. Prints `ok` and the number of accesses checked.
#include "targets/tile/window.h"

enum { FETCH_FAULT = 1, LOAD_FAULT = 5, STORE_FAULT = 7, USER_CALL = 8 };
enum { PAGE = 4096, TRAPS_MAX = 8 };

typedef uint32_t access_function(uint32_t address, uint32_t value);
access_function access_lw, access_lh, access_lhu, access_lb, access_lbu;
access_function access_sw, access_sh, access_sb, access_call, user_run;
extern const uint16_t code_begin[], code_end[], user_code_begin[], user_code_end[];
extern char user_return[];

static const struct {
    access_function *function;
    uint32_t bytes, is_store, is_signed;
} kinds[] = {
    {access_lw, 4, 0, 0},  {access_lh, 2, 0, 1}, {access_lhu, 2, 0, 0}, {access_lb, 1, 0, 1},
    {access_lbu, 1, 0, 0}, {access_sw, 4, 1, 0}, {access_sh, 2, 1, 0},  {access_sb, 1, 1, 0},
};

static struct trap { uint32_t cause, address, pc, reason; } traps[TRAPS_MAX];
static uint32_t traps_count, skip_all, checked;

static uint32_t leave_user_mode(void) {
    __asm__ volatile("csrs mstatus, %0" ::"r"(0x1800));
    return (uint32_t)(uintptr_t)user_return;
}

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    if (cause == USER_CALL)
        return leave_user_mode();
    if (traps_count == TRAPS_MAX)
        tau_tile_fail("too many traps");
    uint32_t reason =
        tau_tile_read(cause == FETCH_FAULT ? TAU_TILE_REGISTER_FETCH_CAUSE
                                           : TAU_TILE_REGISTER_DATA_CAUSE);
    traps[traps_count++] = (struct trap){cause, address, pc, reason};
    if (skip_all && cause != FETCH_FAULT)
        return pc + 4;
    if (skip_all)
        return leave_user_mode();
    uint32_t page = tau_window_page_of(address);
    tau_window_map(page, page ^ 0x55, TAU_WINDOW_ALL);
    return pc;
}

static void expect(int holds, const char *text, uint32_t number) {
    if (holds)
        return;
    for (uint32_t i = 0; i < traps_count; i++) {
        tau_tile_print("trap cause, address, pc, reason:");
        const uint32_t *words = &traps[i].cause;
        for (uint32_t j = 0; j < 4; j++) {
            tau_tile_print(" ");
            tau_tile_print_hex(words[j]);
        }
        tau_tile_print("\n");
    }
    tau_tile_print_hex(number);
    tau_tile_print(" ");
    tau_tile_fail(text);
}

static void expect_trap(uint32_t index, uint32_t cause, uint32_t address, const void *pc,
                        uint32_t reason) {
    const struct trap *trap = &traps[index];
    expect(index < traps_count, "a trap is missing", index);
    expect(trap->cause == cause, "wrong cause", cause);
    expect(trap->address == address, "wrong address", address);
    expect(trap->pc == (uint32_t)(uintptr_t)pc, "wrong pc", (uint32_t)(uintptr_t)pc);
    expect(trap->reason == reason, "wrong reason", reason);
}

static uint8_t *frame_byte(uint32_t address) {
    uint32_t page = tau_window_page_of(address) ^ 0x55;
    return (uint8_t *)(TAU_TILE_ADDRESS_FRAMES + page * PAGE + address % PAGE);
}

static void set_mapped(uint32_t page, int mapped) {
    if (mapped) {
        tau_window_map(page, page ^ 0x55, TAU_WINDOW_ALL);
    } else {
        tau_window_unmap(page);
    }
}

// One access at `address` with its page and the next mapped or not.
static void check_access(uint32_t kind, uint32_t address, int first_mapped, int second_mapped) {
    uint32_t first = tau_window_page_of(address), bytes = kinds[kind].bytes;
    uint32_t second = tau_window_page_of(address + bytes - 1);
    set_mapped(first, first_mapped);
    if (second != first)
        set_mapped(second, second_mapped);
    uint32_t before = 0, value = 0x89ABCDEFu ^ checked << 8;
    for (uint32_t i = 0; i < bytes; i++) {
        *frame_byte(address + i) = (uint8_t)(0xF1 + 16 * i + checked);
        before |= (uint32_t)*frame_byte(address + i) << 8 * i;
    }
    traps_count = 0;
    uint32_t read = kinds[kind].function(address, value);
    uint32_t expected = 0, cause = kinds[kind].is_store ? STORE_FAULT : LOAD_FAULT;
    if (!first_mapped) {
        expect_trap(expected++, cause, address, kinds[kind].function, TAU_TILE_CAUSE_UNMAPPED);
    }
    if (second != first && !second_mapped) {
        expect_trap(expected++, cause, tau_window_address(second), kinds[kind].function,
                    TAU_TILE_CAUSE_UNMAPPED);
    }
    expect(traps_count == expected, "wrong number of traps", kind);
    uint32_t mask = bytes == 4 ? ~0u : (1u << 8 * bytes) - 1;
    if (kinds[kind].is_store) {
        uint32_t after = 0;
        for (uint32_t i = 0; i < bytes; i++) {
            after |= (uint32_t)*frame_byte(address + i) << 8 * i;
        }
        expect(after == (value & mask), "the store is lost", kind);
    } else {
        if (kinds[kind].is_signed && before >> (8 * bytes - 1) != 0)
            before |= ~mask;
        expect(read == before, "the load got something else", kind);
    }
    checked++;
}

static void check_accesses(void) {
    for (uint32_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        for (uint32_t offset = PAGE - 8; offset < PAGE + 4; offset++) {
            for (uint32_t mapped = 0; mapped < 4; mapped++) {
                check_access(kind, tau_window_address(7) + offset, mapped & 1, mapped >> 1);
            }
        }
    }
}

static void check_rights(void) {
    static const uint32_t rights[] = {TAU_TILE_READ, TAU_TILE_WRITE, TAU_TILE_EXECUTE};
    uint32_t address = tau_window_address(20);
    for (uint32_t i = 0; i < 3; i++) {
        traps_count = 0;
        tau_window_map(20, 20 ^ 0x55, rights[i]);
        access_lw(address, 0);
        if (rights[i] != TAU_TILE_READ) {
            expect_trap(0, LOAD_FAULT, address, access_lw, TAU_TILE_CAUSE_RIGHTS);
        }
        expect(traps_count == (rights[i] != TAU_TILE_READ), "read", i);
        traps_count = 0;
        tau_window_map(20, 20 ^ 0x55, rights[i]);
        access_sw(address, 0x00008067u);  // ret
        if (rights[i] != TAU_TILE_WRITE) {
            expect_trap(0, STORE_FAULT, address, access_sw, TAU_TILE_CAUSE_RIGHTS);
        }
        expect(traps_count == (rights[i] != TAU_TILE_WRITE), "write", i);
        traps_count = 0;
        tau_window_map(20, 20 ^ 0x55, rights[i]);
        access_call(address, 0);
        if (rights[i] != TAU_TILE_EXECUTE) {
            expect_trap(0, FETCH_FAULT, address, (void *)(uintptr_t)address, TAU_TILE_CAUSE_RIGHTS);
        }
        expect(traps_count == (rights[i] != TAU_TILE_EXECUTE), "execute", i);
        checked += 3;
    }
}

static void copy_code(uint32_t address, const uint16_t *from, const uint16_t *to) {
    for (; from != to; from++, address += 2) {
        *(volatile uint16_t *)frame_byte(address) = *from;
    }
}

// Code at the end of page 30 and in page 31, which the 32-bit instruction at ...ffe straddles.
static void check_fetches(void) {
    for (uint32_t offset = PAGE - 12; offset <= PAGE; offset += 2) {
        for (uint32_t mapped = 0; mapped < 4; mapped++) {
            uint32_t address = tau_window_address(30) + offset;
            uint32_t border = tau_window_address(31), end = address + 8;
            copy_code(address, code_begin, code_end);
            set_mapped(30, mapped & 1);
            set_mapped(31, mapped >> 1);
            traps_count = 0;
            expect(access_call(address, 0x1000) == 0x1123, "wrong result", offset);
            uint32_t expected = 0;
            if (address < border && (mapped & 1) == 0) {
                expect_trap(expected++, FETCH_FAULT, address, (void *)(uintptr_t)address,
                            TAU_TILE_CAUSE_UNMAPPED);
            }
            if (end > border && mapped >> 1 == 0) {
                // The instruction that needs page 31: the first or the second.
                uint32_t second = address + 4 > border ? address : address + 4;
                uint32_t at = second > border ? second : border;
                expect_trap(expected++, FETCH_FAULT, at, (void *)(uintptr_t)second,
                            TAU_TILE_CAUSE_UNMAPPED);
            }
            expect(traps_count == expected, "wrong number of fetch traps", offset);
            checked++;
        }
    }
}

static void check_outside(void) {
    static const uint32_t nowhere[] = {0,          0x000FFFFC, 0x00200000, 0x24FFFFFC,
                                       0x34000000, 0x50000000, 0x7FFFFFFC, 0x80000000};
    skip_all = 1;
    for (uint32_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        traps_count = 0;
        access_lw(nowhere[i], 0);
        access_sb(nowhere[i] + 1, 0);
        expect_trap(0, LOAD_FAULT, nowhere[i], access_lw, TAU_TILE_CAUSE_OUTSIDE);
        expect_trap(1, STORE_FAULT, nowhere[i] + 1, access_sb, TAU_TILE_CAUSE_OUTSIDE);
        expect(traps_count == 2, "wrong number of traps outside", i);
        checked += 2;
    }
    skip_all = 0;
}

// In user mode only the window exists.
static void check_user(void) {
    uint32_t code = tau_window_address(40), data = tau_window_address(41);
    copy_code(code, user_code_begin, user_code_end);
    tau_window_unmap(40);
    tau_window_unmap(41);
    *(volatile uint32_t *)frame_byte(data) = 0x1234;
    traps_count = 0;
    expect(user_run(code, data) == 0x1235, "wrong result in user mode", 0);
    expect(*(volatile uint32_t *)frame_byte(data + 4) == 0x1235, "wrong store in user mode", 0);
    expect_trap(0, FETCH_FAULT, code, (void *)(uintptr_t)code, TAU_TILE_CAUSE_UNMAPPED);
    expect_trap(1, LOAD_FAULT, data, (void *)(uintptr_t)code, TAU_TILE_CAUSE_UNMAPPED);
    expect(traps_count == 2, "wrong number of traps in user mode", 2);
    if ((tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 16 & 255) == TAU_TILE_UNIT_PROBE) {
        expect(TAU_TILE_UNIT[3] == 40, "the unit did not see a user's fetch", TAU_TILE_UNIT[3]);
        expect(TAU_TILE_UNIT[4] == 41, "the unit did not see a user's load", TAU_TILE_UNIT[4]);
    }
    skip_all = 1;
    traps_count = 0;
    user_run(code, 0x00180000);
    expect_trap(0, LOAD_FAULT, 0x00180000, (void *)(uintptr_t)code, TAU_TILE_CAUSE_OUTSIDE);
    expect_trap(1, STORE_FAULT, 0x00180004, (void *)(uintptr_t)(code + 8), TAU_TILE_CAUSE_OUTSIDE);
    traps_count = 0;
    user_run(0x00100000, 0);
    expect_trap(0, FETCH_FAULT, 0x00100000, (void *)0x00100000, TAU_TILE_CAUSE_OUTSIDE);
    skip_all = 0;
    checked += 3;
}

int main(void) {
    for (uint32_t page = 1; page < 64; page++) {
        tau_window_unmap(page);
    }
    check_accesses();
    check_rights();
    check_fetches();
    check_outside();
    check_user();
    tau_tile_print("ok ");
    tau_tile_print_number(checked);
    tau_tile_print("\n");
    return 0;
}
