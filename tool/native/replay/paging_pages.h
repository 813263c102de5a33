// The state of a replay on pages, and operations on pages; see paging.h. Private to paging*.c.
#ifndef TAU_PAGING_PAGES_H
#define TAU_PAGING_PAGES_H

#include "tool/native/replay/content.h"
#include "tool/native/replay/paging.h"

#define PAGING_PAGE_LOG2 12u

// As struct facts of targets/programs/paged/facts.h.
struct paging_facts {
    uint32_t heap;
    uint32_t fault_subject;
    uint32_t mapped_pages;
    uint32_t regions;
    uint32_t stacks;
    uint32_t pages_count;
    uint32_t table_bytes;
};

struct paging_object {
    struct tau_content_object object;
    // A bit for each page of it that it touched, from its first page on; WIDE has them if they are
    // more than a word.
    uint64_t touched;
    uint64_t *wide;
};

struct paging {
    const struct tau_paging_image *image;
    const struct tau_paging_settings *settings;
    struct tau_paging_result *result;
    struct tau_replay *replay;
    struct tau_rv32_machine *machine;
    struct paging_facts facts;
    const uint32_t *regions;  // here: pairs of cache and top, or the plain table's entries
    const uint32_t *stacks;   // pairs of helper and page
    const uint32_t *mapped_pages;
    bool is_started;
    struct tau_content content;
    struct paging_object *objects;  // one a slot
    uint64_t slots_count;
    uint32_t *users;  // a page of the heap: live objects that touched it
    uint64_t event;
    uint64_t events;
    const struct tau_replay_op *op;
    uint64_t *times;  // of one block of events; NULL: events weigh, not time
    size_t times_count;
    size_t next_time;
    uint64_t next_times_block;
    uint64_t time;  // of the event before
};

// Learns from the image where its tables are.
void paging_read_facts(struct paging *paging);

// The result of the MMU's lookup of PAGE.
bool paging_is_mapped(const struct paging *paging, uint32_t page);

// The guard of the heap: the emulated code may touch mapped pages only.
bool paging_on_access(void *context, uint32_t address, uint32_t size_bytes);

// Notes how many pages are mapped now.
void paging_note(struct paging *paging);

// Calls the function of KIND for an object of SIZE_BYTES with two arguments behind its subject;
// *ANSWER is what it returns. Returns the fault it shows.
enum tau_replay_fault paging_call(struct paging *paging, enum tau_paging_kind kind,
                                  uint64_t size_bytes, uint32_t second, uint32_t third,
                                  uint32_t *answer);

// Accesses COUNT bytes from OFFSET on, up to the object's end.
enum tau_replay_fault paging_touch(struct paging *paging, struct paging_object *object,
                                   uint64_t offset, uint64_t count);

// Whether every page that the object touched is still mapped; its claims on pages from KEPT on are
// dropped.
bool paging_drop(struct paging *paging, struct paging_object *object, uint64_t kept);

// Reserves memory for the bits of PAGES pages and keeps existing ones. False: no memory.
bool paging_widen(struct paging_object *object, uint64_t pages_before, uint64_t pages);

// The number of pages that the object spans.
uint64_t paging_pages_of(const struct paging *paging, const struct paging_object *object);

static inline uint32_t paging_address(const struct paging *paging, const uint8_t *pointer) {
    return TAU_RV32_MEMORY + (uint32_t)(pointer - paging->content.arena);
}

#endif
