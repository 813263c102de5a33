// A hash join: rows of one relation are put into a table of buckets, rows of another one are
// looked up there, and pairs that match are written.
#include "repro/composable/programs/work/work.h"

enum { BUCKETS = 4096, ROWS = 2048 };

struct row {
    uint32_t key;
    uint32_t value;
};

static uint16_t first[BUCKETS];
static uint16_t next[ROWS + 1];
static struct row built[ROWS + 1];

static uint32_t bucket_of(uint32_t key) {
    return key * 2654435761u >> 20;
}

void tau_iterations_begin(void) {
    tau_work_fill();
}

void tau_iterations_run(void) {
    uint32_t count = 0;
    for (uint32_t i = 1; i <= ROWS; i++) {
        built[i] = (struct row){tau_work_input[2 * i - 2] % (2 * ROWS), tau_work_input[2 * i - 1]};
        const uint32_t bucket = bucket_of(built[i].key);
        next[i] = first[bucket];
        first[bucket] = (uint16_t)i;
    }
    for (uint32_t i = 0; i < TAU_SIZE; i++) {
        const uint32_t key = tau_work_input[TAU_WORK_WORDS - 1 - i] % (2 * ROWS);
        for (uint32_t at = first[bucket_of(key)]; at != 0; at = next[at]) {
            if (built[at].key == key) {
                tau_work_output[count++ % TAU_WORK_WORDS] = built[at].value;
            }
        }
    }
}
