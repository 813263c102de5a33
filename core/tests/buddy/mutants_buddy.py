"""Small wrong changes of the buddy allocator: (what goes wrong, old text, new text)."""

from __future__ import annotations

from core.tests.mutants.mutate import Mutant

ROWS = [
    ("wrong lowest", "0x12131210u", "0x12131230u"),
    ("lowest counts single bits", "0x12131210u >> 2 * nibble", "0x12131210u >> nibble"),
    ("push forgets the back link", "    links[next].at[BUDDY_PREVIOUS] = (uint16_t)group;\n", ""),
    ("push forgets the head", "    links[head].at[BUDDY_NEXT] = (uint16_t)group;\n", ""),
    ("remove forgets the back link", "    links[next].at[BUDDY_PREVIOUS] = previous;\n", ""),
    ("remove forgets the next", "    links[previous].at[BUDDY_NEXT] = next;\n", ""),
    ("one byte too few accepted", "size_bytes < TAU", "size_bytes + 1 < TAU"),
    (
        "odd memory accepted",
        " ||\n        !memory_holds(memory, TAU_BUDDY_SIZE_BYTES(frames_count))",
        "",
    ),
    (
        "too many frames accepted",
        "frames_count == 0 || frames_count > TAU_BUDDY_FRAMES_MAX ||\n",
        "frames_count == 0 || frames_count == 9 ||\n",
    ),
    ("no frames accepted", "frames_count == 0 || frames_count >", "frames_count >"),
    ("lists not empty", "[order].both = order * BUDDY_BOTH;", "[order].both = 0;"),
    ("memory left as it was", "buddy->members[group] = 0;", "buddy->members[group] |= 0;"),
    ("range beyond the table", "count > buddy->frames_count - first.number", "count == 12345"),
    ("frames handed in twice", "if (first.number < buddy->frames_end) {", "if (0) {"),
    (
        "empty range accepted",
        "    if (count == 0) {\n        return",
        "    if (0) {\n        return",
    ),
    ("block not aligned", "frame % TAU_BUDDY_BLOCK_FRAMES(order) != 0 ||", "0 * frame != 0 ||"),
    (
        "block beyond its range",
        "TAU_BUDDY_BLOCK_FRAMES(order) > end - frame)",
        "TAU_BUDDY_BLOCK_FRAMES(order) > end)",
    ),
    (
        "search starts above",
        "struct tau_buddy_order *at = wanted;",
        "struct tau_buddy_order *at = wanted + (order == 0);",
    ),
    ("larger blocks not split", "        at++;\n", "        return TAU_NO_FRAME;\n"),
    ("block still free", "(members[group] ^ BUDDY_FREE << member)", "(members[group])"),
    ("source not counted", "    at->free_count--;\n", ""),
    (
        "empty group stays listed",
        "if (TAU_ON_LONGEST_PATH((members[group] & BUDDY_ALL_FREE) == 0)) {",
        "if (0) {",
    ),
    ("wrong member", "* TAU_BUDDY_ARITY + member;", "* TAU_BUDDY_ARITY + 3 - member;"),
    ("rest lost", "members[group] = BUDDY_ALL_FREE - BUDDY_FREE;", "members[group] = 8;"),
    (
        "rest miscounted",
        "at->free_count = TAU_BUDDY_ARITY - 1;",
        "at->free_count = TAU_BUDDY_ARITY;",
    ),
    (
        "rest not linked",
        "        links[group] = *head;  // as the list is empty, this leads to the head "
        "both ways\n",
        "",
    ),
    ("rest not listed", "        head->both = group * BUDDY_BOTH;\n", ""),
    ("split taken as a whole", "        member = 0;\n", ""),
    ("not entered as taken", "(members[group] | BUDDY_TAKEN << member)", "(members[group])"),
    ("mix ignores larger blocks", "left = left * TAU_BUDDY_ARITY +", "left = 0 * left +"),
    ("mix counts larger blocks once", "left = left * TAU_BUDDY_ARITY +", "left = left +"),
    ("mix takes twice from one block", "        left -= counts[order];\n", ""),
    ("mix never refused", "if (counts[order] > left) {", "if (0) {"),
    (
        "why: free is taken",
        "found == BUDDY_FREE ? TAU_FRAME_FREE : TAU_FRAME_ORDER",
        "TAU_FRAME_ORDER",
    ),
    (
        "why: never seen",
        "        block /= TAU_BUDDY_ARITY;\n    }\n    return TAU_FRAME_OUTSIDE;",
        "    }\n    return TAU_FRAME_OUTSIDE;",
    ),
    ("frame beyond the table", "if (frame.number >= buddy->frames_count) {", "if (0) {"),
    (
        "order beyond all",
        "struct tau_frame frame, unsigned order) {\n"
        "    TAU_INVARIANT(tau_buddy_invariants_hold(buddy));\n"
        "    if (order >= TAU_BUDDY_ORDERS) {",
        "struct tau_frame frame, unsigned order) {\n    if (0) {",
    ),
    ("start not looked at", "block << 2 * order != frame.number || ", ""),
    ("not taken, given", "|| (after & BUDDY_TAKEN * bit) != 0) {", ") {"),
    ("never merged", "(after & BUDDY_ALL_FREE) != BUDDY_ALL_FREE) {", "1) {"),
    ("merged beyond the largest", "if (order == BUDDY_TOP || ", "if ("),
    (
        "merged group stays free",
        "        members[group] = 0;\n        buddy->orders",
        "        buddy->orders",
    ),
    ("merge miscounted", ".free_count -= TAU_BUDDY_ARITY - 1;", ".free_count -= TAU_BUDDY_ARITY;"),
    (
        "merged group stays listed",
        "        buddy_list_remove(links, group);\n        order++;",
        "        order++;",
    ),
    ("siblings above forgotten", "after = members[group] | bit;", "after = bit;"),
    ("given not counted", "    buddy->orders[order].free_count++;\n", ""),
    ("given not listed", "if (TAU_ON_LONGEST_PATH((after & BUDDY_ALL_FREE) == bit)) {", "if (0) {"),
    ("listed each time", "if (TAU_ON_LONGEST_PATH((after & BUDDY_ALL_FREE) == bit)) {", "if (1) {"),
    ("frames counted as blocks", "free_count * TAU_BUDDY_BLOCK_FRAMES(order);", "free_count;"),
    (
        "smallest for largest",
        "for (unsigned at = TAU_BUDDY_ORDERS; at-- > 0;) {",
        "for (unsigned at = 0; at < TAU_BUDDY_ORDERS; at++) {",
    ),
    (
        "no order has a count",
        "order < TAU_BUDDY_ORDERS ? buddy->orders[order].free_count : 0",
        "buddy->orders[order % 8].free_count",
    ),
    ("self test blind for links", "buddy->links[group].at[BUDDY_PREVIOUS] != order ||", ""),
    (
        "self test blind for counts",
        "(group == order) != (buddy->orders[order].free_count == 0)",
        "group > 65535",
    ),
    (
        "self test blind for groups below",
        "group - first >= TAU_BUDDY_GROUPS(buddy->frames_count, order) ||",
        "group >= first + TAU_BUDDY_GROUPS(buddy->frames_count, order) ||",
    ),
    (
        "self test blind for groups above",
        "group - first >= TAU_BUDDY_GROUPS(buddy->frames_count, order)",
        "group < first",
    ),
    (
        "self test blind for empty groups",
        "(buddy->members[group] & BUDDY_ALL_FREE) == 0)",
        "group > 65535)",
    ),
]
MUTANTS = [Mutant(name, "buddy.c", old, new) for name, old, new in ROWS]
