#include "tool/native/plan/code_misses.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint64_t tau_code_misses(const struct tau_code_sequence *sequence, uint64_t held_bytes,
                         uint64_t *misses, uint32_t *missed) {
    const uint32_t slots = sequence->pieces_count + 1;
    uint8_t *const is_held = calloc(slots, 1);
    uint32_t *const queue = malloc(slots * sizeof *queue);
    uint64_t bytes = 0, sum = UINT64_MAX;
    uint32_t first = 0, end = 0;
    assert(held_bytes >= sequence->page_bytes);
    if (is_held != NULL && queue != NULL) {
        sum = 0;
        memset(misses, 0, sequence->pieces_count * sizeof *misses);
        for (size_t i = 0; i < sequence->count; i++) {  // bound: the touches
            const uint32_t piece = sequence->touches[i];
            assert(piece < sequence->pieces_count);
            if (is_held[piece] != 0) {
                continue;
            }
            is_held[piece] = 1;
            queue[end] = piece;
            end = end + 1 < slots ? end + 1 : 0;
            bytes += sequence->sizes_bytes[piece];
            while (bytes > held_bytes) {  // bound: the pieces that have joined
                assert(first != end);
                bytes -= sequence->sizes_bytes[queue[first]];
                is_held[queue[first]] = 0;
                first = first + 1 < slots ? first + 1 : 0;
            }
            misses[piece]++;
            if (missed != NULL) {
                missed[sum] = piece;
            }
            sum++;
        }
    }
    free(queue);
    free(is_held);
    return sum;
}
