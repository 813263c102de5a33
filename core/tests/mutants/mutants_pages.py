"""Small wrong changes of frames, validity, spaces and heaps on pages: (what goes wrong, file
of the core, old text, new text). mutate.py applies them.
"""

from __future__ import annotations

FRAMES = [
    ("frame handed in twice", "frames.c", "!= FRAMES_ABSENT) {\n", "== 12345678) {\n"),
    (
        "dirty frames handed to a reserved pool",
        "frames.c",
        "if (count == 0 || frames->released != &frames->dirty) {",
        "if (count == 0) {",
    ),
    ("frames beyond the table", "frames.c", "count > frames->frames_count -", "count < 0 * "),
    ("highest frame first", "frames.c", "first.number + i - 1;", "first.number + count - i;"),
    (
        "frame not zeroed",
        "frames.c",
        "if (frames->memory != NULL) {",
        "if (frames->memory != NULL && frame == UINT32_MAX) {",
    ),
    ("last byte not zeroed", "frames.c", "0, TAU_PAGE_BYTES);", "0, TAU_PAGE_BYTES - 1);"),
    ("cleaned frame still dirty", "frames.c", "    frames->dirty.count--;\n", ""),
    (
        "reserved without being there",
        "frames.c",
        "if (count > tau_frames_free_count(frames)) {",
        "if (count > frames->frames_count) {",
    ),
    (
        "reserved frames go to everybody",
        "frames.c",
        "reserved->released = &reserved->ready;",
        "reserved->released = &reserved->dirty;",
    ),
    (
        "given back as clean",
        "frames.c",
        "        frames_splice(frames, &frames->dirty, frame, frame, 1);\n"
        "    }\n"
        "    TAU_ASSERT(reserved->ready.count == 0);",
        "        frames_splice(frames, &frames->ready, frame, frame, 1);\n"
        "    }\n"
        "    TAU_ASSERT(reserved->ready.count == 0);",
    ),
    ("chain counted as one", "frames_inline.h", "list->count += count;", "list->count += 1;"),
    ("list cut behind a chain", "frames_inline.h", "frames->links[oldest] = list->head;", ""),
    ("chain hung on backwards", "frames_inline.h", "list->head = newest;", "list->head = oldest;"),
    ("frame taken twice", "frames_inline.h", "frames->ready.head = frames->links[frame];", ""),
]

VALIDITY = [
    (
        "cache believed",
        "validity_inline.h",
        "if (start == 0 || start > page) {",
        "if (start == 0) {",
    ),
    (
        "page 0 believed",
        "validity_inline.h",
        "if (start == 0 || start > page) {",
        "if (start > page) {",
    ),
    (
        "stack's bottom not asked",
        "validity_inline.h",
        "return start <= place && place <= sp && validity->stacks[place].page == page;",
        "return place <= sp && validity->stacks[place].page == page;",
    ),
    (
        "stack's top not asked",
        "validity_inline.h",
        "return start <= place && place <= sp && validity->stacks[place].page == page;",
        "return start <= place && place < validity->pages_count && sp < validity->pages_count "
        "&&\n"
        "           validity->stacks[place].page == page;",
    ),
    (
        "stack's page not asked",
        "validity_inline.h",
        "place <= sp && validity->stacks[place].page == page;",
        "place <= sp;",
    ),
    (
        "fault asks no bottom",
        "validity_inline.h",
        "return start <= place && place <= validity_sp(",
        "return place <= validity_sp(",
    ),
    (
        "fault asks no page",
        "validity_inline.h",
        ".top) &&\n           validity->stacks[place].page == page;",
        ".top);",
    ),
    ("cache not updated", "validity_inline.h", "validity->regions[page].cache = start;", ""),
    ("helper not written", "validity_inline.h", "validity->stacks[page].helper = place;", ""),
    ("stack not written", "validity_inline.h", "validity->stacks[place].page = page;", ""),
    ("stack does not grow", "validity_inline.h", ".top = top + 1;", ".top = top;"),
    ("frames not linked", "validity_inline.h", "if (place != start) {", "if (place == 0) {"),
    ("rights lost", "validity_inline.h", "frame | (top & TAU_RIGHTS);", "frame | TAU_RIGHTS;"),
    ("sp not initialized", "validity.h", ".top = 0;", ".top &= 1;"),
]

