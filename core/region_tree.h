// The virtual regions tree (VRT): which page starts the region that a page lies in.
//
// A set of starts over the pages 0 ... 2^k - 1, of which page 0 is always one. Source: the paper's
// section IV-A5 [P0-17 ... P0-19]; what differs and what was measured is in
// docs/design/region_tree.md; layout and bounds are docs/spec/region_tree.md. No function but init
// loops, the self test apart. Costs are stated for 2^20 pages and hold for any state and page, and
// for every smaller tree. The inlined forms, for the mechanisms above, are in region_tree_inline.h.
#ifndef TAU_REGION_TREE_H
#define TAU_REGION_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/page.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAU_REGION_TREE_LEVELS ((TAU_SPACE_PAGES_LOG2_MAX + 4u) / 5u)

// A view of a tree, whose bits are in memory that the caller gives. Level 0 has a bit a page, level
// i + 1 a bit a word of level i.
struct tau_region_tree {
    uint32_t *words;  // the end of level 0; the levels above are behind it (region_tree_inline.h)
    unsigned pages_log2;
};

// Bytes that a tree of 2^PAGES_LOG2 pages takes; 0 if PAGES_LOG2 is out of range.
size_t tau_region_tree_size_bytes(unsigned pages_log2);

// Makes the tree whose only start is page 0. Fails if and only if PAGES_LOG2 is out of range
// (TAU_SPACE_TOO_SMALL, TAU_SPACE_TOO_LARGE), MEMORY is NULL or no multiple of 4, or SIZE_BYTES is
// less than tau_region_tree_size_bytes (TAU_BAD_ARGUMENT). Cost: one step a word.
enum tau_status tau_region_tree_init(struct tau_region_tree *tree, void *memory, size_t size_bytes,
                                     unsigned pages_log2);

// The start of the region that PAGE (inside the tree) lies in. One step per level, one level for
// each five bits of a page number: O(log N), four levels at 2^20 pages. On RV32IMC -O2 at most 75
// instructions, 47 with Zbb; 8 memory accesses and 4 in the table that replaces Zbb.
struct tau_page tau_region_tree_find(const struct tau_region_tree *tree, struct tau_page page);

// Whether a start lies behind PAGE; *START is the first one, else UINT32_MAX. At most 89
// instructions, 58 with Zbb; 9 memory accesses and 4 in the table.
bool tau_region_tree_next(const struct tau_region_tree *tree, struct tau_page page,
                          struct tau_page *start);

// Whether PAGE is a start. At most 9 instructions, 9 with Zbb; 2 memory accesses.
bool tau_region_tree_is_start(const struct tau_region_tree *tree, struct tau_page page);

// Makes PAGE, which is none, a start. At most 30 instructions, 30 with Zbb; 9 memory accesses.
void tau_region_tree_split(struct tau_region_tree *tree, struct tau_page page);

// Joins the region that starts at PAGE, a start but not page 0, to the one before it. At most 32
// instructions, 32 with Zbb; 9 memory accesses.
void tau_region_tree_union(struct tau_region_tree *tree, struct tau_page page);

// A bounded self test: the top levels agree. The full walk is
// core/tests/checks/check_region_tree.c.
bool tau_region_tree_invariants_hold(const struct tau_region_tree *tree);

#ifdef __cplusplus
}
#endif

#endif
