// Replays a trace on a heap on pages, call by call on the emulated processor. See paging.h.
#include "tool/native/replay/paging.h"

#include <stdlib.h>
#include <string.h>

#include "tool/native/replay/paging_pages.h"

#define SPACE_PAGES (UINT64_C(1) << 20)

// ---- objects ----

// The allocator answered ADDRESS for OP's object.
static enum tau_replay_fault take_object(struct paging *paging, struct paging_object *object,
                                         uint32_t address) {
    const struct tau_replay_op *op = paging->op;
    const uint64_t least = paging->image->alignment;
    *object = (struct paging_object){0};
    if (address == 0) {
        return TAU_REPLAY_NO_MEMORY;
    }
    const struct tau_content_answer answer = {
        .event = paging->event,
        .offset = (uint64_t)address - TAU_RV32_MEMORY,
        .alignment = op->op == TAU_TRACE_REALLOC ? least : tau_replay_alignment(op, least),
    };
    return tau_content_take(&paging->content, &object->object, op, &answer);
}

static uint32_t clamped(uint64_t size_bytes) {
    return size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)size_bytes;
}

static enum tau_replay_fault allocate(struct paging *paging, struct paging_object *object) {
    const struct tau_replay_op *op = paging->op;
    const uint32_t size_bytes = clamped(op->size_bytes);
    const bool is_aligned = op->align_log2 != 0 && op->op != TAU_TRACE_REALLOC;
    uint32_t address = 0;
    enum tau_replay_fault fault =
        is_aligned
            ? paging_call(paging, TAU_PAGING_ALIGNED_ALLOC, op->size_bytes,
                          UINT32_C(1) << (op->align_log2 & 31), size_bytes, &address)
            : paging_call(paging, TAU_PAGING_MALLOC, op->size_bytes, size_bytes, 0, &address);
    if (fault == TAU_REPLAY_COMPLETED) {
        fault = take_object(paging, object, address);
    }
    const bool is_whole = op->op == TAU_TRACE_CALLOC || paging->settings->touches_all != 0;
    return fault == TAU_REPLAY_COMPLETED && is_whole
               ? paging_touch(paging, object, 0, object->object.size_bytes)
               : fault;
}

static enum tau_replay_fault release(struct paging *paging, struct paging_object *object) {
    struct tau_content_object *content = &object->object;
    if (content->pointer == NULL) {
        return TAU_REPLAY_COMPLETED;
    }
    if (!tau_content_remove(&paging->content, content, paging->op->slot)) {
        return TAU_REPLAY_OVERWRITTEN;
    }
    if (!paging_drop(paging, object, 0)) {
        return TAU_REPLAY_PAGE_LOST;
    }
    uint32_t status = 0;
    const enum tau_replay_fault fault =
        paging_call(paging, TAU_PAGING_FREE, content->size_bytes,
                    paging_address(paging, content->pointer), 0, &status);
    content->pointer = NULL;
    if (fault != TAU_REPLAY_COMPLETED) {
        return fault;
    }
    return status == 0 ? TAU_REPLAY_COMPLETED : TAU_REPLAY_FREE_REFUSED;
}

// Resizes the object in place.
static enum tau_replay_fault resized(struct paging *paging, struct paging_object *object) {
    struct tau_content_object *content = &object->object;
    const struct tau_replay_op *op = paging->op;
    const uint64_t pages_before = paging_pages_of(paging, object);
    const uint64_t bytes_before = content->size_bytes;
    content->size_bytes = op->size_bytes;
    if (!tau_content_survives(&paging->content, content->pointer, bytes_before, op->size_bytes,
                              op->slot)) {
        return TAU_REPLAY_OVERWRITTEN;
    }
    const enum tau_replay_fault fault = tau_content_add(&paging->content, content, op->slot, false);
    paging_move_end(paging, object, pages_before);
    if (fault == TAU_REPLAY_COMPLETED && paging->settings->touches_all != 0) {
        return paging_touch(paging, object, 0, op->size_bytes);
    }
    return fault;
}

// Copies the mapped pages of OLD to NEW.
static enum tau_replay_fault copy(struct paging *paging, const struct paging_object *old,
                                  struct paging_object *new_object) {
    const uint64_t old_bytes = old->object.size_bytes;
    const uint64_t new_bytes = new_object->object.size_bytes;
    const uint64_t kept = old_bytes < new_bytes ? old_bytes : new_bytes;
    const uint64_t start = paging_address(paging, old->object.pointer);
    for (uint64_t done = 0; done < kept;) {
        const uint32_t page = (uint32_t)((start + done) >> PAGING_PAGE_LOG2);
        const uint64_t end = ((uint64_t)(page + 1) << PAGING_PAGE_LOG2) - start;
        const uint64_t next = end < kept ? end : kept;
        if (paging_is_mapped(paging, page)) {
            const enum tau_replay_fault fault = paging_touch(paging, new_object, done, next - done);
            if (fault != TAU_REPLAY_COMPLETED) {
                return fault;
            }
        }
        done = next;
    }
    return TAU_REPLAY_COMPLETED;
}

