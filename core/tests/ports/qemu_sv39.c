// Runs the script of script_sv39.h on a machine with a real MMU: QEMU's virt, one hart. Supervisor
// mode runs the port in the upper half of every space. User mode makes loads, stores and fetches,
// and the hardware raises their page faults. The result goes to the serial line and the test
// device.
#include <stddef.h>

#include "core/ports/sv39_linear.h"
#include "core/tests/ports/script_sv39.h"

#define UPPER UINT64_C(0xffffffc000000000)  // where supervisor mode sees physical address 0
#define TEST_DEVICE UINT64_C(0x100000)
#define SERIAL UINT64_C(0x10000000)
#define SCRIPT UINT64_C(0x81000000)
#define TABLES UINT64_C(0x8e000000)
#define FRAMES UINT64_C(0x90000000)
#define TEST_PASSED 0x5555u
#define TEST_FAILED 0x13333u
#define SUPERVISOR_PREVIOUS 256u
#define UPPER_ENTRIES 256u

enum {
    CAUSE_ILLEGAL = 2,
    CAUSE_CALL = 8,
    CAUSE_FETCH_FAULT = 12,
    CAUSE_LOAD_FAULT = 13,
    CAUSE_STORE_FAULT = 15
};

struct context {
    uint64_t pc;
    uint64_t value[2];  // a0 and a1
    uint64_t kept[16];
};

void user_run(struct context *context);
uint64_t boot_tables(void);
void supervisor_main(void);
extern const unsigned char user_code[];

static uint64_t boot_root[512] __attribute__((aligned(4096)));
static struct context context;

#define READ_REGISTER(name, value) __asm__ volatile("csrr %0, " #name : "=r"(value))

static void *upper(uint64_t physical) {
    return (void *)(uintptr_t)(physical | UPPER);
}

// 1 GiB leaves for supervisor mode only: R, W, X, A, D.
static void map_upper(uint64_t *root) {
    for (uint64_t i = 0; i < 4; i++) {
        root[UPPER_ENTRIES + i] = i << 28 | 0xcfu;
    }
}

// Called in machine mode, at physical addresses: the first satp.
uint64_t boot_tables(void) {
    map_upper(boot_root);
    return UINT64_C(8) << 60 | (uint64_t)(uintptr_t)boot_root >> 12;
}

static void use(uint64_t satp) {
    __asm__ volatile("csrw satp, %0" : : "r"(satp) : "memory");
}

void machine_made(struct tau_sv39 *space) {
    map_upper(space->root);
    TAU_SV39_FLUSH_SPACE(space->asid);
}

void machine_gone(struct tau_sv39 *space) {
    (void)space;
    use(UINT64_C(8) << 60 | ((uint64_t)(uintptr_t)boot_root & ~UPPER) >> 12);
}

void machine_put_code(unsigned char *page) {
    for (unsigned i = 0; i < 16; i++) {
        page[i] = user_code[i];
    }
    __asm__ volatile("fence.i" : : : "memory");
}

void machine_say(const char *text) {
    volatile unsigned char *serial = upper(SERIAL);
    for (; *text != 0; text++) {
        *serial = (unsigned char)*text;
    }
}

uint64_t machine_instructions(void) {
    uint64_t count;
    READ_REGISTER(instret, count);
    return count;
}

enum machine_outcome machine_try(const struct tau_sv39 *space, uint64_t address, uint32_t access,
                                 uint64_t *value) {
    uint64_t cause;
    uint64_t where;
    uint64_t pc;
    uint64_t status;
    uint64_t satp;
    const uint64_t code = SCRIPT_CODE_PAGE << 12;
    const uint64_t start = access == TAU_EXECUTE ? address
                           : access == TAU_WRITE ? code + SCRIPT_STORE_BYTES
                                                 : code;
    // As a kernel switches: no flush, the spaces' identifiers keep their translations apart.
    READ_REGISTER(satp, satp);
    if (satp != tau_sv39_satp(space)) {
        use(tau_sv39_satp(space));
    }
    context.pc = start;
    context.value[0] = address;
    context.value[1] = *value;
    user_run(&context);
    READ_REGISTER(scause, cause);
    READ_REGISTER(stval, where);
    READ_REGISTER(sepc, pc);
    READ_REGISTER(sstatus, status);
    const uint64_t fault = access == TAU_EXECUTE ? CAUSE_FETCH_FAULT
                           : access == TAU_WRITE ? CAUSE_STORE_FAULT
                                                 : CAUSE_LOAD_FAULT;
    if ((status & SUPERVISOR_PREVIOUS) != 0) {
        return MACHINE_WRONG;  // the port itself trapped
    }
    if (cause == fault) {
        return where == address && pc == start ? MACHINE_FAULT : MACHINE_WRONG;
    }
    if (access == TAU_EXECUTE) {
        return cause == CAUSE_ILLEGAL && pc == address ? MACHINE_DONE : MACHINE_WRONG;
    }
    *value = context.value[0];
    return cause == CAUSE_CALL && pc == start + 4 ? MACHINE_DONE : MACHINE_WRONG;
}

// Functions that compilers call by themselves, and the core for its fills.
void *memset(void *to, int value, size_t size_bytes) {
    uint64_t *words = to;
    unsigned char *bytes = to;
    const uint64_t word = (unsigned char)value * UINT64_C(0x0101010101010101);
    size_t done = 0;
    for (; (uintptr_t)to % 8 == 0 && done + 8 <= size_bytes; done += 8) {
        __asm__ volatile("" : : : "memory");  // else this loop becomes a call of itself
        words[done / 8] = word;
    }
    for (; done < size_bytes; done++) {
        __asm__ volatile("" : : : "memory");
        bytes[done] = (unsigned char)value;
    }
    return to;
}

void supervisor_main(void) {
    const struct script *script = upper(SCRIPT);
    unsigned char *tables = upper(TABLES);
    const struct machine_memory memory = {
        .frames = upper(FRAMES),
        .physical_first = FRAMES >> 12,
        .records = (struct tau_sv39_table *)(void *)tables,
        .links = (uint32_t *)(void *)(tables + SCRIPT_FRAMES_MAX * sizeof(struct tau_sv39_table)),
        .marks = tables + SCRIPT_FRAMES_MAX * (sizeof(struct tau_sv39_table) + sizeof(uint32_t))};
    const size_t frames = (size_t)script->frames_count + script->tables_count;
    if (script->magic == SCRIPT_MAGIC && frames <= SCRIPT_FRAMES_MAX) {
        (void)memset(memory.frames, 0xa5, frames << 12);
        (void)memset(memory.records, 0x5a, frames * sizeof(struct tau_sv39_table));
    }
    volatile uint32_t *test_device = upper(TEST_DEVICE);
    *test_device = script_run(script, &memory) == 0 ? TEST_PASSED : TEST_FAILED;
    for (;;) {
    }
}
