// The pages of a replay: which are mapped, the calls that map them, and which objects touched them.
// See paging_pages.h.
#include "tool/native/replay/paging_pages.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_MASK ((UINT32_C(1) << 27) - 1)  // docs/spec/vspace.md, "The pages validity array"
#define WRITE_ACCESS (UINT32_C(1) << 28)

// ---- mapped pages ----

void paging_read_facts(struct paging *paging) {
    const struct tau_rv32 *cpu = &paging->machine->cpu;
    struct paging_facts *facts = &paging->facts;
    memcpy(facts, tau_rv32_memory(cpu, (uint32_t)paging->image->facts, (uint32_t)sizeof *facts),
           sizeof *facts);
    const uint32_t pair_bytes = 2 * (uint32_t)sizeof(uint32_t) * facts->pages_count;
    const uint32_t table_bytes = paging->image->is_plain ? pair_bytes / 2 : pair_bytes;
    paging->regions =
        (const uint32_t *)(const void *)tau_rv32_memory(cpu, facts->regions, table_bytes);
    paging->stacks =
        (const uint32_t *)(const void *)tau_rv32_memory(cpu, facts->stacks, pair_bytes);
    paging->mapped_pages =
        (const uint32_t *)(const void *)tau_rv32_memory(cpu, facts->mapped_pages, sizeof(uint32_t));
}

// The same words that tau_validity_lookup reads.
bool paging_is_mapped(const struct paging *paging, uint32_t page) {
    const uint32_t pages_count = paging->facts.pages_count;
    if (paging->regions == NULL || page >= pages_count) {
        return false;
    }
    if (paging->image->is_plain) {
        return paging->regions[page] != 0;
    }
    const uint32_t start = paging->regions[2 * (size_t)page];
    const uint32_t place = paging->stacks[2 * (size_t)page];
    if (start == 0 || start > page) {
        return false;
    }
    const uint32_t sp = paging->regions[2 * (size_t)start + 1] & NUMBER_MASK;
    return start <= place && place <= sp && place < pages_count &&
           paging->stacks[2 * (size_t)place + 1] == page;
}

bool paging_on_access(void *context, uint32_t address, uint32_t size_bytes) {
    struct paging *paging = context;
    if (!paging->is_started) {
        paging_read_facts(paging);
    }
    const uint32_t last = (address + size_bytes - 1) >> PAGING_PAGE_LOG2;
    for (uint32_t page = address >> PAGING_PAGE_LOG2; page <= last; page++) {
        if (!paging_is_mapped(paging, page)) {
            return false;
        }
    }
    return true;
}

// ---- calls ----

void paging_note(struct paging *paging) {
    struct tau_paging_result *result = paging->result;
    const uint32_t mapped = *paging->mapped_pages;
    const uint64_t bin = paging->event * result->bins / paging->events;
    if (mapped > result->peak_mapped_pages) {
        result->peak_mapped_pages = mapped;
    }
    if (mapped > result->high[bin]) {
        result->high[bin] = mapped;
    }
    if (mapped < result->low[bin]) {
        result->low[bin] = mapped;
    }
}

static bool note_call(struct paging *paging, enum tau_paging_kind kind, uint64_t size_bytes) {
    struct tau_paging_result *result = paging->result;
    const struct tau_rv32 *cpu = &paging->machine->cpu;
    if (result->samples_count == result->samples_capacity) {
        const uint64_t capacity = 2 * result->samples_capacity + 4096;
        struct tau_paging_sample *samples =
            realloc(result->samples, capacity * sizeof *result->samples);
        if (samples == NULL) {
            return false;
        }
        result->samples = samples;
        result->samples_capacity = capacity;
    }
    result->samples[result->samples_count++] = (struct tau_paging_sample){
        paging->event,
        (uint32_t)kind,
        size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)size_bytes,
        cpu->instructions > UINT32_MAX ? UINT32_MAX : (uint32_t)cpu->instructions,
        cpu->accesses > UINT32_MAX ? UINT32_MAX : (uint32_t)cpu->accesses,
    };
    return true;
}

enum tau_replay_fault paging_stopped(struct paging *paging, enum tau_rv32_stop stop) {
    if (stop == TAU_RV32_RETURNED) {
        return TAU_REPLAY_COMPLETED;
    }
    paging->result->stop = (uint64_t)stop;
    paging->result->stop_pc = paging->machine->cpu.pc;
    paging->result->stop_address = paging->machine->cpu.address;
    return TAU_REPLAY_UNMAPPED;
}

enum tau_replay_fault paging_call(struct paging *paging, enum tau_paging_kind kind,
                                  uint64_t size_bytes, uint32_t second, uint32_t third,
                                  uint32_t *answer) {
    struct tau_rv32 *cpu = &paging->machine->cpu;
    const uint32_t subject =
        kind == TAU_PAGING_FAULT ? paging->facts.fault_subject : paging->facts.heap;
    const uint32_t arguments[] = {subject, second, third};
    cpu->instructions = 0;
    cpu->accesses = 0;
    const enum tau_replay_fault fault =
        paging_stopped(paging, tau_rv32_call(cpu, (uint32_t)paging->image->functions[kind],
                                             arguments, 3, paging->machine->stack, answer));
    if (fault != TAU_REPLAY_COMPLETED) {
        return fault;
    }
    paging_note(paging);
    return note_call(paging, kind, size_bytes) ? TAU_REPLAY_COMPLETED : TAU_REPLAY_HOST_MEMORY;
}