static enum tau_replay_fault reallocate(struct paging *paging, struct paging_object *object) {
    if (object->object.pointer == NULL) {
        return allocate(paging, object);
    }
    const struct tau_replay_op *op = paging->op;
    struct tau_content_object *content = &object->object;
    const uint64_t bytes_before = content->size_bytes;
    // The call may unmap pages that the object leaves, so its claims on them end before the call.
    struct paging_object shrunk = *object;
    shrunk.object.size_bytes = op->size_bytes < bytes_before ? op->size_bytes : bytes_before;
    if (!tau_content_remove(&paging->content, content, op->slot)) {
        return TAU_REPLAY_OVERWRITTEN;
    }
    if (!paging_drop(paging, object, paging_pages_of(paging, &shrunk))) {
        return TAU_REPLAY_PAGE_LOST;
    }
    uint32_t is_resized = 0;
    enum tau_replay_fault fault =
        paging_call(paging, TAU_PAGING_RESIZE, op->size_bytes,
                    paging_address(paging, content->pointer), clamped(op->size_bytes), &is_resized);
    if (fault != TAU_REPLAY_COMPLETED) {
        return fault;
    }
    if ((is_resized & 0xff) != 0) {
        return resized(paging, object);
    }
    (void)tau_content_add(&paging->content, content, op->slot, false);
    struct paging_object old = *object;
    fault = allocate(paging, object);
    if (fault == TAU_REPLAY_COMPLETED) {
        fault = copy(paging, &old, object);
    }
    return fault == TAU_REPLAY_COMPLETED ? release(paging, &old) : fault;
}

// ---- the trace ----

static enum tau_replay_fault carry_out(struct paging *paging) {
    const struct tau_replay_op *op = paging->op;
    if (op->op == TAU_REPLAY_OP_SKIP) {  // its slot may be no object's
        return TAU_REPLAY_COMPLETED;
    }
    struct paging_object *object = &paging->objects[op->slot];
    switch (op->op) {
    case TAU_TRACE_FREE:
        return release(paging, object);
    case TAU_TRACE_REALLOC:
        return reallocate(paging, object);
    case TAU_TRACE_TOUCH:
        paging->result->touches++;
        return paging_touch(paging, object, op->size_bytes,
                            op->align_log2 * paging->settings->granule_bytes);
    default:
        return allocate(paging, object);
    }
}

static void note_mean(struct paging *paging, uint64_t weight) {
    paging->result->mapped_pages_total += weight * *paging->mapped_pages;
    paging->result->mapped_pages_weight += weight;
}

// Weighs the mapped pages since the last event by the time since then. False: the file could not be
// read.
static bool weigh(struct paging *paging) {
    if (paging->times == NULL) {
        if (paging->op->op != TAU_TRACE_TOUCH) {
            note_mean(paging, 1);
        }
        return true;
    }
    if (paging->next_time == paging->times_count) {
        paging->next_time = 0;
        if (!tau_replay_times(paging->replay, paging->next_times_block++, paging->times,
                              &paging->times_count) ||
            paging->times_count == 0) {
            return false;
        }
    }
    const uint64_t time = paging->times[paging->next_time++];
    note_mean(paging, time - paging->time);
    paging->time = time;
    return true;
}

static void weigh_end(struct paging *paging) {
    const uint64_t end = paging->settings->end_time;
    if (paging->times == NULL) {
        note_mean(paging, 1);
    } else if (end > paging->time) {
        note_mean(paging, end - paging->time);
    }
}

static enum tau_replay_fault run_all(struct paging *paging) {
    struct tau_replay_walk walk = tau_replay_walk(paging->replay);
    for (; (paging->op = tau_replay_next(&walk)) != NULL; paging->event++) {
        if (!weigh(paging)) {
            return TAU_REPLAY_TRACE_FAILED;
        }
        if (!tau_replay_passes_over(paging->op)) {
            paging_note(paging);
        }
        const enum tau_replay_fault fault = carry_out(paging);
        if (fault != TAU_REPLAY_COMPLETED) {
            paging->result->replay.fault_size_bytes = paging->op->size_bytes;
            return fault;
        }
    }
    weigh_end(paging);
    return walk.has_failed ? TAU_REPLAY_TRACE_FAILED : TAU_REPLAY_COMPLETED;
}

// The heap's own count against a walk over all of its pages.
static bool is_counted_right(const struct paging *paging) {
    const uint32_t first = TAU_RV32_MEMORY >> PAGING_PAGE_LOG2;
    uint64_t mapped = 0;
    for (uint32_t page = 0; page < paging->settings->heap_pages; page++) {
        mapped += paging_is_mapped(paging, first + page) ? 1 : 0;
    }
    return mapped == *paging->mapped_pages;
}

