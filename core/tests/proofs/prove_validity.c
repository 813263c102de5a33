// Inductive proofs of Lemma 1, for CBMC: the pages validity array and the virtual regions cache
// give no wrong translation, although only sp was ever initialized [P0-22, P0-25, P0-26].
//
// The state is arbitrary: caches, helpers, stacks and data hold anything. Only the invariants in
// holds_at are assumed, for all pages. Each proof runs one shipped operation. It shows at an
// arbitrary page that the MMU's lookup answers correctly, and at all pages that the invariants are
// kept. prove_init shows that they hold at the start. So they hold after any history. The region
// tree is the shipped one, of one word. It has its own proofs.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_ASSERT_LEVEL 1
#define TAU_ASSERT_FAILED(text) __CPROVER_assert(0, "assert of the core: " text)
#include "core/private/pages/region_tree_inline.h"
#include "core/private/pages/validity_inline.h"
#include "core/private/pages/vspace_inline.h"
#include "core/tests/proofs/any.h"

enum { PAGES = 1 << PROOF_PAGES_LOG2 };

static struct tau_validity_region regions[PAGES];
static struct tau_validity_stack stacks[PAGES];
static uint32_t data[PAGES], links[PAGES], tree_words[1];
static struct tau_vspace space;

static uint32_t find(uint32_t page) {
    return region_tree_find(&space.tree, (struct tau_page){page}).number;
}

static bool is_start(uint32_t page) {
    return region_tree_is_start(&space.tree, (struct tau_page){page});
}

static uint32_t sp_of(uint32_t start) {
    return validity_sp(regions[start].top);
}

static bool is_empty(uint32_t start) {
    return sp_of(start) < start || start == 0;
}

static bool is_free(uint32_t start) {
    return (regions[start].top & VALIDITY_STATE) == VALIDITY_FREE;
}

// The invariants of docs/spec/vspace.md, "The pages validity array", that Lemma 1 needs, at page or
// place I.
static bool holds_at(uint32_t i) {
    const uint32_t start = find(i), sp = sp_of(i);
    if (i == 0) {
        return is_start(0) && is_free(0);
    }
    // What starts no region, and a free region, has an empty stack: the lemma's precondition on sp.
    if ((!is_start(i) || is_free(i)) && sp >= i) {
        return false;
    }
    // Any other's ends at least just before the region, and inside it.
    if (is_start(i) && !is_free(i) && (sp < i - 1 || sp >= PAGES || find(sp) > i)) {
        return false;
    }
    if (start == 0 || i > sp_of(start)) {
        return true;
    }
    // A place in use holds a page of its region, whose helper and cache lead back.
    const uint32_t page = stacks[i].page;
    return page < PAGES && find(page) == start && stacks[page].helper == i &&
           regions[page].cache == start;
}

static bool holds(void) {
    bool result = true;
    for (uint32_t i = 0; i < PAGES; i++) {
        result = result && holds_at(i);
    }
    return result;
}

// Any state, whose words `top` only are as the operations left them.
static void any_state(void) {
    __CPROVER_havoc_object(regions);
    __CPROVER_havoc_object(stacks);
    __CPROVER_havoc_object(data);
    __CPROVER_havoc_object(links);
    __CPROVER_havoc_object(tree_words);
    space.validity = (struct tau_validity){regions, stacks, data, PAGES};
    space.tree = (struct tau_region_tree){tree_words + 1, PROOF_PAGES_LOG2};
    __CPROVER_assume(region_tree_agrees(&space.tree, 0, -1) && is_start(0));
}

static uint32_t any_page(void) {
    const uint32_t page = nondet_number();
    __CPROVER_assume(page < PAGES);
    return page;
}

struct answer {
    bool is_mapped;
    uint32_t entry;
};

// The MMU's answer; the entry counts only if the page is mapped.
static struct answer look(uint32_t page) {
    struct answer answer = {false, 0};
    uint32_t entry;
    if (validity_lookup(&space.validity, page, &entry)) {
        answer = (struct answer){true, entry};
    }
    return answer;
}

static bool same(struct answer one, struct answer other) {
    return one.is_mapped == other.is_mapped && one.entry == other.entry;
}

