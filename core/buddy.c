// The buddy allocator. Loops over orders are laid out, so that the code itself bounds them.
#include "core/buddy.h"

#include "core/private/check.h"
#include "core/private/inline.h"
#include "core/private/memory.h"

#define BUDDY_TOP (TAU_BUDDY_ORDERS - 1u)
#define BUDDY_FREE 1u        // of a group's lowest member
#define BUDDY_TAKEN 16u      // the same, taken
#define BUDDY_ALL_FREE 15u   // the four members of a group
#define BUDDY_BOTH 0x10001u  // a link whose two halves are the number that it is multiplied by

enum { BUDDY_NEXT, BUDDY_PREVIOUS };

_Static_assert(TAU_BUDDY_ARITY == 4, "a nibble holds a group");
_Static_assert(sizeof(union tau_buddy_link) == 4, "a link is two numbers of 16 bits");
_Static_assert(TAU_BUDDY_SIZE_BYTES(TAU_BUDDY_FRAMES_MAX) / 5 < UINT16_MAX,
               "a group's number has 16 bits");

// The lowest bit of NIBBLE, which is not 0: a table of two bits per nibble, in one word.
TAU_SHARED unsigned buddy_lowest(unsigned nibble) {
    return 0x12131210u >> 2 * nibble & 3u;
}

// The group of ORDER that BLOCK, a number in this order, is a member of.
TAU_SHARED uint32_t buddy_group_of(const struct tau_buddy_order *order, uint32_t block) {
    return order->groups_first + block / TAU_BUDDY_ARITY;
}

TAU_SHARED unsigned buddy_bit_of(uint32_t block) {
    return 1u << block % TAU_BUDDY_ARITY;
}

// Puts GROUP in front of the list of an order, whose head has the order's number.
TAU_SHARED void buddy_list_push(union tau_buddy_link *links, unsigned head, uint32_t group) {
    const uint16_t next = links[head].at[BUDDY_NEXT];
    TAU_ASSERT(links[next].at[BUDDY_PREVIOUS] == head);
    links[group].at[BUDDY_NEXT] = next;
    links[group].at[BUDDY_PREVIOUS] = (uint16_t)head;
    links[next].at[BUDDY_PREVIOUS] = (uint16_t)group;
    links[head].at[BUDDY_NEXT] = (uint16_t)group;
}

TAU_SHARED void buddy_list_remove(union tau_buddy_link *links, uint32_t group) {
    const uint16_t next = links[group].at[BUDDY_NEXT];
    const uint16_t previous = links[group].at[BUDDY_PREVIOUS];
    TAU_ASSERT(links[next].at[BUDDY_PREVIOUS] == group);
    TAU_ASSERT(links[previous].at[BUDDY_NEXT] == group);
    links[next].at[BUDDY_PREVIOUS] = previous;
    links[previous].at[BUDDY_NEXT] = next;
}

enum tau_status tau_buddy_init(struct tau_buddy *buddy, void *memory, size_t size_bytes,
                               uint32_t frames_count) {
    if (frames_count == 0 || frames_count > TAU_BUDDY_FRAMES_MAX ||
        size_bytes < TAU_BUDDY_SIZE_BYTES(frames_count) ||
        !memory_holds(memory, TAU_BUDDY_SIZE_BYTES(frames_count))) {
        return TAU_BAD_ARGUMENT;
    }
    *buddy = (struct tau_buddy){.links = memory, .frames_count = frames_count};
    uint32_t groups_end = TAU_BUDDY_ORDERS;  // the lists' heads have the numbers below
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        buddy->links[order].both = order * BUDDY_BOTH;
        buddy->orders[order].groups_first = groups_end;
        groups_end += TAU_BUDDY_GROUPS(frames_count, order);
    }
    buddy->members = (uint8_t *)(buddy->links + groups_end) - TAU_BUDDY_ORDERS;
    for (uint32_t group = TAU_BUDDY_ORDERS; group < groups_end; group++) {  // bound: the groups
        buddy->members[group] = 0;
    }
    TAU_ASSERT(&buddy->members[groups_end] ==
               (uint8_t *)memory + TAU_BUDDY_SIZE_BYTES(frames_count));
    TAU_ASSERT(tau_buddy_invariants_hold(buddy));
    return TAU_OK;
}

// The order of the largest block that starts at FRAME and ends at END or before it.
static unsigned buddy_order_of(uint32_t frame, uint32_t end) {
    unsigned order = BUDDY_TOP;
    while (frame % TAU_BUDDY_BLOCK_FRAMES(order) != 0 ||
           TAU_BUDDY_BLOCK_FRAMES(order) > end - frame) {  // bound: the orders
        TAU_ASSERT(order > 0);
        order--;
    }
    TAU_ASSERT(frame + TAU_BUDDY_BLOCK_FRAMES(order) <= end);
    return order;
}