// ---- touches ----

static uint32_t first_page(const struct paging *paging, const struct paging_object *object) {
    return paging_address(paging, object->object.pointer) >> PAGING_PAGE_LOG2;
}

uint64_t paging_pages_of(const struct paging *paging, const struct paging_object *object) {
    if (object->object.pointer == NULL || object->object.size_bytes == 0) {
        return 0;
    }
    const uint64_t start = paging_address(paging, object->object.pointer);
    return ((start + object->object.size_bytes - 1) >> PAGING_PAGE_LOG2) -
           (start >> PAGING_PAGE_LOG2) + 1;
}

// The live objects that touched page PLACE of OBJECT.
static uint32_t *users_of(const struct paging *paging, const struct paging_object *object,
                          uint64_t place) {
    return &paging
                ->users[first_page(paging, object) + place - (TAU_RV32_MEMORY >> PAGING_PAGE_LOG2)];
}

// Whether OBJECT, of PAGES pages, touched its page PLACE.
static bool is_touched(const struct paging *paging, const struct paging_object *object,
                       uint64_t place, uint64_t pages) {
    if (place == 0) {
        return object->is_first_touched;
    }
    return place + 1 == pages ? object->is_last_touched : *users_of(paging, object, place) != 0;
}

static void set_touched(const struct paging *paging, struct paging_object *object, uint64_t place,
                        uint64_t pages, bool is_new) {
    *users_of(paging, object, place) += is_new ? 1u : UINT32_MAX;
    if (place == 0) {
        object->is_first_touched = is_new;
    } else if (place + 1 == pages) {
        object->is_last_touched = is_new;
    }
}

void paging_move_end(struct paging *paging, struct paging_object *object, uint64_t pages_before) {
    const uint64_t pages = paging_pages_of(paging, object);
    if (pages != pages_before) {
        object->is_last_touched =
            pages > 1 && pages < pages_before && *users_of(paging, object, pages - 1) != 0;
    }
}

static enum tau_replay_fault map_page(struct paging *paging, uint64_t size_bytes, uint32_t page) {
    const uint32_t heap_page = page - (TAU_RV32_MEMORY >> PAGING_PAGE_LOG2);
    if (paging->users[heap_page] != 0) {
        return TAU_REPLAY_PAGE_LOST;
    }
    const uint64_t before = *paging->mapped_pages;
    uint32_t status = 0;
    const enum tau_replay_fault fault =
        paging_call(paging, TAU_PAGING_FAULT, size_bytes, page, WRITE_ACCESS, &status);
    paging->result->faults++;
    if (fault != TAU_REPLAY_COMPLETED) {
        return fault;
    }
    if (status != 0) {
        const bool is_full = before >= paging->settings->frames_count;
        return is_full ? TAU_REPLAY_NO_FRAME : TAU_REPLAY_FAULT_REFUSED;
    }
    return paging_is_mapped(paging, page) ? TAU_REPLAY_COMPLETED : TAU_REPLAY_FAULT_REFUSED;
}

enum tau_replay_fault paging_touch(struct paging *paging, struct paging_object *object,
                                   uint64_t offset, uint64_t count) {
    const uint64_t size_bytes = object->object.size_bytes;
    if (object->object.pointer == NULL || offset >= size_bytes || count == 0) {
        return TAU_REPLAY_COMPLETED;
    }
    const uint64_t end = count > size_bytes - offset ? size_bytes : offset + count;
    const uint64_t start = paging_address(paging, object->object.pointer);
    const uint32_t base = (uint32_t)(start >> PAGING_PAGE_LOG2);
    const uint32_t last = (uint32_t)((start + end - 1) >> PAGING_PAGE_LOG2);
    const uint64_t pages = paging_pages_of(paging, object);
    for (uint32_t page = (uint32_t)((start + offset) >> PAGING_PAGE_LOG2); page <= last; page++) {
        if (!paging_is_mapped(paging, page)) {
            const enum tau_replay_fault fault = map_page(paging, size_bytes, page);
            if (fault != TAU_REPLAY_COMPLETED) {
                return fault;
            }
        }
        if (!is_touched(paging, object, page - base, pages)) {
            set_touched(paging, object, page - base, pages, true);
        }
    }
    return TAU_REPLAY_COMPLETED;
}

bool paging_drop(struct paging *paging, struct paging_object *object, uint64_t kept) {
    const uint64_t pages = paging_pages_of(paging, object);
    for (uint64_t place = 0; place < pages; place++) {
        if (!is_touched(paging, object, place, pages)) {
            continue;
        }
        if (!paging_is_mapped(paging, first_page(paging, object) + (uint32_t)place)) {
            return false;
        }
        if (place >= kept) {
            set_touched(paging, object, place, pages, false);
        }
    }
    return true;
}