// The cache may be stale, but says what the region tree and the stack say [P0-25, cases 1
// ... 2.2.2].
void prove_lookup(void) {
    any_state();
    __CPROVER_assume(holds());
    const uint32_t page = any_page();
    const uint32_t start = find(page);
    const bool is_mapped = start != 0 && validity_is_mapped(&space.validity, start, page);
    const struct answer answer = look(page);
    __CPROVER_assert(answer.is_mapped == is_mapped, "the cache's answer is the tree's");
    __CPROVER_assert(!is_mapped || answer.entry == data[page], "the entry is the page's");
    __CPROVER_assert(!is_mapped || !is_free(start), "no page of a free region is mapped");
    reached();
}

// Footnote 5: all `top` words are 0, there is one region, nothing else was written.
void prove_init(void) {
    any_state();
    for (uint32_t i = 0; i < PAGES; i++) {
        regions[i].top = 0;
    }
    tree_words[0] = region_tree_bit(-1);
    __CPROVER_assert(holds_at(any_page()), "the invariants hold at the start");
    __CPROVER_assert(!look(any_page()).is_mapped, "nothing is mapped at the start");
    reached();
}

// A page fault: the page is pushed onto the stack of its region.
void prove_map(void) {
    any_state();
    __CPROVER_assume(holds());
    const uint32_t page = any_page(), other = any_page(), frame = nondet_number();
    const uint32_t start = find(page);
    __CPROVER_assume(!is_free(start) && frame < PAGES);
    __CPROVER_assume(!validity_is_mapped(&space.validity, start, page));
    for (uint32_t i = 0; i < PAGES; i++) {  // frames are numbers below PAGES here
        __CPROVER_assume((data[i] & TAU_NUMBER_MASK) < PAGES);
    }
    const struct answer before = look(other);
    const uint32_t rights = regions[start].top & TAU_RIGHTS;
    validity_push(&space.validity, links, start, page, frame);
    const struct answer pushed = {true, frame | rights};
    __CPROVER_assert(same(look(other), other == page ? pushed : before), "one page is mapped");
    __CPROVER_assert(holds_at(any_page()), "the invariants are kept");
    reached();
}

// One store forgets all pages of a region.
void prove_unmap(void) {
    any_state();
    __CPROVER_assume(holds());
    const uint32_t start = any_page(), other = any_page();
    __CPROVER_assume(is_start(start) && start != 0);
    const struct answer before = look(other);
    vspace_region_empty(&space, start, VALIDITY_FREE);
    const struct answer nothing = {false, 0};
    __CPROVER_assert(same(look(other), find(other) == start ? nothing : before),
                     "the region's pages are unmapped, no other");
    __CPROVER_assert(holds_at(any_page()), "the invariants are kept");
    reached();
}

// A region without mapped pages is cut; the new one may be of any state.
void prove_split(void) {
    any_state();
    __CPROVER_assume(holds());
    const uint32_t page = any_page(), other = any_page();
    const uint32_t state = nondet_number() & (VALIDITY_STATE | TAU_RIGHTS);
    __CPROVER_assume(!is_start(page));
#ifndef PROOF_SPLITS_MAPPED
    __CPROVER_assume(is_empty(find(page)));
#endif
    const struct answer before = look(other);
    vspace_region_empty(&space, page, state);
    region_tree_split(&space.tree, (struct tau_page){page});
    __CPROVER_assert(same(look(other), before), "nothing is mapped or unmapped");
    __CPROVER_assert(holds_at(any_page()), "the invariants are kept");
    reached();
}

// Two free regions become one.
void prove_union(void) {
    any_state();
    __CPROVER_assume(holds());
    const uint32_t start = any_page(), other = any_page();
    __CPROVER_assume(start != 0 && is_start(start));
#ifndef PROOF_UNITES_MAPPED
    __CPROVER_assume(is_free(start) && is_free(find(start - 1)));
#endif
    const struct answer before = look(other);
    region_tree_union(&space.tree, (struct tau_page){start});
    __CPROVER_assert(same(look(other), before), "nothing is mapped or unmapped");
    __CPROVER_assert(holds_at(any_page()), "the invariants are kept");
    reached();
}