SPACE = [
    (
        "region at page 0",
        "vspace.c",
        "    if (start.number == 0) {\n        return",
        "    if (0) {\n        return",
    ),
    (
        "region too large",
        "vspace.c",
        "if (pages > space->validity.pages_count - start.number) {",
        "if (pages > space->validity.pages_count) {",
    ),
    (
        "region over its neighbor",
        "vspace.c",
        "vspace_end_after(space, start) - start.number < pages) {",
        "pages == UINT32_MAX) {",
    ),
    (
        "region over itself",
        "vspace.c",
        "if (!vspace_is_free(space, tau_region_tree_find(&space->tree, start)) ||",
        "if (pages == UINT32_MAX ||",
    ),
    ("rest not split off", "vspace.c", "        tau_region_tree_split(&space->tree, end);\n", ""),
    ("rights dropped", "vspace.c", "VALIDITY_OPEN | rights;", "VALIDITY_OPEN | TAU_RIGHTS;"),
    ("committed not counted", "vspace.c", "space->committed_pages += commit_pages;", ""),
    (
        "one page more admitted",
        "vspace.c",
        "return commit_pages > space->commit_max_pages",
        "return commit_pages > 1 + space->commit_max_pages",
    ),
    (
        "access granted",
        "vspace.c",
        "if ((access & ~(top & TAU_RIGHTS)) != 0) {",
        "if ((access & 1) != 0) {",
    ),
    (
        "page mapped twice",
        "vspace.c",
        "    if (validity_is_mapped(&space->validity, start.number, page.number)) {",
        "    if (0) {",
    ),
    ("free page mapped", "vspace.c", "if (state == VALIDITY_FREE || (", "if ((0) || ("),
    (
        "late access to a heap granted",
        "vspace.c",
        "(state == VALIDITY_HEAP_HEAD && page.number != start.number)",
        "0",
    ),
    (
        "page number goes round",
        "vspace.c",
        "    if (page.number - 1 >= space->validity.pages_count - 1) {\n        return page.number",
        "    if (page.number == 0) {\n        return page.number",
    ),
    (
        "heap's region unmapped",
        "vspace.c",
        "if ((top & VALIDITY_STATE) != VALIDITY_OPEN) {",
        "if ((top & VALIDITY_STATE) == VALIDITY_FREE) {",
    ),
    (
        "frames lost",
        "vspace.c",
        "        vspace_region_release(space, start.number, sp);\n"
        "    }\n"
        "    vspace_region_empty(space, start.number, VALIDITY_FREE);\n"
        "    if (has_next",
        "        space->mapped_pages -= sp - start.number + 1;\n"
        "    }\n"
        "    vspace_region_empty(space, start.number, VALIDITY_FREE);\n"
        "    if (has_next",
    ),
    (
        "stack survives its region",
        "vspace.c",
        "    vspace_region_empty(space, start.number, VALIDITY_FREE);\n    if (has_next",
        "    space->validity.regions[start.number].top &= TAU_NUMBER_MASK;\n    if (has_next",
    ),
    (
        "next one not united",
        "vspace.c",
        "if (has_next && vspace_is_free(space, next)) {",
        "if (has_next && next.number == 0) {",
    ),
    (
        "mapped neighbor united",
        "vspace.c",
        "if (has_next && vspace_is_free(space, next)) {",
        "if (has_next) {",
    ),
    (
        "one before not united",
        "vspace.c",
        "(struct tau_page){start.number - 1}))) {",
        "(struct tau_page){start.number}))) {",
    ),
    (
        "translation ignores rights",
        "vspace.c",
        "return (access & ~entry) == 0 ?",
        "return access != 1 ?",
    ),
    (
        "unmapped without a word to the MMU",
        "vspace.c",
        "    vspace_region_empty(space, start.number, VALIDITY_FREE);\n    if (has_next",
        "    space->validity.regions[start.number].top = start.number - 1;\n    if (has_next",
    ),
    (
        "closed without a word to the MMU",
        "vspace.c",
        "        vspace_region_empty(space, start.number, VALIDITY_FREE);\n        tau_region",
        "        space->validity.regions[start.number].top = start.number - 1;\n        tau_region",
    ),
    ("oldest frame lost", "vspace_inline.h", "sp - first + 1;", "sp - first;"),
]