enum tau_status tau_buddy_add(struct tau_buddy *buddy, struct tau_frame first, uint32_t count) {
    TAU_INVARIANT(tau_buddy_invariants_hold(buddy));
    if (count == 0) {
        return TAU_BAD_ARGUMENT;
    }
    if (first.number >= buddy->frames_count || count > buddy->frames_count - first.number) {
        return TAU_FRAME_OUTSIDE;
    }
    if (first.number < buddy->frames_end) {
        return TAU_FRAME_TWICE;
    }
    struct tau_frame frame = first;
    buddy->frames_end = first.number + count;
    while (frame.number < buddy->frames_end) {  // bound: the blocks of the range
        const unsigned order = buddy_order_of(frame.number, buddy->frames_end);
        const uint32_t block = frame.number >> 2 * order;
        buddy->members[buddy_group_of(&buddy->orders[order], block)] |=
            (uint8_t)(BUDDY_TAKEN * buddy_bit_of(block));
        const enum tau_status given = tau_buddy_give(buddy, frame, order);
        TAU_ASSERT(given == TAU_OK);
        (void)given;
        frame.number += TAU_BUDDY_BLOCK_FRAMES(order);
    }
    return TAU_OK;
}

enum tau_status tau_buddy_take(struct tau_buddy *buddy, unsigned order, struct tau_frame *frame) {
    TAU_INVARIANT(tau_buddy_invariants_hold(buddy));
    if (order >= TAU_BUDDY_ORDERS) {
        return TAU_BAD_ARGUMENT;
    }
    struct tau_buddy_order *const wanted = &buddy->orders[order];
    struct tau_buddy_order *at = wanted;
#pragma GCC unroll 8
    for (unsigned step = 0; step < TAU_BUDDY_ORDERS; step++) {
        if (at->free_count != 0) {
            break;
        }
        if (at == &buddy->orders[BUDDY_TOP]) {
            return TAU_NO_FRAME;
        }
        at++;
    }
    union tau_buddy_link *const links = buddy->links;
    uint8_t *const members = buddy->members;
    union tau_buddy_link *head = &links[at - buddy->orders];
    uint32_t group = head->at[BUDDY_NEXT];
    TAU_ASSERT((members[group] & BUDDY_ALL_FREE) != 0);
    unsigned member = buddy_lowest(members[group] & BUDDY_ALL_FREE);
    members[group] = (uint8_t)(members[group] ^ BUDDY_FREE << member);
    at->free_count--;
    if (TAU_ON_LONGEST_PATH((members[group] & BUDDY_ALL_FREE) == 0)) {
        buddy_list_remove(links, group);
    }
    uint32_t block = (group - at->groups_first) * TAU_BUDDY_ARITY + member;
#pragma GCC unroll 8
    for (unsigned step = 0; step < BUDDY_TOP; step++) {
        if (at == wanted) {
            break;
        }
        at--;
        head--;
        group = at->groups_first + block;
        block *= TAU_BUDDY_ARITY;
        member = 0;
        TAU_ASSERT(at->free_count == 0 && members[group] == 0);
        members[group] = BUDDY_ALL_FREE - BUDDY_FREE;
        at->free_count = TAU_BUDDY_ARITY - 1;
        links[group] = *head;  // as the list is empty, this leads to the head both ways
        head->both = group * BUDDY_BOTH;
    }
    members[group] = (uint8_t)(members[group] | BUDDY_TAKEN << member);
    frame->number = block << 2 * order;
    TAU_ASSERT(frame->number + TAU_BUDDY_BLOCK_FRAMES(order) <= buddy->frames_end);
    return TAU_OK;
}

enum tau_status tau_buddy_take_mix(struct tau_buddy *buddy, const uint32_t counts[TAU_BUDDY_ORDERS],
                                   struct tau_frame *frames) {
    TAU_INVARIANT(tau_buddy_invariants_hold(buddy));
    uint32_t left = 0;  // blocks that the orders above leave, in blocks of this one
    for (unsigned order = TAU_BUDDY_ORDERS; order-- > 0;) {
        left = left * TAU_BUDDY_ARITY + buddy->orders[order].free_count;
        if (counts[order] > left) {
            return TAU_NO_FRAME;
        }
        left -= counts[order];
    }
    for (unsigned order = TAU_BUDDY_ORDERS; order-- > 0;) {
        for (uint32_t i = 0; i < counts[order]; i++) {  // bound: the blocks asked for
            const enum tau_status taken = tau_buddy_take(buddy, order, frames++);
            TAU_ASSERT(taken == TAU_OK);
            (void)taken;
        }
    }
    return TAU_OK;
}

