// Cold code on Sv39. The steps of a load [SVC-3], of which no two may change places:
//
// 1. Clear the entry of the evicted page.
// 2. Flush its address. Nothing leads to the frame any more.
// 3. Copy the page into the frame.
// 4. Execute fence.i, which discards instructions fetched from the frame's old content.
// 5. Write the entry of the page.
// 6. Flush its address, because the hart may have cached that it was absent.
#include "core/ports/sv39_code.h"

#include "core/private/bits.h"
#include "core/private/check.h"
#include "core/private/code/code_cache_flags.h"
#include "core/private/inline.h"

#define SV39_CODE_ENTRIES 512u
#define SV39_CODE_NUMBER_SHIFT 10u
#define SV39_CODE_ENTRY UINT64_C(0x6b)  // V, R, X, G, A
#define SV39_CODE_PHYSICAL_PAGES_MAX (UINT64_C(1) << 44)
#define SV39_CODE_PAGE_WORDS (TAU_PAGE_BYTES / 8)
#define SV39_CODE_WORDS_AT_ONCE 16u

_Static_assert(TAU_PAGE_LOG2 == 12, "Sv39 has pages of 4 KiB");
_Static_assert(SV39_CODE_PAGE_WORDS % SV39_CODE_WORDS_AT_ONCE == 0,
               "a page is copied in whole steps");
_Static_assert(sizeof(uintptr_t) == 8, "Sv39 is for 64-bit harts");
_Static_assert(32 % TAU_SV39_CODE_VISITED == 0, "the frames of a visit have flags in one word");

TAU_SHARED uint64_t *sv39_code_entry_of(const struct tau_sv39_code *code, uint32_t page) {
    const uint32_t place =
        (uint32_t)(code->place.first >> TAU_PAGE_LOG2) % SV39_CODE_ENTRIES + page;
    TAU_ASSERT(page < code->cache.pages_count);
    return &code->place.tables[place / SV39_CODE_ENTRIES][place % SV39_CODE_ENTRIES];
}

TAU_SHARED uintptr_t sv39_code_address_of(const struct tau_sv39_code *code, uint32_t page) {
    TAU_ASSERT(page < code->cache.pages_count);
    return code->place.first + ((uintptr_t)page << TAU_PAGE_LOG2);
}

// Steps 1 and 2.
TAU_SHARED void sv39_code_unmap(const struct tau_sv39_code *code, uint32_t page, uint64_t *entry) {
    TAU_ASSERT(entry == sv39_code_entry_of(code, page));
    *(volatile uint64_t *)entry = 0;
    TAU_SV39_CODE_FLUSH(sv39_code_address_of(code, page));
}

static bool sv39_code_are_frames(const struct tau_sv39_code_frame *frames, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {  // bound: the frames
        if (frames[i].memory == NULL || (uintptr_t)frames[i].memory % TAU_PAGE_BYTES != 0 ||
            frames[i].number >= SV39_CODE_PHYSICAL_PAGES_MAX) {
            return false;
        }
    }
    return true;
}

enum tau_status tau_sv39_code_init(struct tau_sv39_code *code,
                                   const struct tau_code_cache_settings *settings,
                                   const struct tau_sv39_code_place *place, uint8_t *page_frames) {
    const uintptr_t bytes = (uintptr_t)settings->pages_count << TAU_PAGE_LOG2;
    if (place->first % TAU_PAGE_BYTES != 0 || place->first + (bytes - 1) < place->first ||
        place->tables == NULL || place->frames == NULL || (uintptr_t)place->store % 8 != 0 ||
        settings->frames_count > TAU_CODE_CACHE_FRAMES_MAX ||
        !sv39_code_are_frames(place->frames, settings->frames_count)) {
        return TAU_BAD_ARGUMENT;
    }
    const enum tau_status status = tau_code_cache_init(&code->cache, settings, page_frames);
    if (status == TAU_OK) {
        code->no_entry = 0;
        code->next_visited = 0;
        code->visits_left = settings->frames_count;
        for (uint32_t i = 0; i < TAU_CODE_CACHE_FRAMES_MAX; i++) {  // bound: the frames
            code->entries[i] = &code->no_entry;
        }
        // One by one, or compilers make this a call of memcpy.
        code->place.first = place->first;
        code->place.tables = place->tables;
        code->place.store = place->store;
        code->place.frames = place->frames;
        TAU_ASSERT(tau_sv39_code_invariants_hold(code));
    }
    return status;
}

