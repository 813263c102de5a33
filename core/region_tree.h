// The virtual regions tree (VRT): finds the page at which the region of a given page starts.
//
// It is a set of region starts over the pages 0 … 2^k - 1. Page 0 is always a start. Source: the
// paper's section IV-A5 [P0-17 … P0-19]. Differences from the paper and measurements:
// docs/design/region_tree.md. Layout and bounds: docs/spec/region_tree.md.
//
// Only init and the self test loop. Costs are stated for 2^20 pages. They hold for any state, any
// page and every smaller tree. region_tree_inline.h has the inlined forms for other mechanisms of
// the core.
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

// Pages of an address space: at least 2^MIN, at most 2^MAX. A build may set any MAX up to 26. The
// tree has one level for every five bits of a page number.
#define TAU_SPACE_PAGES_LOG2_MIN 1u
#ifndef TAU_SPACE_PAGES_LOG2_MAX
#define TAU_SPACE_PAGES_LOG2_MAX 20u
#endif
#if TAU_SPACE_PAGES_LOG2_MAX > 26
#error "five bits of a word are left for the state of a region"
#endif
#define TAU_REGION_TREE_LEVELS ((TAU_SPACE_PAGES_LOG2_MAX + 4u) / 5u)

// A view of a tree. The caller provides the memory of its bits. Level 0 has one bit per page; level
// i + 1 has one bit per word of level i.
struct tau_region_tree {
    uint32_t *words;  // end of level 0, start of the levels above (region_tree_word.h)
    unsigned pages_log2;
};

// Bytes of a tree of 2^PAGES_LOG2 pages. 0 if PAGES_LOG2 is out of range.
size_t tau_region_tree_size_bytes(unsigned pages_log2);

// Makes the tree whose only start is page 0.
// Fails if and only if:
// - PAGES_LOG2 is out of range (TAU_SPACE_TOO_SMALL, TAU_SPACE_TOO_LARGE)
// - MEMORY is NULL or not a multiple of 4, or its end wraps around (TAU_BAD_ARGUMENT)
// - SIZE_BYTES is less than tau_region_tree_size_bytes (TAU_BAD_ARGUMENT)
// Cost: one step per word.
enum tau_status tau_region_tree_init(struct tau_region_tree *tree, void *memory, size_t size_bytes,
                                     unsigned pages_log2);

// Start of the region that contains PAGE, which is inside the tree. It takes one step per level,
// and one level covers five bits of a page number. That is O(log N): four levels at 2^20 pages.
// Cost: on RV32IMC at -O2 at most 75 instructions (47 with Zbb). 8 memory accesses, plus 4 in the
// table that replaces Zbb.
struct tau_page tau_region_tree_find(const struct tau_region_tree *tree, struct tau_page page);

// Whether a region starts after PAGE. *START is the first such start, or UINT32_MAX if there is
// none.
// Cost: at most 91 instructions (58 with Zbb). 9 memory accesses, plus 4 in the table.
bool tau_region_tree_next(const struct tau_region_tree *tree, struct tau_page page,
                          struct tau_page *start);

// Whether PAGE is a start.
// Cost: at most 9 instructions (9 with Zbb), 2 memory accesses.
bool tau_region_tree_is_start(const struct tau_region_tree *tree, struct tau_page page);

// Makes PAGE a start. It must not be one yet.
// Cost: at most 30 instructions (30 with Zbb), 9 memory accesses.
void tau_region_tree_split(struct tau_region_tree *tree, struct tau_page page);

// Joins the region that starts at PAGE to the region before it. PAGE is a start other than page 0.
// Cost: at most 32 instructions (32 with Zbb), 9 memory accesses.
void tau_region_tree_union(struct tau_region_tree *tree, struct tau_page page);

// Bounded self test: checks that the top levels agree. core/tests/checks/check_region_tree.c checks
// the whole tree.
bool tau_region_tree_invariants_hold(const struct tau_region_tree *tree);

#ifdef __cplusplus
}
#endif

#endif