// Why FRAME starts no taken block of the order that was said.
TAU_SHARED enum tau_status buddy_refusal(const struct tau_buddy *buddy, uint32_t frame) {
    uint32_t block = frame;
    TAU_ASSERT(frame < buddy->frames_count);
#pragma GCC unroll 8
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        const unsigned members = buddy->members[buddy_group_of(&buddy->orders[order], block)];
        const unsigned found = members >> block % TAU_BUDDY_ARITY & (BUDDY_FREE | BUDDY_TAKEN);
        if (found != 0) {
            return found == BUDDY_FREE ? TAU_FRAME_FREE : TAU_FRAME_ORDER;
        }
        block /= TAU_BUDDY_ARITY;
    }
    return TAU_FRAME_OUTSIDE;
}

enum tau_status tau_buddy_give(struct tau_buddy *buddy, struct tau_frame frame, unsigned order) {
    TAU_INVARIANT(tau_buddy_invariants_hold(buddy));
    if (order >= TAU_BUDDY_ORDERS) {
        return TAU_BAD_ARGUMENT;
    }
    if (frame.number >= buddy->frames_count) {
        return TAU_FRAME_OUTSIDE;
    }
    union tau_buddy_link *const links = buddy->links;
    uint8_t *const members = buddy->members;
    uint32_t block = frame.number >> 2 * order;
    uint32_t group = buddy_group_of(&buddy->orders[order], block);
    unsigned bit = buddy_bit_of(block);
    unsigned after = members[group] ^ BUDDY_TAKEN * bit;
    if (block << 2 * order != frame.number || (after & BUDDY_TAKEN * bit) != 0) {
        return buddy_refusal(buddy, frame.number);
    }
    TAU_ASSERT((after & bit) == 0);
    after |= bit;
#pragma GCC unroll 8
    for (unsigned step = 0; step < BUDDY_TOP; step++) {
        if (order == BUDDY_TOP || (after & BUDDY_ALL_FREE) != BUDDY_ALL_FREE) {
            break;
        }
        TAU_ASSERT(after == BUDDY_ALL_FREE);
        members[group] = 0;
        buddy->orders[order].free_count -= TAU_BUDDY_ARITY - 1;
        buddy_list_remove(links, group);
        order++;
        block /= TAU_BUDDY_ARITY;
        group = buddy_group_of(&buddy->orders[order], block);
        bit = buddy_bit_of(block);
        TAU_ASSERT((members[group] & (BUDDY_FREE | BUDDY_TAKEN) * bit) == 0);
        after = members[group] | bit;
    }
    members[group] = (uint8_t)after;
    buddy->orders[order].free_count++;
    if (TAU_ON_LONGEST_PATH((after & BUDDY_ALL_FREE) == bit)) {
        buddy_list_push(links, order, group);
    }
    return TAU_OK;
}

uint32_t tau_buddy_free_count(const struct tau_buddy *buddy, unsigned order) {
    return order < TAU_BUDDY_ORDERS ? buddy->orders[order].free_count : 0;
}

uint32_t tau_buddy_free_frames_count(const struct tau_buddy *buddy) {
    uint32_t count = 0;
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        count += buddy->orders[order].free_count * TAU_BUDDY_BLOCK_FRAMES(order);
    }
    return count;
}

bool tau_buddy_largest(const struct tau_buddy *buddy, unsigned *order) {
    TAU_INVARIANT(tau_buddy_invariants_hold(buddy));
    for (unsigned at = TAU_BUDDY_ORDERS; at-- > 0;) {
        if (buddy->orders[at].free_count != 0) {
            *order = at;
            return true;
        }
    }
    return false;
}

bool tau_buddy_invariants_hold(const struct tau_buddy *buddy) {
    if (buddy->links == NULL || buddy->frames_count > TAU_BUDDY_FRAMES_MAX ||
        buddy->frames_end > buddy->frames_count ||
        tau_buddy_free_frames_count(buddy) > buddy->frames_end) {
        return false;
    }
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        const uint32_t first = buddy->orders[order].groups_first;
        const uint32_t group = buddy->links[order].at[BUDDY_NEXT];
        if ((group == order) != (buddy->orders[order].free_count == 0)) {
            return false;
        }
        if (group != order && (group - first >= TAU_BUDDY_GROUPS(buddy->frames_count, order) ||
                               buddy->links[group].at[BUDDY_PREVIOUS] != order ||
                               (buddy->members[group] & BUDDY_ALL_FREE) == 0)) {
            return false;
        }
    }
    return true;
}
