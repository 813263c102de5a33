// The core's tree under the names of tree.h, in a build for 2^BENCH_LOG2 pages.
#include "tree.h"

#include "core/private/pages/region_tree_inline.h"

static struct tau_region_tree made(const struct bench_tree *tree) {
    return (struct tau_region_tree){tree->words, BENCH_LOG2};
}

size_t bench_tree_size_bytes(void) {
    return tau_region_tree_size_bytes(BENCH_LOG2);
}

void bench_tree_init(struct bench_tree *tree, void *memory) {
    struct tau_region_tree core;
    (void)tau_region_tree_init(&core, memory, SIZE_MAX, BENCH_LOG2);
    tree->words = core.words;
}

page_type bench_tree_find(const struct bench_tree *tree, page_type page) {
    const struct tau_region_tree core = made(tree);
    return region_tree_find(&core, (struct tau_page){page}).number;
}

page_type bench_tree_next(const struct bench_tree *tree, page_type page) {
    const struct tau_region_tree core = made(tree);
    struct tau_page start;
    (void)region_tree_next(&core, (struct tau_page){page}, &start);
    return start.number;
}

void bench_tree_split(struct bench_tree *tree, page_type page) {
    struct tau_region_tree core = made(tree);
    region_tree_split(&core, (struct tau_page){page});
}

void bench_tree_union(struct bench_tree *tree, page_type page) {
    struct tau_region_tree core = made(tree);
    region_tree_union(&core, (struct tau_page){page});
}
