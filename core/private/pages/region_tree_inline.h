// The virtual regions tree's operations, inlined, for region_tree.c and the mechanisms that use it.
// A word covers 32 pages, or 32 words of the level below. Every path is unrolled, without a loop.
//
// Page numbers are complemented: page p has place ~p, a negative number, in level 0. Word w of a
// level has place w in the level above. So the start of p's region is the first set bit from its
// place on. Every machine finds the first set bit faster than the last, and no step has to
// complement a number.
#ifndef TAU_REGION_TREE_INLINE_H
#define TAU_REGION_TREE_INLINE_H

#include "core/private/bits_map.h"
#include "core/private/check.h"
#include "core/private/inline.h"
#include "core/private/pages/region_tree_word.h"
#include "core/region_tree.h"

// The bit of PLACE in its word.
TAU_SHARED uint32_t region_tree_bit(int32_t place) {
    return tau_bits_mask((uint32_t)place & 31u);
}

// WORD with the bits before the bit of PLACE shifted out.
TAU_SHARED uint32_t region_tree_rest(uint32_t word, int32_t place) {
#ifdef __arm__
    return word << ((uint32_t)place & 31u);
#else
    return word >> ((uint32_t)place & 31u);
#endif
}

// The invariants at one word:
// - VRT-2: no bit outside the tree's pages is set.
// - VRT-1: the level above has the word's bit if and only if one of the word's own bits is set.
// The top has the bit of page 0 set.
//
// Operations assert them for each word whose content they rely on. The proofs (core/tests/proofs)
// assume them there and nowhere else.
TAU_SHARED bool region_tree_agrees(const struct tau_region_tree *tree, unsigned level,
                                   int32_t index) {
    const uint32_t word = region_tree_read(tree, level, index);
    const unsigned below_log2 = 5 * level;
    const int32_t last =
        tree->pages_log2 > below_log2 ? -(INT32_C(1) << (tree->pages_log2 - below_log2)) : -1;
    const uint32_t beyond = index > last >> 5    ? 0
                            : index == last >> 5 ? ~tau_bits_from((uint32_t)last & 31u)
                                                 : UINT32_MAX;
    if ((word & beyond) != 0) {
        return false;
    }
    if (level == REGION_TREE_TOP) {
        return word != 0;
    }
    const uint32_t above = region_tree_read(tree, level + 1, index >> 5);
    return (word != 0) == ((above & region_tree_bit(index)) != 0);
}

TAU_SHARED bool region_tree_is_start(const struct tau_region_tree *tree, struct tau_page page) {
    const int32_t place = (int32_t)~page.number;
    return (region_tree_rest(region_tree_read(tree, 0, place >> 5), place) & tau_bits_mask(0)) != 0;
}

// Sets the bit of PAGE. If its word was empty, the bits of all levels above are set. A test of
// whether they are set already would only make the longest path longer.
TAU_SHARED void region_tree_split(struct tau_region_tree *tree, struct tau_page page) {
    int32_t place = (int32_t)~page.number;
#pragma GCC unroll 6
    for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS; level++) {
        const uint32_t before = region_tree_read(tree, level, place >> 5);
        TAU_INVARIANT(region_tree_agrees(tree, level, place >> 5));
        TAU_ASSERT(level > 0 || (before & region_tree_bit(place)) == 0);
        region_tree_write(tree, level, place >> 5, before | region_tree_bit(place));
        if (level == 0 && before != 0) {
            return;
        }
        place >>= 5;
    }
}

// Clears the bit of PAGE, which is set. If its word becomes empty, the bit one level up is cleared
// too.
TAU_SHARED void region_tree_union(struct tau_region_tree *tree, struct tau_page page) {
    int32_t place = (int32_t)~page.number;
#pragma GCC unroll 6
    for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS; level++) {
        const uint32_t before = region_tree_read(tree, level, place >> 5);
        const uint32_t left = before ^ region_tree_bit(place);
        TAU_INVARIANT(region_tree_agrees(tree, level, place >> 5));
        TAU_ASSERT((left & region_tree_bit(place)) == 0);
        region_tree_write(tree, level, place >> 5, left);
        if (left != 0) {
            return;
        }
        place >>= 5;
    }
}

