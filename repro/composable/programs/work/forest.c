// A decision forest in five arrays of constants: of each node the feature, the threshold, both
// successors and, of a leaf, the votes.
#include "repro/composable/programs/work/many.h"
#include "repro/composable/programs/work/work.h"

enum { NODES = 1024, TREES = 8, DEPTH = 7, FEATURES = 32 };  // a tree has 2^DEPTH - 1 nodes
#define MIXED(n) (((n) + 1u) * 2654435761u)
#define FEATURE(n) (uint32_t)(MIXED(n) >> 27)
#define THRESHOLD(n) (uint32_t)(MIXED((n) ^ 77u))
#define LEFT(n) (uint32_t)(2 * ((n) % 128) + 1 + 128 * ((n) / 128))
#define RIGHT(n) (uint32_t)(2 * ((n) % 128) + 2 + 128 * ((n) / 128))
#define VOTE(n) (uint32_t)(MIXED((n) ^ 55u) >> 24)
static const uint32_t features[NODES] = {TAU_MANY_1024(FEATURE, 0u)};
static const uint32_t thresholds[NODES] = {TAU_MANY_1024(THRESHOLD, 0u)};
static const uint32_t lefts[NODES] = {TAU_MANY_1024(LEFT, 0u)};
static const uint32_t rights[NODES] = {TAU_MANY_1024(RIGHT, 0u)};
static const uint32_t votes[NODES] = {TAU_MANY_1024(VOTE, 0u)};

void tau_iterations_begin(void) {
    tau_work_fill();
}

void tau_iterations_run(void) {
    for (uint32_t i = 0; i < TAU_SIZE; i++) {
        const uint32_t *sample = tau_work_input + i * FEATURES % (TAU_WORK_WORDS - FEATURES);
        uint32_t sum = 0;
        for (uint32_t tree = 0; tree < TREES; tree++) {
            uint32_t node = NODES / TREES * tree;
            for (uint32_t level = 1; level < DEPTH; level++) {
                const uint32_t is_right = sample[features[node]] > thresholds[node];
                node = is_right ? rights[node] : lefts[node];
            }
            sum += votes[node];
        }
        tau_work_output[i % TAU_WORK_WORDS] = sum;
    }
}