// Whether the page at ONE equals that at OTHER. Always reads all of both.
static __attribute__((__noinline__)) bool sv39_code_are_equal(const uint64_t *one,
                                                              const uint64_t *other) {
    uint64_t difference = 0;
    TAU_ASSERT((uintptr_t)one % 8 == 0);
    TAU_ASSERT((uintptr_t)other % 8 == 0);
    for (uint32_t i = 0; i < SV39_CODE_PAGE_WORDS; i += SV39_CODE_WORDS_AT_ONCE) {  // bound: a page
#pragma GCC unroll 16
        for (uint32_t j = 0; j < SV39_CODE_WORDS_AT_ONCE; j++) {
            difference |= one[j] ^ other[j];
        }
        one += SV39_CODE_WORDS_AT_ONCE;
        other += SV39_CODE_WORDS_AT_ONCE;
    }
    return difference == 0;
}

enum tau_status tau_sv39_code_release_page(struct tau_sv39_code *code, struct tau_page page,
                                           const uint64_t *content) {
    if (page.number >= code->cache.pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    const unsigned found = code->cache.page_frames[page.number];
    if (found != TAU_CODE_CACHE_PAGE_ABSENT) {
        return found < TAU_CODE_CACHE_FRAMES_MAX ? TAU_PAGE_MAPPED : TAU_PAGE_PINNED;
    }
    uint64_t *const entry = sv39_code_entry_of(code, page.number);
    if (*entry == 0) {
        return TAU_FRAME_FREE;
    }
    if (!sv39_code_are_equal((const uint64_t *)sv39_code_address_of(code, page.number), content)) {
        const enum tau_status status = tau_code_cache_pin(&code->cache, page);
        TAU_ASSERT(status == TAU_OK);
        (void)status;
        return TAU_PAGE_PINNED;
    }
    sv39_code_unmap(code, page.number, entry);
    return TAU_OK;
}

TAU_SHARED enum tau_status sv39_code_begin(struct tau_sv39_code *code, uintptr_t address,
                                           uint32_t access, struct tau_sv39_code_load *load) {
    struct tau_code_cache_answer answer;
    const uintptr_t page = (address - code->place.first) >> TAU_PAGE_LOG2;
    if (page >= code->cache.pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    if ((access & TAU_WRITE) != 0) {
        return TAU_ACCESS_DENIED;
    }
    load->page.number = (uint32_t)page;
    const enum tau_status status = tau_code_cache_fault(&code->cache, load->page, &answer);
    if (status != TAU_OK) {
        return status;
    }
    TAU_ASSERT(answer.frame.number < code->cache.frames_count);
    load->frame = answer.frame;
    load->is_needed = answer.action != TAU_CODE_CACHE_RETRY;
    if (TAU_ON_LONGEST_PATH(answer.action == TAU_CODE_CACHE_REPLACE)) {
        sv39_code_unmap(code, answer.evicted.number, code->entries[answer.frame.number]);
    }
    return TAU_OK;
}

// Steps 4 to 6.
TAU_SHARED void sv39_code_end(struct tau_sv39_code *code, const struct tau_sv39_code_load *load) {
    const uint64_t number = code->place.frames[load->frame.number].number;
    uint64_t *const entry = sv39_code_entry_of(code, load->page.number);
    TAU_ASSERT(number < SV39_CODE_PHYSICAL_PAGES_MAX);
    code->entries[load->frame.number] = entry;
    TAU_SV39_CODE_FETCH_ANEW();
    *(volatile uint64_t *)entry = number << SV39_CODE_NUMBER_SHIFT | SV39_CODE_ENTRY;
    TAU_SV39_CODE_FLUSH(sv39_code_address_of(code, load->page.number));
}

enum tau_status tau_sv39_code_begin(struct tau_sv39_code *code, uintptr_t address, uint32_t access,
                                    struct tau_sv39_code_load *load) {
    TAU_ASSERT(load != NULL);
    return sv39_code_begin(code, address, access, load);
}

__attribute__((__noinline__)) void tau_sv39_code_read(struct tau_sv39_code *code,
                                                      const struct tau_sv39_code_load *load) {
    uint64_t *to = code->place.frames[load->frame.number].memory;
    const uint64_t *from = code->place.store + (size_t)load->page.number * SV39_CODE_PAGE_WORDS;
    TAU_ASSERT(load->is_needed);
    for (uint32_t i = 0; i < SV39_CODE_PAGE_WORDS; i += SV39_CODE_WORDS_AT_ONCE) {  // bound: a page
        uint64_t words[SV39_CODE_WORDS_AT_ONCE];
        // All loads, then all stores. Held, or compilers make this a call of memcpy.
#pragma GCC unroll 16
        for (uint32_t j = 0; j < SV39_CODE_WORDS_AT_ONCE; j++) {
            words[j] = tau_bits_hold(from[j]);
        }
#pragma GCC unroll 16
        for (uint32_t j = 0; j < SV39_CODE_WORDS_AT_ONCE; j++) {
            to[j] = words[j];
        }
        to += SV39_CODE_WORDS_AT_ONCE;
        from += SV39_CODE_WORDS_AT_ONCE;
    }
}

void tau_sv39_code_end(struct tau_sv39_code *code, const struct tau_sv39_code_load *load) {
    TAU_ASSERT(load->frame.number < code->cache.frames_count);
    sv39_code_end(code, load);
}

void tau_sv39_code_cancel(struct tau_sv39_code *code, const struct tau_sv39_code_load *load) {
    TAU_ASSERT(load->is_needed);
    const enum tau_status status = tau_code_cache_drop(&code->cache, load->frame);
    TAU_ASSERT(status == TAU_OK);
    (void)status;
    code->entries[load->frame.number] = &code->no_entry;
}

enum tau_status tau_sv39_code_fault(struct tau_sv39_code *code, uintptr_t address,
                                    uint32_t access) {
    struct tau_sv39_code_load load;
    TAU_INVARIANT(tau_sv39_code_invariants_hold(code));
    const enum tau_status status = code->place.store == NULL
                                       ? TAU_BAD_ARGUMENT
                                       : sv39_code_begin(code, address, access, &load);
    if (status != TAU_OK) {
        return status;
    }
    if (TAU_ON_LONGEST_PATH(load.is_needed)) {
        tau_sv39_code_read(code, &load);
    }
    sv39_code_end(code, &load);
    TAU_INVARIANT(tau_sv39_code_invariants_hold(code));
    return TAU_OK;
}

void tau_sv39_code_visit(struct tau_sv39_code *code) {
    const uint32_t first = code->next_visited;
    const uint32_t behind = first + TAU_SV39_CODE_VISITED;
    uint64_t *const *const entries = &code->entries[first];
    uint32_t bits = 0;
    if (--code->visits_left == 0) {
        code->visits_left = code->cache.frames_count;
        tau_code_cache_age(&code->cache);
        return;
    }
    TAU_ASSERT(first % TAU_SV39_CODE_VISITED == 0);
    TAU_ASSERT(first < code->cache.frames_count);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < TAU_SV39_CODE_VISITED; i++) {
        volatile uint64_t *const entry = entries[i];
        const uint64_t value = *entry;
        *entry = value & ~TAU_SV39_CODE_ACCESSED;
        bits |= (uint32_t)(value >> TAU_SV39_CODE_ACCESSED_BIT & 1) << i;
    }
    // Four addresses would take fifteen instructions more.
    TAU_SV39_CODE_FLUSH_ALL();
    // Nothing is set for frames after the last one: they have no_entry.
    code_cache_set_some(&code->cache.used, first, bits);
    code->next_visited = behind < code->cache.frames_count ? behind : 0;
}

bool tau_sv39_code_invariants_hold(const struct tau_sv39_code *code) {
    const struct tau_code_cache *const cache = &code->cache;
    const uint32_t frame = cache->next_frame;
    if (!tau_code_cache_invariants_hold(cache) || code->place.tables == NULL ||
        code->place.frames == NULL) {
        return false;
    }
    if (!code_cache_has(&cache->occupied, frame)) {
        return code->entries[frame] == &code->no_entry && code->no_entry == 0;
    }
    return code->entries[frame] == sv39_code_entry_of(code, cache->frame_pages[frame]) &&
           *code->entries[frame] >> SV39_CODE_NUMBER_SHIFT == code->place.frames[frame].number;
}
