#include "tool/native/plan/bands.h"

#include <stdlib.h>
#include <string.h>

// A complete binary tree in an array: node n has the children 2n and 2n + 1, leaf i is LEAVES + i.
struct node {
    int32_t sum;
    int32_t most;  // of all prefixes, the empty one included
};

struct tree {
    struct node *nodes;
    size_t leaves;
    uint32_t *leaf_of;  // instant -> leaf
};

// Gives a leaf to each instant at which a size from LOW on changes, and clears them all.
static void tree_begin(struct tree *tree, const struct tau_bands_change *changes,
                       const uint64_t *first, size_t low, size_t sizes_count,
                       size_t instants_count) {
    memset(tree->leaf_of, 0, instants_count * sizeof *tree->leaf_of);
    for (uint64_t at = first[low]; at < first[sizes_count]; at++) {
        tree->leaf_of[changes[at].instant] = 1;
    }
    uint32_t leaf = 0;
    for (size_t instant = 0; instant < instants_count; instant++) {
        const uint32_t changed = tree->leaf_of[instant];
        tree->leaf_of[instant] = leaf;
        leaf += changed;
    }
    tree->leaves = 1;
    while (tree->leaves < leaf) {
        tree->leaves *= 2;
    }
}

static void tree_add(struct tree *tree, size_t leaf, int32_t delta) {
    size_t at = tree->leaves + leaf;
    struct node *const nodes = tree->nodes;
    nodes[at].sum += delta;
    nodes[at].most = nodes[at].sum > 0 ? nodes[at].sum : 0;
    for (at /= 2; at > 0; at /= 2) {  // bound: the tree's height
        const struct node left = nodes[2 * at], right = nodes[2 * at + 1];
        const int32_t behind = left.sum + right.most;
        nodes[at].sum = left.sum + right.sum;
        nodes[at].most = left.most > behind ? left.most : behind;
    }
}

bool tau_bands_peaks(const struct tau_bands_change *changes, const uint64_t *first,
                     size_t sizes_count, size_t instants_count, size_t low_first, size_t low_end,
                     uint32_t *peaks) {
    struct tree tree = {
        .nodes = malloc(4 * (instants_count + 1) * sizeof *tree.nodes),
        .leaf_of = malloc((instants_count + 1) * sizeof *tree.leaf_of),
    };
    const bool has_memory = tree.nodes != NULL && tree.leaf_of != NULL;
    uint64_t numbered = UINT64_MAX;  // changes that were left when instants got their leaves
    for (size_t low = low_first; has_memory && low < low_end; low++) {
        const uint64_t left = first[sizes_count] - first[low];
        if (left < numbered / 4 * 3) {
            tree_begin(&tree, changes, first, low, sizes_count, instants_count);
            numbered = left;
        }
        memset(tree.nodes, 0, 2 * tree.leaves * sizeof *tree.nodes);
        for (size_t high = low; high < sizes_count; high++) {
            for (uint64_t at = first[high]; at < first[high + 1]; at++) {
                tree_add(&tree, tree.leaf_of[changes[at].instant], changes[at].delta);
            }
            peaks[low * sizes_count + high] = (uint32_t)tree.nodes[1].most;
        }
    }
    free(tree.nodes);
    free(tree.leaf_of);
    return has_memory;
}
