// Bare-metal firmware on QEMU's machine virt. Its cold code lies in NOR flash, and is loaded when
// it is executed. firmware.py writes the settings; the outcome goes to the serial line.
#include "core/tests/sv39_code/firmware.h"

#include "core/ports/sv39_code_ages.h"

#define TEST_DEVICE 0x100000u
#define SERIAL 0x10000000u
#define FLASH_PAGES 0x20001000u  // after the jump to the firmware
#define SETTINGS 0x81000000u
#define DEMAND 0x60000000u  // one page that is mapped on demand
#define TEST_PASSED 0x5555u
#define TEST_FAILED 0x13333u
#define ENTRIES 512u
#define PAGE_BYTES 4096u
#define ENTRY_TABLE 1u
#define ENTRY_ALL 0xcfu   // V, R, W, X, A, D
#define ENTRY_CODE 0x6bu  // V, R, X, G, A
#define INTERRUPT (UINT64_C(1) << 63)
#define TIMER 5u
#define INTERRUPTS_ON "2"  // in sstatus
#define WORKS 12u
#define DEMAND_EVERY 5u

enum { CAUSE_FETCH_FAULT = 12, CAUSE_LOAD_FAULT = 13, CAUSE_STORE_FAULT = 15 };

uint64_t boot_tables(void);
void supervisor_main(void);
bool load_cold_page(uint64_t cause, uint64_t address);
void trap_other(uint64_t cause, uint64_t address);
void end_period(void);
uint64_t run_rounds(const struct settings *settings);

extern unsigned char cold_start[];
extern unsigned char cold_end[];
extern unsigned char cold_boot[];

// The recorder of touches (touches.c) sees which byte is read: the page of a fault.
volatile unsigned char fault_marks[PAGES_MAX];

static _Alignas(4096) uint64_t root[ENTRIES];
static _Alignas(4096) uint64_t middle[ENTRIES];
static _Alignas(4096) uint64_t leaves[2][ENTRIES];
static _Alignas(4096) uint64_t demand_table[ENTRIES];
static _Alignas(4096) uint64_t demand_frame[ENTRIES];
static _Alignas(4096) uint64_t frames[TAU_CODE_CACHE_FRAMES_MAX][ENTRIES];
static uint64_t *const tables[2] = {leaves[0], leaves[1]};
static struct tau_sv39_code_frame frame_rows[TAU_CODE_CACHE_FRAMES_MAX];
static uint8_t page_frames[PAGES_MAX];
static struct tau_sv39_code code;
static struct ticks ticks;
static uint64_t round_ticks;
static uint64_t tick_time;
static uint64_t ticks_max;
static uint64_t uses_at_fault;
static uint64_t nesting;
static uint64_t nesting_max;
static uint64_t fault_instructions_max;

#define READ_REGISTER(name, value) __asm__ volatile("csrr %0, " #name : "=r"(value))

static uint64_t instructions(void) {
    uint64_t count;
    READ_REGISTER(instret, count);
    return count;
}

static uint64_t entry_to(const void *address, uint64_t flags) {
    return (uint64_t)(uintptr_t)address >> 12 << 10 | flags;
}

// Called in machine mode: physical addresses as they are, cold code where it is linked.
uint64_t boot_tables(void) {
    const uint32_t place = (uint32_t)((uintptr_t)cold_start >> 12) % ENTRIES;
    const uint32_t pages = (uint32_t)((uintptr_t)cold_end - (uintptr_t)cold_start) / PAGE_BYTES;
    root[0] = entry_to((void *)0, ENTRY_ALL);
    root[1] = entry_to(middle, ENTRY_TABLE);
    root[2] = entry_to((void *)(uintptr_t)0x80000000u, ENTRY_ALL);
    middle[(uintptr_t)cold_start >> 21 & (ENTRIES - 1)] = entry_to(leaves[0], ENTRY_TABLE);
    middle[((uintptr_t)cold_start >> 21 & (ENTRIES - 1)) + 1] = entry_to(leaves[1], ENTRY_TABLE);
    middle[DEMAND >> 21 & (ENTRIES - 1)] = entry_to(demand_table, ENTRY_TABLE);
    for (uint32_t page = 0; page < pages; page++) {
        leaves[(place + page) / ENTRIES][(place + page) % ENTRIES] =
            entry_to(cold_boot + (uintptr_t)page * PAGE_BYTES, ENTRY_CODE);
    }
    return UINT64_C(8) << 60 | (uint64_t)(uintptr_t)root >> 12;
}