HEAP = [
    (
        "edge of the wrong page",
        "paged_edges.h",
        "(uintptr_t)payload - TAU_ALIGNMENT - origin",
        "(uintptr_t)payload - origin",
    ),
    (
        "block starts a page",
        "paged_edges.h",
        "        size += TAU_ALIGNMENT;\n    }\n    struct paged_cut",
        "    }\n    struct paged_cut",
    ),
    ("whole block keeps its edge", "paged_edges.h", "        cut.split = cut.end;\n", ""),
    (
        "page-aligned object lost",
        "paged_edges.h",
        "return paged_starts_page(pointer) ? tlsf_before(pointer, PAGED_START_GAP) : pointer;",
        "return pointer;",
    ),
    (
        "gap of one unit",
        "paged_edges.h",
        "(intptr_t)gap >= (intptr_t)TLSF_BLOCK_MIN_BYTES",
        "(intptr_t)gap > 0",
    ),
    (
        "no room for steps",
        "paged_edges.h",
        "(4 * (tau_word)(alignment))",
        "(1 * (tau_word)(alignment))",
    ),
    (
        "edge has no region",
        "page_heap.c",
        "    region_tree_split(&space->tree, (struct tau_page){edge});\n",
        "",
    ),
    ("edge not counted", "page_heap.c", "    space->mapped_pages++;\n", ""),
    ("first page given back", "page_heap.c", "is_kept ? edge + 1 : edge;", "edge;"),
    ("inner pages kept", "page_heap.c", "LONGEST_PATH(sp >= first)", "LONGEST_PATH(sp < first)"),
    (
        "freed region stays open",
        "page_heap.c",
        "vspace_region_cut(space, edge, edge | VALIDITY_HEAP_HEAD",
        "vspace_region_cut(space, edge, edge | VALIDITY_HEAP_OPEN",
    ),
    (
        "dissolved without a word to the MMU",
        "page_heap.c",
        "        vspace_region_empty(space, edge, VALIDITY_FREE);\n",
        "        space->validity.regions[edge].top = edge - 1;\n",
    ),
    (
        "swallowed without a word to the MMU",
        "page_heap.c",
        "        vspace_region_empty(space, end, VALIDITY_FREE);\n",
        "        space->validity.regions[end].top = end - 1;\n",
    ),
    (
        "object's pages stay closed",
        "page_heap.c",
        "        page_heap_edge_extend(space, cut.start);\n        return PAGED_CUT_MADE;\n",
        "        return PAGED_CUT_MADE;\n",
    ),
    (
        "edge behind counted twice",
        "page_heap.c",
        "committed_pages -= 1;  // the",
        "committed_pages -= 0;  // the",
    ),
    (
        "commitment passed",
        "page_heap.c",
        "if (committed_pages > heap->commit_max_pages) {\n"
        "            return PAGED_CUT_REFUSED;\n        }\n"
        "        if (!frames",
        "if (!frames",
    ),
    (
        "frame behind an aligned object alone asked for",
        "page_heap.c",
        "start_edges + split_edges <= tau_frames_free_count(",
        "split_edges <= tau_frames_free_count(",
    ),
    (
        "frame in front of an aligned object alone asked for",
        "page_heap.c",
        "start_edges + split_edges <= tau_frames_free_count(",
        "start_edges <= tau_frames_free_count(",
    ),
    (
        "last frame kept from aligned objects",
        "page_heap.c",
        "start_edges + split_edges <= tau_frames_free_count(",
        "start_edges + split_edges < tau_frames_free_count(",
    ),
    (
        "one frame asked for where two are needed",
        "page_heap.c",
        "start_edges + split_edges <= tau_frames_free_count(",
        "(start_edges | split_edges) <= tau_frames_free_count(",
    ),
    (
        "two frames asked for where none is needed",
        "page_heap.c",
        "start_edges + split_edges <= tau_frames_free_count(",
        "2 <= tau_frames_free_count(",
    ),
    (
        "dirty frames kept from aligned objects",
        "page_heap.c",
        "start_edges + split_edges <= tau_frames_free_count(heap->space->frames)",
        "start_edges + split_edges <= heap->space->frames->ready.count",
    ),
    (
        "last page of commitment kept from aligned objects",
        "page_heap.c",
        "between <= heap->commit_max_pages - heap->committed_pages &&",
        "between < heap->commit_max_pages - heap->committed_pages &&",
    ),
    (
        "header in front of an aligned object not committed",
        "page_heap.c",
        "return start_edges + split_edges + between <=",
        "return split_edges + between <=",
    ),
    (
        "pages of an aligned object not committed",
        "page_heap.c",
        "split_edges + between <= heap->commit_max_pages",
        "split_edges + 0 * between <= heap->commit_max_pages",
    ),
    (
        "edge behind counted for an aligned object",
        "page_heap.c",
        "start_edges = cut.start != low && cut.start != cut.end",
        "start_edges = cut.start != low",
    ),
    (
        "frame in front not zeroed for an aligned object",
        "page_heap.c",
        "page_heap_cut_pages(heap, cut, true)",
        "page_heap_cut_pages(heap, cut, false)",
    ),
    (
        "last page of commitment kept from growth",
        "page_heap.c",
        "if (pages > heap->commit_max_pages - heap->committed_pages ||",
        "if (pages >= heap->commit_max_pages - heap->committed_pages ||",
    ),
    (
        "last page of commitment kept from a whole block",
        "page_heap.c",
        "    if (committed_pages > heap->commit_max_pages) {\n        return",
        "    if (committed_pages >= heap->commit_max_pages) {\n        return",
    ),
    (
        "own edge dissolved",
        "page_heap.c",
        "    if (start == freed.low) {\n        if (end != start) {",
        "    if (start == freed.low) {\n        if (end != start && pages > 1) {",
    ),
    (
        "edge behind never dissolved",
        "page_heap.c",
        "(end != start && end != freed.high)",
        "(end == 0)",
    ),
    (
        "shared edge dissolved",
        "page_heap.c",
        "(end != start && end != freed.high)",
        "(end != start)",
    ),
    (
        "pages counted after free",
        "page_heap.c",
        "    heap->committed_pages -= pages;\n}",
        "    heap->committed_pages -= pages != 1 ? pages : 0;\n}",
    ),
    (
        "header read after its page went",
        "page_heap.c",
        "    page_heap_give_back(heap, freed);\n",
        "    page_heap_give_back(heap, freed);\n"
        "    (void)*(volatile tau_word *)(tlsf_after(block, used.size) - 1);\n",
    ),
    (
        "headers looked up anywhere",
        "paged_object.h",
        "    return paged_can_look_at(heap, has_header, block) && tlsf_is_used",
        "    return has_header(heap, block) && tlsf_is_used",
    ),
    (
        "refused block lost",
        "paged_calls.h",
        "    tlsf_insert(blocks, payload, payload[-1]);\n    TAU_PORT_UNLOCK",
        "    TAU_PORT_UNLOCK",
    ),
    (
        "swallowed edge forgotten",
        "page_heap.c",
        "        validity_push(&space->validity, space->frames->links, start, end, kept);\n",
        "        (void)kept;\n",
    ),
    (
        "grown object stays closed",
        "page_heap.c",
        "    space->validity.regions[start].top |= VALIDITY_OPEN;\n"
        "    TAU_ASSERT(heap->committed_pages <=",
        "    TAU_ASSERT(heap->committed_pages <=",
    ),
    (
        "frame missing though one could be zeroed",
        "page_heap.c",
        "if (!tau_frames_clean_one(heap->space->frames)) {",
        "if (heap != NULL) {",
    ),
    ("growth not committed", "page_heap.c", "    heap->committed_pages += pages;\n", ""),
    (
        "shrinks over a page border",
        "page_heap.c",
        "return paged_edge_of(origin, tlsf_after(block, size)) == end;",
        "return true;",
    ),
    (
        "break never moves up",
        "break_heap.c",
        "    if ((uintptr_t)cut.behind == heap->limit) {",
        "    if ((uintptr_t)cut.behind == 0) {",
    ),
    (
        "break never moves down",
        "break_heap.c",
        "new_break < heap->break_page) {",
        "new_break == 0) {",
    ),
    (
        "inner free shrinks",
        "break_heap.c",
        "freed.behind == heap->limit && new_break",
        "freed.behind != 0 && new_break",
    ),
    (
        "pages above the break mapped",
        "break_heap.c",
        "heap->break_page - heap->first.number) {",
        "heap->pages_count) {",
    ),
]

PAGE_MUTANTS = [*FRAMES, *VALIDITY, *SPACE, *HEAP]
