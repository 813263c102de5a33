// The layered tree, as far as the paper tells it (section IV-A5): bits for the pages, and above
// them nodes of three words, a bitmap of the used children and the least and greatest page below.
// For 2^20 pages that is 2^20/8 + 2^10*12 + 2^5*12 + 12 = 143,756 bytes [P0-19].
//
// find needs no level by level search: the level whose node holds the answer is found by bisection
// over the levels' greatest places, O(log log N) compares; then at most two bit scans.
#include "tree.h"

#if BENCH_LOG2 > 30
#define LEAST INT64_MIN
#define GREATEST INT64_MAX
#else
#define LEAST INT32_MIN
#define GREATEST INT32_MAX
#endif

struct node {
    uint32_t used;
    place_type least, greatest;  // of the places below; GREATEST, LEAST if there is none
};

INLINE word_type *word_at(const struct bench_tree *tree, place_type index) {
    return tree->words + (LEVELS == 1 ? -1 : index);
}

INLINE struct node *node_at(const struct bench_tree *tree, int level, place_type index) {
    struct node *const nodes = (struct node *)(void *)tree->words;
    if (level == TOP) {
        return nodes;
    }
    const place_type offset = count_from(level + 1) - 1;
    return offset == 0 ? nodes - index
                       : (struct node *)tau_bits_hold_pointer(nodes - index) + offset;
}

size_t bench_tree_size_bytes(void) {
    return (size_t)count_of(0) * sizeof(word_type) + (size_t)count_from(1) * sizeof(struct node);
}

void bench_tree_init(struct bench_tree *tree, void *memory) {
    tree->words = (word_type *)memory + count_of(0);
    for (int level = 1; level < LEVELS; level++) {
        for (place_type index = -count_of(level); index < 0; index++) {
            *node_at(tree, level, index) = (struct node){0, GREATEST, LEAST};
        }
        *node_at(tree, level, -1) = (struct node){(uint32_t)bit_of(-1), -1, -1};
    }
    *word_at(tree, -1) = bit_of(-1);
}

// Whether the part of LEVEL that PLACE lies in has a start at or after PLACE.
INLINE bool has_first(const struct bench_tree *tree, place_type place, int level) {
    if (level == 0) {
        return *word_at(tree, place >> 5) >> (unsigned)(place & 31) != 0;
    }
    return node_at(tree, level, place >> (5 * (level + 1)))->greatest >= place;
}

INLINE bool has_last(const struct bench_tree *tree, place_type place, int level) {
    if (level == 0) {
        return (*word_at(tree, place >> 5) & ~bits_from(place)) != 0;
    }
    return node_at(tree, level, place >> (5 * (level + 1)))->least < place;
}

// The first start, given that LEVEL is the lowest that has one.
INLINE place_type first_in(const struct bench_tree *tree, place_type place, int level) {
    if (level == 0) {
        const word_type rest = *word_at(tree, place >> 5) >> (unsigned)(place & 31);
        return place + (place_type)lowest(rest);
    }
    const place_type child = place >> (5 * level), index = child >> 5;
    const uint32_t behind = node_at(tree, level, index)->used & (bits_from(child) << 1);
    const place_type found = index * 32 + (place_type)lowest(behind);
    return level == 1 ? found * 32 + (place_type)lowest(*word_at(tree, found))
                      : node_at(tree, level - 1, found)->least;
}

INLINE place_type last_in(const struct bench_tree *tree, place_type place, int level) {
    if (level == 0) {
        const word_type front = *word_at(tree, place >> 5) & ~bits_from(place);
        return (place >> 5) * 32 + (place_type)highest(front);
    }
    const place_type child = place >> (5 * level), index = child >> 5;
    const uint32_t front = node_at(tree, level, index)->used & ~bits_from(child);
    const place_type found = index * 32 + (place_type)highest(front);
    return level == 1 ? found * 32 + (place_type)highest(*word_at(tree, found))
                      : node_at(tree, level - 1, found)->greatest;
}