static void say(const char *text) {
    volatile unsigned char *const serial = (unsigned char *)(uintptr_t)SERIAL;
    for (; *text != 0; text++) {
        *serial = (unsigned char)*text;
    }
}

static void say_number(const char *name, uint64_t number) {
    char digits[21];
    unsigned left = sizeof digits - 1;
    digits[left] = 0;
    do {
        digits[--left] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    say(name);
    say(" ");
    say(digits + left);
    say("\n");
}

static __attribute__((noreturn)) void stop(bool is_passed) {
    *(volatile uint32_t *)(uintptr_t)TEST_DEVICE = is_passed ? TEST_PASSED : TEST_FAILED;
    for (;;) {
    }
}

// ---- Traps

// The fault path: everything that it executes is resident. Returns whether it was a cold page.
bool load_cold_page(uint64_t cause, uint64_t address) {
    const uint64_t page = (address - (uintptr_t)cold_start) / PAGE_BYTES;
    if (cause < CAUSE_FETCH_FAULT || cause > CAUSE_STORE_FAULT) {
        return false;
    }
    if (page < PAGES_MAX) {
        (void)fault_marks[page];
    }
    const uint64_t start = instructions();
    const uint32_t access = cause == CAUSE_FETCH_FAULT  ? TAU_EXECUTE
                            : cause == CAUSE_LOAD_FAULT ? TAU_READ
                                                        : TAU_WRITE;
    if (uses_at_fault == USES_SOME && page < code.cache.pages_count) {
        tau_sv39_code_visit(&code);
    } else if (uses_at_fault == USES_ALL) {
        tau_sv39_code_use(&code);
    }
    const enum tau_status status = tau_sv39_code_fault(&code, address, access);
    const uint64_t taken = instructions() - start;
    if (taken > fault_instructions_max) {
        fault_instructions_max = taken;
    }
    if (nesting > nesting_max) {
        nesting_max = nesting;
    }
    return status == TAU_OK;
}

static void set_tick(void) {
    uint64_t now;
    READ_REGISTER(time, now);
    __asm__ volatile("csrw 0x14d, %0" : : "r"(now + tick_time));
}

// Every other trap: its handlers are cold and trap themselves.
void trap_other(uint64_t cause, uint64_t address) {
    nesting++;
    if (cause == (INTERRUPT | TIMER)) {
        tick_first(&ticks);
        if (++round_ticks > ticks_max) {
            say("stalled 1\n");
            stop(false);
        }
        set_tick();
    } else if ((cause == CAUSE_LOAD_FAULT || cause == CAUSE_STORE_FAULT) &&
               address / PAGE_BYTES == DEMAND / PAGE_BYTES) {
        map_on_demand(&demand_table[DEMAND >> 12 & (ENTRIES - 1)], demand_frame, DEMAND);
    } else {
        say_number("trap", cause);
        say_number("address", address);
        stop(false);
    }
    nesting--;
}

// ---- The program

// Puts the cold pages into flash's hands. Returns why that is refused.
static enum tau_status activate(const struct settings *settings) {
    const uint32_t pages = (uint32_t)((uintptr_t)cold_end - (uintptr_t)cold_start) / PAGE_BYTES;
    const uint64_t *const flash = (const uint64_t *)(uintptr_t)FLASH_PAGES;
    const struct tau_code_cache_settings how = {.pages_count = pages,
                                                .frames_count = (uint32_t)settings->frames_count,
                                                .frames_least = (uint32_t)settings->frames_least,
                                                .policy = (unsigned)settings->policy,
                                                .seed = (uint32_t)settings->seed};
    const struct tau_sv39_code_place place = {
        .first = (uintptr_t)cold_start, .tables = tables, .store = flash, .frames = frame_rows};
    uint64_t released = 0;
    for (unsigned i = 0; i < TAU_CODE_CACHE_FRAMES_MAX; i++) {
        frame_rows[i].memory = frames[i];
        frame_rows[i].number = (uintptr_t)frames[i] >> 12;
    }
    const enum tau_status status = tau_sv39_code_init(&code, &how, &place, page_frames);
    for (uint32_t page = 0; status == TAU_OK && page < pages; page++) {
        if (tau_sv39_code_release_page(&code, (struct tau_page){page}, flash + page * ENTRIES) ==
            TAU_OK) {
            uint64_t *const boot = (uint64_t *)(void *)cold_boot + page * ENTRIES;
            for (unsigned i = 0; i < ENTRIES; i++) {
                boot[i] = UINT64_MAX;  // whoever gets the frame next
            }
            released++;
        }
    }
    say_number("pages", pages);
    say_number("released", released);
    return status;
}

// A function of its own, so that the recorder of touches sees it.
__attribute__((noinline)) void end_period(void) {
    if (code.cache.pages_count != 0 && uses_at_fault != USES_SOME) {
        tau_sv39_code_age(&code);
    }
}

static uint64_t call_work(uint64_t value) {
    switch (value % WORKS) {
    case 0:
        return work_0(value, 0);
    case 1:
        return work_1(value, 0);
    case 2:
        return work_2(value, 0);
    case 3:
        return work_3(value, 0);
    case 4:
        return work_4(value, 0);
    case 5:
        return work_5(value, 0);
    case 6:
        return work_6(value, 0);
    case 7:
        return work_7(value, 0);
    case 8:
        return work_8(value, 0);
    case 9:
        return work_9(value, 0);
    case 10:
        return work_10(value, 0);
    default:
        return work_11(value, 0);
    }
}

// As end_period.
__attribute__((noinline)) uint64_t run_rounds(const struct settings *settings) {
    volatile uint64_t *const demand = (volatile uint64_t *)(uintptr_t)DEMAND;
    uint64_t value = settings->seed;
    for (uint64_t round = 0; round < settings->rounds; round++) {
        round_ticks = 0;
        // Half of the calls stay near, so that recent use predicts the next one.
        value = call_work(value % 2 == 0 ? value : value / WORKS * WORKS + round / 16 % WORKS);
        value ^= round * 0x9e3779b97f4a7c15;
        if (value % 7 == 0) {
            value += straddle(straddle_operand);
        }
        if (value % 11 == 0) {
            value = longer_than_a_page(value);
        }
        if (value % 4 == 1) {
            value ^= *(volatile const uint64_t *)&cold_constants[value / 4 % COLD_CONSTANTS];
        }
        if (round % DEMAND_EVERY == 0) {
            value += use_demand(demand + value % ENTRIES, value);
            demand_table[DEMAND >> 12 & (ENTRIES - 1)] = 0;
            TAU_SV39_CODE_FLUSH_ALL();
        }
        if (settings->age_rounds != 0 && round % settings->age_rounds == 0) {
            __asm__ volatile("csrci sstatus, " INTERRUPTS_ON);
            end_period();
            if (tick_time != 0) {
                __asm__ volatile("csrsi sstatus, " INTERRUPTS_ON);
            }
        }
    }
    return value;
}

static void patch(uint64_t page) {
    if (page < PAGES_MAX) {
        uint64_t *const words = (uint64_t *)(void *)cold_boot + page * ENTRIES;
        words[ENTRIES - 1] ^= UINT64_C(0xff) << 56;
        __asm__ volatile("fence.i" : : : "memory");
    }
}

void supervisor_main(void) {
    const struct settings *const settings = (const struct settings *)(uintptr_t)SETTINGS;
    if (settings->magic != FIRMWARE_MAGIC) {
        say("settings are missing\n");
        stop(false);
    }
    patch(settings->patched_page);
    if (settings->is_paged != 0) {
        say_number("status", activate(settings));
    }
    tick_time = settings->tick_time;
    ticks_max = settings->ticks_max;
    uses_at_fault = settings->is_paged != 0 ? settings->uses_at_fault : USES_NONE;
    if (tick_time != 0) {
        set_tick();
        __asm__ volatile("csrs sie, %0" : : "r"(UINT64_C(1) << TIMER));
        __asm__ volatile("csrsi sstatus, " INTERRUPTS_ON);
    }
    say_number("result", run_rounds(settings));
    __asm__ volatile("csrci sstatus, " INTERRUPTS_ON);
    say_number("faults", code.cache.counts.faults);
    say_number("loads", code.cache.counts.loads);
    say_number("evictions", code.cache.counts.evictions);
    say_number("pinned", code.cache.counts.pinned);
    say_number("ticks", ticks.count);
    say_number("nesting", nesting_max);
    say_number("fault_instructions_max", fault_instructions_max);
    say_number("invariants", code.cache.pages_count == 0 || tau_sv39_code_invariants_hold(&code));
    stop(true);
}
