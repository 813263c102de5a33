// The start of a tile: reads the system file, hands out the memory, and enters the first slot.
#include "kernel/copy_words.h"
#include "kernel/slots/kernel.h"
#include "kernel/slots/mmu_switch.h"
#include "kernel/slots/pages.h"
#include "kernel/stop.h"

enum { LOADER_STACK_BYTES = 2048, TIMER_INTERRUPT = 1 << 7 };

void tau_trap_idle(void);
void tau_trap_vectors(void);
_Noreturn void tau_trap_slot_end(void);

struct tau_kernel tau_kernel;
static uint8_t loader_stack[LOADER_STACK_BYTES] __attribute__((aligned(16)));

static void refuse(const char *wrong) {
    if (wrong != NULL) {
        tau_stop(wrong);
    }
}

// From here to the first gate is less than an OS slot.
static void check_start(const uint32_t *header) {
    const uint64_t least = tau_tile_cycle() + header[TAU_COMPOSE_HEADER_OS_SLOT_CYCLES];
    if (header[TAU_COMPOSE_HEADER_START_CYCLE] < least) {
        tau_tile_print("kernel: start_cycle is too small for this tile, which needs ");
        tau_tile_print_number((uint32_t)least);
        tau_tile_print("\n");
        tau_tile_exit(1);
    }
}

int main(void) {
    struct tau_kernel *kernel = &tau_kernel;
    const uint32_t tile = tau_tile_read(TAU_TILE_REGISTER_NUMBER);
    refuse(tau_system_file_read(&kernel->file,
                                (const volatile uint32_t *)TAU_TILE_ADDRESS_MEMORY_TILE, tile));
    refuse(tau_pages_begin());
    tau_words_clear(TAU_TILE_TABLE0, TAU_MMU_SWITCH_TABLES * TAU_MMU_COMPOSABLE_TABLE_WORDS);
    tau_loader_begin();
    tau_context_begin(&kernel->loader, (uint32_t)(uintptr_t)tau_loader_run,
                      (uint32_t)(uintptr_t)(loader_stack + LOADER_STACK_BYTES),
                      TAU_CONTEXT_STATUS_MACHINE);
    tau_context_begin(&kernel->idle, (uint32_t)(uintptr_t)tau_trap_idle, 0,
                      TAU_CONTEXT_STATUS_MACHINE);
    const uint32_t *header = kernel->file.header;
    kernel->slot = header[TAU_COMPOSE_HEADER_SLOT_COUNT] - 1;
    kernel->frame = header[TAU_COMPOSE_HEADER_EPOCH_FRAMES] - 1;
    kernel->epoch = UINT32_MAX;
    kernel->release_cycle = (uint64_t)header[TAU_COMPOSE_HEADER_START_CYCLE] -
                            header[TAU_COMPOSE_HEADER_USER_SLOT_CYCLES] -
                            header[TAU_COMPOSE_HEADER_OS_SLOT_CYCLES];
    __asm__ volatile("csrw mtvec, %0" ::"r"(tau_trap_vectors));
    __asm__ volatile("csrw mie, %0" ::"r"(TIMER_INTERRUPT));
    check_start(header);
    tau_trap_slot_end();
}
