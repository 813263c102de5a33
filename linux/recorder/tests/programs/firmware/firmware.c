// A firmware that uses core/ports/record.c, on the host: its addresses and its clock are made up.
// Arguments: file, seed, rows; then optionally the block from which on 3 writes are refused.
#include <stdio.h>
#include <stdlib.h>

#include "core/ports/record.h"

static FILE *out;
static long blocks, refused_from = -1;
static uint32_t now;

static bool send(void *context, const void *bytes, size_t size_bytes) {
    (void)context;
    blocks++;
    if (refused_from >= 0 && blocks > refused_from && blocks <= refused_from + 3) {
        return false;
    }
    return fwrite(bytes, 1, size_bytes, out) == size_bytes;
}

static uint32_t ticks(void *context) {
    (void)context;
    return now;
}

static uint32_t random_state;

static uint32_t random_below(uint32_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % bound;
}

int main(int count, char **arguments) {
    if (count < 4) {
        return 1;
    }
    out = fopen(arguments[1], "wb");
    random_state = (uint32_t)atol(arguments[2]) | 1u;
    refused_from = count > 4 ? atol(arguments[4]) : -1;
    static struct tau_record recording;
    static bool alive[256];
    now = 0xfffff000u;  // wraps soon
    tau_record_start(&recording, &(struct tau_record_port){send, ticks, NULL, 1000000});
    printf("op,id,size,align,thread,time\n");
    uint64_t elapsed = 0;
    uint32_t thread = 0;
    for (long i = 0; i < atol(arguments[3]); i++) {
        const uint32_t step = random_below(100) == 0 ? 20000000u : random_below(500);
        now += step;
        elapsed += step;
        if (random_below(50) == 0) {
            thread = random_below(3) * 1000003u;
            tau_record_thread(&recording, thread);
        }
        const uint32_t id = random_below(256);
        // Some are at odd multiples of 4, some at no multiple at all.
        const uintptr_t address = 0x20000000u + id * 512u + (id % 3) * 4u + (id % 17 == 0);
        const uintptr_t site = 0x08000001u + random_below(40) * 64u;
        const size_t size = random_below(8) == 0 ? random_below(1u << 30) : random_below(300);
        const char *op = "free";
        uint32_t align = 0;
        if (!alive[id]) {
            const uint32_t kind = random_below(3);
            align = kind == 2 ? 5 : 0;
            op = kind == 0 ? "malloc" : kind == 1 ? "calloc" : "aligned_alloc";
            if (kind == 0) {
                tau_record_malloc(&recording, address, size, site);
            } else if (kind == 1) {
                tau_record_calloc(&recording, address, size, site);
            } else {
                tau_record_aligned_alloc(&recording, address, size, 32, site);
            }
            alive[id] = true;
        } else if (random_below(3) == 0) {
            op = "realloc";
            tau_record_realloc_begin(&recording, address, site);
            tau_record_realloc_end(&recording, address, size, site);
        } else {
            tau_record_free(&recording, address, site);
            alive[id] = false;
        }
        printf("%s,%u,%zu,%u,%u,%llu\n", op, id, op[0] == 'f' ? 0 : size, align, thread,
               (unsigned long long)elapsed);
    }
    tau_record_end(&recording);
    fprintf(stderr, "%llu\n", (unsigned long long)tau_record_dropped(&recording));
    return fclose(out);
}
