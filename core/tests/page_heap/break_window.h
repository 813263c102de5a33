// What the tests of the heaps with a break share: a heap in a window whose pages are closed until
// they are looked up, on a page table of its own.
#ifndef BREAK_WINDOW_H
#define BREAK_WINDOW_H

#include "peers/conventional/break_heap.h"
#include "core/private/pages/frames_inline.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_tlsf.h"
#include "core/tests/kit/page_window.h"

enum { LOG2 = 7, PAGES = 1 << LOG2, FRAMES = 100, FIRST = 3, HEAP_PAGES = 64, PAGE = 4096 };

static struct tau_pagetable table;
static struct tau_break_heap heap;
static struct tau_frames pool;
static uint32_t links[FRAMES];
static uint32_t tables[PAGES + PAGES / 32];

static uint32_t frame_of(uint32_t page) {
    struct tau_frame frame;
    return tau_pagetable_translate(&table, (struct tau_page){page}, TAU_WRITE, &frame) == TAU_OK
               ? frame.number
               : WINDOW_FRAME_NONE;
}

static enum tau_status map_page(uint32_t page) {
    return tau_break_heap_map_page(&heap, (struct tau_page){page});
}

static enum tau_status open_heap(uint32_t first, uint32_t pages) {
    enum tau_status status = TAU_OK;
    WINDOW_RUN(WINDOW_ALLOCATOR, status = tau_break_heap_init(&heap, &table, (uintptr_t)window.base,
                                                              (struct tau_page){first}, pages));
    return status;
}

static void begin(uint32_t frames_count, enum tau_pagetable_walk walk) {
    window_open(PAGES, FRAMES);
    window.frame_of = frame_of;
    window.map = map_page;
    memset(&test_port, 0, sizeof test_port);
    REQUIRE(tau_frames_init(&pool, links, FRAMES, window.frames) == TAU_OK);
    REQUIRE(tau_frames_add(&pool, (struct tau_frame){0}, frames_count) == TAU_OK);
    REQUIRE(tau_pagetable_init(&table, tables, sizeof tables, LOG2, &pool, walk) == TAU_OK);
}

static void end(uint32_t frames_count) {
    unsigned number = 0;
    WINDOW_RUN(WINDOW_ALLOCATOR, number = check_tlsf(heap.blocks));
    EXPECT_EQUAL(number, 0);
    EXPECT_EQUAL(check_frames(&pool, NULL), 0);
    EXPECT_EQUAL(table.mapped_pages + tau_frames_free_count(&pool), frames_count);
    EXPECT_EQUAL(test_port.lock_depth + test_port.nested_count, 0);
    window_close();
}

static unsigned char *allocate(size_t size_bytes) {
    unsigned char *object = NULL;
    WINDOW_RUN(WINDOW_ALLOCATOR, object = tau_break_heap_malloc(&heap, size_bytes));
    return object;
}

#endif