static enum tau_replay_fault run(struct paging *paging) {
    struct tau_rv32 *cpu = &paging->machine->cpu;
    struct tau_paging_result *result = paging->result;
    const uint32_t arguments[] = {
        cpu->regions[2].address,
        cpu->regions[2].size_bytes,
        (uint32_t)paging->settings->frames_count,
        TAU_RV32_MEMORY >> PAGING_PAGE_LOG2,
        (uint32_t)paging->settings->heap_pages,
    };
    uint32_t status = 0;
    enum tau_replay_fault fault =
        paging_stopped(paging, tau_rv32_call(cpu, (uint32_t)paging->image->start, arguments, 5,
                                             paging->machine->stack, &status));
    paging_read_facts(paging);
    paging->is_started = true;
    result->replay.init_status = status;
    if (fault != TAU_REPLAY_COMPLETED || status != 0) {
        return fault == TAU_REPLAY_COMPLETED ? TAU_REPLAY_INIT_FAILED : fault;
    }
    result->table_bytes = paging->facts.table_bytes;
    paging_note(paging);
    fault = run_all(paging);
    if (fault == TAU_REPLAY_COMPLETED && !is_counted_right(paging)) {
        fault = TAU_REPLAY_MISCOUNTED;
    }
    result->end_mapped_pages = *paging->mapped_pages;
    return fault;
}

// ---- starting and ending ----

static bool prepare(struct paging *paging) {
    struct tau_paging_result *result = paging->result;
    const struct tau_paging_settings *settings = paging->settings;
    const struct tau_replay_facts *facts = tau_replay_facts(paging->replay);
    const uint64_t heap_bytes = settings->heap_pages << PAGING_PAGE_LOG2;
    // Six words per page of the space and its tree, one word per frame.
    const uint64_t tables_bytes = (6 * SPACE_PAGES + settings->frames_count) * sizeof(uint32_t);
    paging->events = facts->events == 0 ? 1 : facts->events;
    result->bins = paging->events < TAU_PAGING_BINS_MAX ? paging->events : TAU_PAGING_BINS_MAX;
    result->low = malloc(result->bins * sizeof *result->low);
    result->high = calloc(result->bins, sizeof *result->high);
    paging->users = calloc(settings->heap_pages, sizeof *paging->users);
    paging->objects = calloc(facts->slots_count + 1, sizeof *paging->objects);
    if (settings->end_time != 0) {
        paging->times = malloc(TAU_TRACE_BLOCK_EVENTS_MAX * sizeof *paging->times);
    }
    paging->machine = tau_rv32_machine_open(&paging->image->code, heap_bytes + tables_bytes);
    if (result->low == NULL || result->high == NULL || paging->users == NULL ||
        paging->objects == NULL || paging->machine == NULL ||
        (settings->end_time != 0 && paging->times == NULL) ||
        !tau_content_start(&paging->content, paging->machine->memory, heap_bytes)) {
        return false;
    }
    memset(result->low, 0xff, result->bins * sizeof *result->low);
    struct tau_rv32 *cpu = &paging->machine->cpu;
    cpu->regions[1].size_bytes = (uint32_t)heap_bytes;
    cpu->regions[1].is_guarded = true;
    cpu->regions[2] =
        (struct tau_rv32_region){TAU_RV32_MEMORY + (uint32_t)heap_bytes, (uint32_t)tables_bytes,
                                 paging->machine->memory + heap_bytes, false};
    cpu->regions_count = 3;
    cpu->guard = paging_on_access;
    cpu->context = paging;
    cpu->instructions_max = settings->instructions_max;
    return true;
}

static void release_all(struct paging *paging) {
    free(paging->objects);
    free(paging->users);
    free(paging->times);
    tau_content_release(&paging->content);
    tau_rv32_machine_close(paging->machine);
}

const char *tau_paging_run(const struct tau_paging_image *image, struct tau_replay *replay,
                           const struct tau_paging_settings *settings,
                           struct tau_paging_result *result) {
    memset(result, 0, sizeof *result);
    if (settings->heap_pages == 0 || settings->heap_pages > TAU_PAGING_HEAP_PAGES_MAX ||
        settings->frames_count == 0 || settings->frames_count > SPACE_PAGES) {
        return "the heap or the frames are more than 32 bits can name, or none";
    }
    struct paging paging = {
        .image = image, .settings = settings, .result = result, .replay = replay};
    const bool is_ready = prepare(&paging);
    if (is_ready) {
        result->replay.fault = (uint64_t)run(&paging);
        result->replay.fault_event = paging.event;
        result->replay.placement_hash = paging.content.placement_hash;
        result->replay.footprint_bytes = result->peak_mapped_pages << PAGING_PAGE_LOG2;
    }
    release_all(&paging);
    return is_ready ? NULL : "memory is short";
}

void tau_paging_free(struct tau_paging_result *result) {
    free(result->low);
    free(result->high);
    free(result->samples);
    result->low = NULL;
    result->high = NULL;
    result->samples = NULL;
}