// The first start, and the last: bisection over the levels LOW ... HIGH, DEPTH times.
#define BISECTION(way, depth, then)                                                                \
    INLINE place_type way##_##depth(const struct bench_tree *tree, place_type place, int low,      \
                                    int high) {                                                    \
        const int middle = (low + high) / 2;                                                       \
        if (low == high) {                                                                         \
            return way##_in(tree, place, low);                                                     \
        }                                                                                          \
        return has_##way(tree, place, middle) ? way##_##then(tree, place, low, middle)             \
                                              : way##_##then(tree, place, middle + 1, high);       \
    }

INLINE place_type first_0(const struct bench_tree *tree, place_type place, int low, int high) {
    (void)high;
    return first_in(tree, place, low);
}

INLINE place_type last_0(const struct bench_tree *tree, place_type place, int low, int high) {
    (void)high;
    return last_in(tree, place, low);
}

BISECTION(first, 1, 0)
BISECTION(first, 2, 1)
BISECTION(first, 3, 2)
BISECTION(last, 1, 0)
BISECTION(last, 2, 1)
BISECTION(last, 3, 2)

page_type bench_tree_find(const struct bench_tree *tree, page_type page) {
    return ~(page_type)first_3(tree, (place_type)~page, 0, TOP);
}

page_type bench_tree_next(const struct bench_tree *tree, page_type page) {
    const place_type place = (place_type)~page;
    if (!has_last(tree, place, TOP)) {
        return ~(page_type)0;
    }
    return ~(page_type)last_3(tree, place, 0, TOP);
}

// Every node above the page has its bit, and the page between its least and greatest.
void bench_tree_split(struct bench_tree *tree, page_type page) {
    const place_type place = (place_type)~page;
    *word_at(tree, place >> 5) |= (word_type)bit_of(place);
#pragma GCC unroll 8
    for (int level = 1; level < LEVELS; level++) {
        struct node *const node = node_at(tree, level, place >> (5 * (level + 1)));
        bool is_inside = true;
        node->used |= (uint32_t)bit_of(place >> (5 * level));
        if (place < node->least) {
            node->least = place;
            is_inside = false;
        }
        if (place > node->greatest) {
            node->greatest = place;
            is_inside = false;
        }
        if (is_inside) {
            return;  // and so inside all above
        }
    }
}

// The first start below child CHILD of LEVEL.
INLINE place_type least_below(const struct bench_tree *tree, int level, place_type child) {
    return level == 1 ? child * 32 + (place_type)lowest(*word_at(tree, child))
                      : node_at(tree, level - 1, child)->least;
}

INLINE place_type greatest_below(const struct bench_tree *tree, int level, place_type child) {
    return level == 1 ? child * 32 + (place_type)highest(*word_at(tree, child))
                      : node_at(tree, level - 1, child)->greatest;
}

void bench_tree_union(struct bench_tree *tree, page_type page) {
    const place_type place = (place_type)~page;
    word_type *const word = word_at(tree, place >> 5);
    *word ^= (word_type)bit_of(place);
    bool is_empty = *word == 0;
#pragma GCC unroll 8
    for (int level = 1; level < LEVELS; level++) {
        const place_type index = place >> (5 * (level + 1));
        struct node *const node = node_at(tree, level, index);
        bool is_inside = !is_empty;
        if (is_empty) {
            node->used ^= (uint32_t)bit_of(place >> (5 * level));
            is_empty = node->used == 0;
        }
        if (is_empty) {
            node->least = GREATEST;
            node->greatest = LEAST;
            continue;
        }
        if (place == node->least) {
            const place_type child = index * 32 + (place_type)lowest(node->used);
            node->least = least_below(tree, level, child);
            is_inside = false;
        } else if (place == node->greatest) {  // not both: the node is not empty
            const place_type child = index * 32 + (place_type)highest(node->used);
            node->greatest = greatest_below(tree, level, child);
            is_inside = false;
        }
        if (is_inside) {
            return;
        }
    }
}
