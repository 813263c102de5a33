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
    // Whether it touched its first page, and its last if that is another one. These can be shared
    // with other objects; of the pages between, `users` has only this object.
    bool is_first_touched;
    bool is_last_touched;
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
    struct paging_object *objects;  // one per slot
    uint32_t *users;                // per page of the heap: live objects that touched it
    uint64_t event;
    uint64_t events;
    const struct tau_replay_op *op;
    uint64_t *times;  // times of one block of events; NULL: events are weights, not time
    size_t times_count;
    size_t next_time;
    uint64_t next_times_block;
    uint64_t time;  // time of the event before
};

// Learns from the image where its tables are.
void paging_read_facts(struct paging *paging);

// The result of the MMU's lookup of PAGE.
bool paging_is_mapped(const struct paging *paging, uint32_t page);

// The guard of the heap: the emulated code may touch mapped pages only.
bool paging_on_access(void *context, uint32_t address, uint32_t size_bytes);

// Notes how many pages are mapped now.
void paging_note(struct paging *paging);

// Notes why the processor stopped, and where, unless the call returned. Returns the fault it shows.
enum tau_replay_fault paging_stopped(struct paging *paging, enum tau_rv32_stop stop);

// Calls the function of KIND for an object of SIZE_BYTES with two arguments after its subject;
// *ANSWER is its result. Returns the fault it shows.
enum tau_replay_fault paging_call(struct paging *paging, enum tau_paging_kind kind,
                                  uint64_t size_bytes, uint32_t second, uint32_t third,
                                  uint32_t *answer);

// Accesses COUNT bytes from OFFSET on, up to the object's end.
enum tau_replay_fault paging_touch(struct paging *paging, struct paging_object *object,
                                   uint64_t offset, uint64_t count);

// Whether every page that the object touched is still mapped; its claims on pages from KEPT on are
// dropped.
bool paging_drop(struct paging *paging, struct paging_object *object, uint64_t kept);

// Another page is the last one of an object that had PAGES_BEFORE pages before it was resized.
void paging_move_end(struct paging *paging, struct paging_object *object, uint64_t pages_before);

// The number of pages that the object spans.
uint64_t paging_pages_of(const struct paging *paging, const struct paging_object *object);

static inline uint32_t paging_address(const struct paging *paging, const uint8_t *pointer) {
    return TAU_RV32_MEMORY + (uint32_t)(pointer - paging->content.arena);
}

#endif
