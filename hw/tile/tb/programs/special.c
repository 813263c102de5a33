// Two tiles, one program: tile 0 stores over the link and starts DMA channels, tile 1 looks when
// the words arrive. Both begin each trial at an agreed cycle.
#include "targets/tile/mmu_composable.h"
#include "targets/tile/program.h"

#define TRIALS 40u
#define SPECIAL(Kind, Number) (1u << (frame_bits - 1) | (Kind) << (frame_bits - 3) | (Number))

enum { LINK_PAGE = 4, OUTSIDE_PAGE, DMA_PAGE, OTHER_DMA_PAGE, SYSTEM_PAGE, SOURCE_PAGE };
enum { SOURCE_FRAME = 80, WORDS = 12, MANY_WORDS = 1000000 };
enum { MINE = 5, NEIGHBOR = 2 };  // channels; without turns the lower one goes first
enum { PAGE_BYTES = 1024, READY_WORDS = 16, RIGHTS = TAU_TILE_READ | TAU_TILE_WRITE };
static const uint32_t PERIOD_CYCLES = 2000;

static uint32_t frame_bits;
static uint32_t next_cycle = 20000;

static volatile uint32_t *page(uint32_t number) {
    return (volatile uint32_t *)(TAU_TILE_ADDRESS_WINDOW + number * PAGE_BYTES);
}

static volatile uint32_t *frame(uint32_t number) {
    return (volatile uint32_t *)(TAU_TILE_ADDRESS_FRAMES + number * PAGE_BYTES);
}

// Sleeps until the next agreed cycle: interrupts are off, so the core only wakes.
static void meet(void) {
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE + 4, 0);
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE, next_cycle);
    __asm__ volatile("csrs mie, %0\n wfi" ::"r"(1u << 7) : "memory");
    next_cycle += PERIOD_CYCLES;
}

// Runs `count` instructions of a cycle each, at most 64. None spans two words, so that the jump to
// each takes equally long.
static inline void wait(uint32_t count) {
    __asm__ volatile(
        ".option push\n .option norvc\n la t0, 1f\n slli t1, %0, 2\n sub t0, t0, t1\n"
        "jr t0\n .balign 4\n .rept 64\n nop\n .endr\n 1: nop\n .option pop" ::"r"(count)
        : "t0", "t1", "memory");
}

static void print(const char *name, uint32_t value) {
    tau_tile_print(name);
    tau_tile_print_number(value);
    tau_tile_print("\n");
}

static void map_page(uint32_t number, uint32_t frame_number) {
    tau_mmu_composable_set(0, number, number, 0, frame_number | RIGHTS);
}

static void map(void) {
    frame_bits = tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 8 & 255;
    map_page(LINK_PAGE, SPECIAL(TAU_TILE_SPECIAL_LINK, 3));
    map_page(OUTSIDE_PAGE, SPECIAL(TAU_TILE_SPECIAL_LINK, TAU_TILE_SIZE_COMMUNICATION_FRAMES));
    map_page(DMA_PAGE, SPECIAL(TAU_TILE_SPECIAL_DMA, MINE));
    map_page(OTHER_DMA_PAGE, SPECIAL(TAU_TILE_SPECIAL_DMA, NEIGHBOR));
    map_page(SYSTEM_PAGE, SPECIAL(TAU_TILE_SPECIAL_SYSTEM, 7));
    map_page(SOURCE_PAGE, SOURCE_FRAME);
    tau_mmu_composable_load(0);
}

// Both are fetched alike, so that store and load take place equally long after their calls.
#define FETCHED_ALIKE __attribute__((noinline, aligned(16)))

FETCHED_ALIKE static uint32_t store(volatile uint32_t *word, uint32_t value) {
    *word = value;
    return 0;
}

FETCHED_ALIKE static uint32_t load(volatile uint32_t *word, uint32_t value) {
    (void)value;
    return *word;
}

// Which cycle after its store a word can be read in, on the other tile.
static void link_latency(uint32_t tile, const char *name, volatile uint32_t *sent,
                         volatile uint32_t *seen, uint32_t words_mask) {
    uint32_t first = TRIALS;
    uint32_t (*volatile access)(volatile uint32_t *, uint32_t) = tile == 0 ? store : load;
    volatile uint32_t *volatile words = tile == 0 ? sent : seen;
    volatile const uint32_t delay_mask = 0 - tile;
    store(page(LINK_PAGE) + TRIALS, 0);  // in the TLB
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        meet();
        wait(trial & delay_mask);
        if (access(words + (trial & words_mask), trial + 1) == trial + 1 && first == TRIALS)
            first = trial;
    }
    if (tile == 1)
        print(name, first);
}

static void link_bytes(uint32_t tile) {
    meet();
    volatile uint8_t *bytes = (volatile uint8_t *)page(LINK_PAGE);
    if (tile == 0) {
        page(LINK_PAGE)[100] = 0x11223344;
        bytes[401] = 0xAA;
        page(OUTSIDE_PAGE)[100] = 0x55555555;
        print("link load ", page(LINK_PAGE)[100]);
    }
    meet();
    if (tile == 1) {
        print("link bytes ", frame(3)[100] == 0x1122AA44);
        const uint32_t outside = frame(TAU_TILE_SIZE_COMMUNICATION_FRAMES)[100];
        print("link outside ", outside | frame(0)[100]);
    }
}

static void channel(uint32_t number, uint32_t destination, uint32_t bytes) {
    const uint32_t place = TAU_TILE_REGISTER_DMA + 16 * number;
    tau_tile_write(place, SOURCE_FRAME);
    tau_tile_write(place + 4, destination);
    tau_tile_write(place + 8, bytes);
}