// region_tree_first_<level>: the first place of the level, from PLACE on, whose bit is set. There
// is one: page 0 has the last place and is a start.
// region_tree_last_<level>: whether a bit before PLACE is set. *LAST is the last such place.
#define REGION_TREE_LEVEL(level, above)                                                            \
    TAU_SHARED int32_t region_tree_first_##level(const struct tau_region_tree *tree,               \
                                                 int32_t place) {                                  \
        const uint32_t word = region_tree_read(tree, level, place >> 5);                           \
        const uint32_t rest = region_tree_rest(word, place);                                       \
        if (level == REGION_TREE_TOP || rest != 0) {                                               \
            return place + (int32_t)tau_bits_first(rest);                                          \
        }                                                                                          \
        const int32_t index = region_tree_first_##above(tree, (place >> 5) + 1);                   \
        TAU_INVARIANT(region_tree_agrees(tree, level, index));                                     \
        TAU_ASSERT(index > place >> 5);                                                            \
        TAU_ASSERT(region_tree_read(tree, level, index) != 0);                                     \
        return index * 32 + (int32_t)tau_bits_first(region_tree_read(tree, level, index));         \
    }                                                                                              \
    TAU_SHARED bool region_tree_last_##level(const struct tau_region_tree *tree, int32_t place,    \
                                             int32_t *last) {                                      \
        int32_t index = place >> 5;                                                                \
        uint32_t word = region_tree_read(tree, level, index);                                      \
        TAU_INVARIANT(region_tree_agrees(tree, level, index));                                     \
        word &= ~tau_bits_from((uint32_t)place & 31u);                                             \
        if (word == 0) {                                                                           \
            if (level == REGION_TREE_TOP || !region_tree_last_##above(tree, index, &index)) {      \
                return false;                                                                      \
            }                                                                                      \
            TAU_INVARIANT(region_tree_agrees(tree, level, index));                                 \
            TAU_ASSERT(index < place >> 5);                                                        \
            word = region_tree_read(tree, level, index);                                           \
            TAU_ASSERT(word != 0);                                                                 \
        }                                                                                          \
        *last = index * 32 + (int32_t)tau_bits_last(word);                                         \
        return true;                                                                               \
    }

// Above the top; never called.
TAU_SHARED int32_t region_tree_first_6(const struct tau_region_tree *tree, int32_t place) {
    (void)tree;
    return place;
}

TAU_SHARED bool region_tree_last_6(const struct tau_region_tree *tree, int32_t place,
                                   int32_t *last) {
    (void)tree;
    (void)place;
    (void)last;
    return false;
}

REGION_TREE_LEVEL(5, 6)
REGION_TREE_LEVEL(4, 5)
REGION_TREE_LEVEL(3, 4)
REGION_TREE_LEVEL(2, 3)
REGION_TREE_LEVEL(1, 2)
REGION_TREE_LEVEL(0, 1)

// Start of the region that contains PAGE.
TAU_SHARED struct tau_page region_tree_find(const struct tau_region_tree *tree,
                                            struct tau_page page) {
    return (struct tau_page){~(uint32_t)region_tree_first_0(tree, (int32_t)~page.number)};
}

// Whether a region starts after PAGE. *START is the first such start, or UINT32_MAX if there is
// none.
TAU_SHARED bool region_tree_next(const struct tau_region_tree *tree, struct tau_page page,
                                 struct tau_page *start) {
    int32_t place = 0;
    const bool is_there = region_tree_last_0(tree, (int32_t)~page.number, &place);
    start->number = ~(uint32_t)place;
    return is_there;
}

#endif
