// The flat bitmap tree for any k and words of 32 or 64 bits: the core's algorithm, with every level
// of the size that k asks for.
#include "tree.h"

INLINE word_type *word_at(const struct bench_tree *tree, int level, place_type index) {
    if (level == TOP) {
        return level == 0 ? tree->words - 1 : tree->words;
    }
    if (level == 0) {
        return tree->words + index;
    }
    word_type *const first = tree->words - index;
    const place_type offset = count_from(level + 1) - 1;
    return offset == 0 ? first : (word_type *)tau_bits_hold_pointer(first) + offset;
}

size_t bench_tree_size_bytes(void) {
    return (size_t)count_from(0) * sizeof(word_type);
}

void bench_tree_init(struct bench_tree *tree, void *memory) {
    tree->words = (word_type *)memory + count_of(0);
    for (int level = 0; level < LEVELS; level++) {
        *word_at(tree, level, -1) = bit_of(-1);
    }
}

void bench_tree_split(struct bench_tree *tree, page_type page) {
    place_type place = (place_type)~page;
#pragma GCC unroll 8
    for (int level = 0; level < LEVELS; level++) {
        word_type *const word = word_at(tree, level, place >> WORD_LOG2);
        const word_type before = *word;
        *word = before | bit_of(place);
        if (level == 0 && before != 0) {
            return;
        }
        place >>= WORD_LOG2;
    }
}

void bench_tree_union(struct bench_tree *tree, page_type page) {
    place_type place = (place_type)~page;
#pragma GCC unroll 8
    for (int level = 0; level < LEVELS; level++) {
        word_type *const word = word_at(tree, level, place >> WORD_LOG2);
        const word_type left = *word ^ bit_of(place);
        *word = left;
        if (left != 0) {
            return;
        }
        place >>= WORD_LOG2;
    }
}

#define LEVEL(level, above)                                                                        \
    INLINE place_type first_##level(const struct bench_tree *tree, place_type place) {             \
        const word_type word = *word_at(tree, level, place >> WORD_LOG2);                          \
        const word_type rest = word >> (unsigned)(place & (WORD_BITS - 1));                        \
        if (level >= TOP || rest != 0) {                                                           \
            return place + (place_type)lowest(rest);                                               \
        }                                                                                          \
        const place_type index = first_##above(tree, (place >> WORD_LOG2) + 1);                    \
        return index * WORD_BITS + (place_type)lowest(*word_at(tree, level, index));               \
    }                                                                                              \
    INLINE bool last_##level(const struct bench_tree *tree, place_type place, place_type *last) {  \
        place_type index = place >> WORD_LOG2;                                                     \
        word_type word = *word_at(tree, level, index) & ~bits_from(place);                         \
        if (word == 0) {                                                                           \
            if (level >= TOP || !last_##above(tree, index, &index)) {                              \
                return false;                                                                      \
            }                                                                                      \
            word = *word_at(tree, level, index);                                                   \
        }                                                                                          \
        *last = index * WORD_BITS + (place_type)highest(word);                                     \
        return true;                                                                               \
    }

INLINE place_type first_8(const struct bench_tree *tree, place_type place) {
    (void)tree;
    return place;
}

INLINE bool last_8(const struct bench_tree *tree, place_type place, place_type *last) {
    (void)tree;
    (void)place;
    (void)last;
    return false;
}

LEVEL(7, 8)
LEVEL(6, 7)
LEVEL(5, 6)
LEVEL(4, 5)
LEVEL(3, 4)
LEVEL(2, 3)
LEVEL(1, 2)
LEVEL(0, 1)

page_type bench_tree_find(const struct bench_tree *tree, page_type page) {
    return ~(page_type)first_0(tree, (place_type)~page);
}

page_type bench_tree_next(const struct bench_tree *tree, page_type page) {
    place_type last = 0;
    (void)last_0(tree, (place_type)~page, &last);
    return ~(page_type)last;
}