static void start(uint32_t dma_page, uint32_t source, uint32_t destination, uint32_t words) {
    volatile uint32_t *registers = page(dma_page);
    registers[TAU_TILE_DMA_PAGE_SOURCE / 4] = source;
    registers[TAU_TILE_DMA_PAGE_DESTINATION / 4] = destination;
    registers[TAU_TILE_DMA_PAGE_WORDS / 4] = words;
}

// Cycles until a channel's words are gone, with and without another one at the same time.
static uint32_t transfer(uint32_t neighbor_words) {
    meet();
    start(OTHER_DMA_PAGE, 0, 0, neighbor_words);
    start(DMA_PAGE, 16, 64, WORDS);
    const uint32_t before = tau_tile_read(TAU_TILE_REGISTER_CYCLE);
    while (page(DMA_PAGE)[TAU_TILE_DMA_PAGE_WORDS / 4] != 0) {
    }
    return tau_tile_read(TAU_TILE_REGISTER_CYCLE) - before;
}

// What does not lie inside ends the transfer.
static void refused(uint32_t source, uint32_t destination, uint32_t words) {
    start(DMA_PAGE, source, destination, words);
    meet();
    print("dma left ", page(DMA_PAGE)[TAU_TILE_DMA_PAGE_WORDS / 4]);
}

static void dma(uint32_t tile) {
    if (tile == 0) {
        for (uint32_t i = 0; i < 256; i++)
            page(SOURCE_PAGE)[i] = 0x1000 + i;
        channel(MINE, 5, 1024);
        channel(NEIGHBOR, 6, 1024);
        const uint32_t alone = transfer(0);
        print("dma cycles ", alone);
        print("dma beside ", transfer(200) - alone);
        meet();
        channel(MINE, 7, 32);
        refused(24, 0, MANY_WORDS);  // two words are inside
        refused(0, 24, MANY_WORDS);
        refused(2, 8, 1);  // between words
        refused(8, 10, 1);
        channel(MINE, 10, 0);
        refused(0, 0, 2);
        channel(MINE, 9, 1024);
        start(DMA_PAGE, 0, 12, MANY_WORDS);
        channel(MINE, 8, 32);  // the kernel takes the channel away
        print("dma left ", page(DMA_PAGE)[TAU_TILE_DMA_PAGE_WORDS / 4]);
    } else {
        for (uint32_t i = 0; i < 8; i++)
            meet();
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < 256; i++) {
            const int sent = i >= 16 && i < 16 + WORDS;
            wrong += frame(5)[i] != (sent ? 0x1000 + i - 12 : 0);
        }
        print("dma wrong ", wrong);
        const uint32_t expected[] = {0x1006, 0x1007, 0, 0, 0, 0, 0x1000, 0x1001, 0};
        wrong = 0;
        for (uint32_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
            wrong += frame(7)[i] != expected[i];
        print("dma outside ", wrong + (frame(10)[0] != 0));
    }
}

static void system_page(void) {
    volatile uint32_t *registers = page(SYSTEM_PAGE);
    (void)registers[0];  // in the TLB
    const uint32_t before = tau_tile_read(TAU_TILE_REGISTER_CYCLE);
    const uint32_t here = registers[TAU_TILE_SYSTEM_PAGE_CYCLE / 4];
    print("cycle ", here - before);
    print("cycle high ", registers[TAU_TILE_SYSTEM_PAGE_CYCLE / 4 + 1]);
    print("application ", registers[TAU_TILE_SYSTEM_PAGE_APPLICATION / 4]);
    registers[TAU_TILE_SYSTEM_PAGE_MARK / 4] = 0xABC;
    registers[TAU_TILE_SYSTEM_PAGE_CONSOLE / 4] = 'h';
    registers[TAU_TILE_SYSTEM_PAGE_CONSOLE / 4] = 'i';
    registers[TAU_TILE_SYSTEM_PAGE_CONSOLE / 4] = '\n';
    registers[TAU_TILE_SYSTEM_PAGE_CONSOLE / 4] = '!';
}

static void memory_tile(void) {
    volatile uint32_t *words = (volatile uint32_t *)TAU_TILE_ADDRESS_MEMORY_TILE;
    const uint32_t before = tau_tile_read(TAU_TILE_REGISTER_CYCLE);
    const uint32_t between = tau_tile_read(TAU_TILE_REGISTER_CYCLE);
    const uint32_t first = words[0];
    const uint32_t behind = tau_tile_read(TAU_TILE_REGISTER_CYCLE);
    print("memory ", (behind - between) - (between - before));
    print("memory word ", first);
    print("memory word ", words[4]);
    print("memory word ", words[TAU_TILE_SIZE_MEMORY_TILE_BYTES / 4 - 1]);
}

static volatile uint32_t trapped;

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    (void)address;
    trapped = cause;
    return pc + 4;
}

static void refusals(void) {
    __asm__ volatile(".option push\n .option norvc\n sw zero, 0(%0)\n .option pop" ::"r"(
        TAU_TILE_ADDRESS_MEMORY_TILE));
    print("memory store ", trapped);
}

int main(void) {
    const uint32_t tile = tau_tile_read(TAU_TILE_REGISTER_NUMBER);
    volatile uint32_t *ready = tau_tile_register(TAU_TILE_REGISTER_READY);
    map();
    link_latency(tile, "link ", page(LINK_PAGE), frame(3), UINT32_MAX);
    link_latency(tile, "ready ", ready, ready, READY_WORDS - 1);
    ready[READY_WORDS] = 1;  // behind the last word
    print("ready behind ", ready[READY_WORDS]);
    link_bytes(tile);
    dma(tile);
    if (tile == 0) {
        tau_tile_write(TAU_TILE_REGISTER_OWNER, 0x102);
        system_page();
        memory_tile();
        refusals();
    }
    return 0;
}
