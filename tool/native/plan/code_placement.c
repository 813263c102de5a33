#include "tool/native/plan/code_placement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_MAX 64u
#define NO_PAGE UINT16_MAX
#define FAULTS_PER_DISTURBANCE 24u
#define DISTURBED_REPLAYS 4u
#define GOLDEN_RATIO UINT64_C(0x9E3779B97F4A7C15)

// ---- Affinity ----------------------------------------------------------------------------------

void tau_code_affinity(const struct tau_code_sequence *sequence, uint32_t window,
                       uint32_t *counts) {
    uint32_t last[WINDOW_MAX] = {0}, last_count = 0;  // different pieces, the latest first
    assert(window > 0 && window <= WINDOW_MAX);
    for (size_t i = 0; i < sequence->count; i++) {  // bound: the touches
        const uint32_t piece = sequence->touches[i];
        uint32_t place = 0;
        assert(piece < sequence->pieces_count);
        while (place < last_count && last[place] != piece) {  // bound: the window
            const size_t low = last[place] < piece ? last[place] : piece;
            const size_t high = last[place] < piece ? piece : last[place];
            counts[low * sequence->pieces_count + high]++;
            place++;
        }
        if (place == last_count) {
            last_count += last_count < window;
            place = last_count - 1;
        }
        memmove(last + 1, last, place * sizeof *last);
        last[0] = piece;
    }
}

// ---- Faults of round robin ---------------------------------------------------------------------

struct queue {
    uint8_t *is_loaded;  // per page
    uint16_t *held;      // per frame
    uint32_t frames_count;
    uint32_t pages_count;
};

static bool queue_open(struct queue *queue, uint32_t pages_count, uint32_t frames_count) {
    assert(frames_count > 0);
    assert(pages_count < NO_PAGE);
    *queue = (struct queue){calloc((size_t)pages_count + 1, 1),
                            malloc(frames_count * sizeof *queue->held), frames_count, pages_count};
    return queue->is_loaded != NULL && queue->held != NULL;
}

static void queue_close(struct queue *queue) {
    free(queue->is_loaded);
    free(queue->held);
}

static uint64_t next_random(uint64_t state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ state << 17;
}

// Counts up to LIMIT; the touch of fault i is stored at PLACES[i], if there are any. With a SEED,
// some faults make two pages leave: as if an interrupt had loaded one that nobody else needs.
static uint64_t queue_faults(const struct queue *queue, const struct tau_code_sequence *sequence,
                             const uint16_t *pages, uint64_t limit, uint32_t *places,
                             uint64_t seed) {
    const uint32_t *const touches = sequence->touches;
    uint64_t faults = 0;
    uint32_t next = 0;
    memset(queue->is_loaded, 0, (size_t)queue->pages_count + 1);
    // The page after the last one is never touched: an empty frame evicts it.
    for (uint32_t frame = 0; frame < queue->frames_count; frame++) {
        queue->held[frame] = (uint16_t)queue->pages_count;
    }
    for (size_t i = 0; i < sequence->count; i++) {  // bound: the touches
        const uint16_t page = pages[touches[i]];
        if (queue->is_loaded[page] != 0) {
            continue;
        }
        queue->is_loaded[queue->held[next]] = 0;
        queue->held[next] = page;
        queue->is_loaded[page] = 1;
        next = next + 1 < queue->frames_count ? next + 1 : 0;
        seed = next_random(seed);
        if (seed != 0 && (seed >> 11) % FAULTS_PER_DISTURBANCE == 0) {
            queue->is_loaded[queue->held[next]] = 0;
            queue->held[next] = (uint16_t)queue->pages_count;
            next = next + 1 < queue->frames_count ? next + 1 : 0;
        }
        if (places != NULL) {
            places[faults] = (uint32_t)i;
        }
        if (++faults > limit) {
            break;
        }
    }
    return faults;
}

// ---- A better placement ------------------------------------------------------------------------

struct improvement {
    const struct tau_code_sequence *sequence;
    const struct tau_code_search *search;
    struct queue queue;
    uint16_t *pages;
    uint32_t *used_bytes;  // per page
    uint32_t *members;     // pieces that are placed
    uint32_t *places;      // touches that fault now
    uint32_t members_count;
    uint64_t places_count;
    uint64_t faults;  // in all replays
    uint64_t random;
};

// A step: up to two pieces that change pages. A second piece that stays has NO_PAGE.
struct step {
    uint32_t piece, other;
    uint16_t from, to;
    bool is_exchange;
};

static uint64_t draw(struct improvement *state, uint64_t below) {
    assert(below > 0);
    assert(state->random != 0);
    state->random = next_random(state->random);
    return (state->random >> 11) % below;
}

static bool fits(const struct improvement *state, uint16_t page, uint32_t leaves, uint32_t comes) {
    assert(page < state->search->pages_count);
    assert(state->used_bytes[page] >= leaves);
    return state->used_bytes[page] - leaves + comes <= state->sequence->page_bytes;
}

// A piece that faults goes to the page of one that was touched near it; or any piece to any page.
// If that page is full, one of its pieces comes back.
static bool choose(struct improvement *state, struct step *step) {
    const struct tau_code_sequence *const sequence = state->sequence;
    const uint32_t *const sizes = sequence->sizes_bytes;
    if (state->places_count > 0 && draw(state, 8) != 0) {
        const uint32_t at = state->places[draw(state, state->places_count)];
        const uint64_t distance = 1 + draw(state, 12);
        const bool is_before = draw(state, 2) != 0;
        if (is_before ? at < distance : at + distance >= sequence->count) {
            return false;
        }
        const uint32_t near = sequence->touches[is_before ? at - distance : at + distance];
        const bool is_turned = draw(state, 2) != 0;
        step->piece = is_turned ? near : sequence->touches[at];
        step->to = state->pages[is_turned ? sequence->touches[at] : near];
    } else {
        step->piece = state->members[draw(state, state->members_count)];
        step->to = (uint16_t)draw(state, state->search->pages_count);
    }
    step->from = state->pages[step->piece];
    if (step->from == step->to) {
        return false;
    }
    step->is_exchange = !fits(state, step->to, 0, sizes[step->piece]);
    for (uint32_t tries = 0; step->is_exchange && tries < 64; tries++) {
        step->other = state->members[draw(state, state->members_count)];
        if (state->pages[step->other] == step->to &&
            fits(state, step->to, sizes[step->other], sizes[step->piece]) &&
            fits(state, step->from, sizes[step->piece], sizes[step->other])) {
            return true;
        }
    }
    return !step->is_exchange;
}

static void move(struct improvement *state, uint32_t piece, uint16_t to) {
    const uint32_t size_bytes = state->sequence->sizes_bytes[piece];
    assert(state->used_bytes[state->pages[piece]] >= size_bytes);
    assert(to < state->search->pages_count);
    state->used_bytes[state->pages[piece]] -= size_bytes;
    state->used_bytes[to] += size_bytes;
    state->pages[piece] = to;
}

static void exchange(struct improvement *state, const struct step *step, bool is_back) {
    move(state, step->piece, is_back ? step->from : step->to);
    if (step->is_exchange) {
        move(state, step->other, is_back ? step->to : step->from);
    }
}

// Faults as recorded, and with disturbances. A booted kernel never repeats the recording exactly,
// and a queue that just misses a page each time is a queue that just holds it after a small change.
static uint64_t replayed_faults(struct improvement *state, const uint16_t *pages, uint64_t limit) {
    const struct tau_code_sequence *const sequence = state->sequence;
    uint64_t sum = queue_faults(&state->queue, sequence, pages, limit, state->places, 0);
    state->places_count = sum;
    for (uint64_t i = 1; i <= DISTURBED_REPLAYS && sum <= limit; i++) {
        sum += queue_faults(&state->queue, sequence, pages, limit - sum, NULL, i * GOLDEN_RATIO);
    }
    return sum;
}

// Only steps with fewer faults are made. Others would undo what affinity has put together, for
// nothing that the recording shows, and other inputs would pay for it.
static uint64_t improve(struct improvement *state, uint16_t *pages) {
    state->faults = replayed_faults(state, pages, UINT64_MAX - 1);
    for (uint64_t i = 0; i < state->search->steps && state->faults > 0; i++) {  // bound: the steps
        struct step step = {0};
        if (!choose(state, &step)) {
            continue;
        }
        exchange(state, &step, false);
        const uint64_t faults = replayed_faults(state, pages, state->faults - 1);
        if (faults < state->faults) {
            state->faults = faults;
        } else {
            // The places stay the step's: a sample that serves as well.
            exchange(state, &step, true);
        }
    }
    return state->faults;
}

static bool improvement_open(struct improvement *state) {
    const struct tau_code_sequence *const sequence = state->sequence;
    const uint32_t pages_count = state->search->pages_count;
    const size_t pieces_count = (size_t)sequence->pieces_count + 1;
    state->used_bytes = calloc((size_t)pages_count + 1, sizeof *state->used_bytes);
    state->members = malloc(pieces_count * sizeof *state->members);
    state->places = malloc((sequence->count + 2) * sizeof *state->places);
    if (!queue_open(&state->queue, pages_count, state->search->frames_count) ||
        state->used_bytes == NULL || state->members == NULL || state->places == NULL) {
        return false;
    }
    for (uint32_t piece = 0; piece < sequence->pieces_count; piece++) {
        if (state->pages[piece] != NO_PAGE) {
            assert(state->pages[piece] < pages_count);
            state->used_bytes[state->pages[piece]] += sequence->sizes_bytes[piece];
            state->members[state->members_count++] = piece;
        }
    }
    return true;
}

uint64_t tau_code_improve(const struct tau_code_sequence *sequence,
                          const struct tau_code_search *search, uint16_t *pages) {
    assert(search->pages_count > 0);
    assert(sequence->count < UINT32_MAX);
    struct improvement state = {.sequence = sequence,
                                .search = search,
                                .pages = pages,
                                .random = search->seed != 0 ? search->seed : 1};
    uint64_t faults = UINT64_MAX;
    if (improvement_open(&state) && state.members_count > 0) {
        faults = improve(&state, pages);
    }
    queue_close(&state.queue);
    free(state.used_bytes);
    free(state.members);
    free(state.places);
    return faults;
}

// ---- Misses of a queue of pieces ---------------------------------------------------------------

uint64_t tau_code_misses(const struct tau_code_sequence *sequence, uint64_t held_bytes,
                         uint32_t *missed) {
    const uint32_t slots = sequence->pieces_count + 1;
    uint8_t *const is_held = calloc(slots, 1);
    uint32_t *const queue = malloc(slots * sizeof *queue);
    const bool is_made = is_held != NULL && queue != NULL;
    uint64_t bytes = 0, count = 0;
    uint32_t first = 0, end = 0;
    assert(held_bytes >= sequence->page_bytes);
    for (size_t i = 0; is_made && i < sequence->count; i++) {  // bound: the touches
        const uint32_t piece = sequence->touches[i];
        assert(piece < sequence->pieces_count);
        if (is_held[piece] != 0) {
            continue;
        }
        is_held[piece] = 1;
        queue[end] = piece;
        end = end + 1 < slots ? end + 1 : 0;
        bytes += sequence->sizes_bytes[piece];
        while (bytes > held_bytes) {  // bound: the pieces that have joined
            assert(first != end);
            bytes -= sequence->sizes_bytes[queue[first]];
            is_held[queue[first]] = 0;
            first = first + 1 < slots ? first + 1 : 0;
        }
        missed[count++] = piece;
    }
    free(queue);
    free(is_held);
    return is_made ? count : UINT64_MAX;
}

// ---- The bound of any placement ----------------------------------------------------------------

// A window of touches that grows at its end until its pieces have more than LIMIT_BYTES.
struct window {
    uint32_t *counts;  // touches of each piece inside
    uint64_t bytes;
    uint64_t limit_bytes;
    size_t end;
};

static bool grow(struct window *window, const struct tau_code_sequence *sequence) {
    while (window->bytes <= window->limit_bytes && window->end < sequence->count) {
        const uint32_t piece = sequence->touches[window->end++];
        assert(piece < sequence->pieces_count);
        window->bytes += window->counts[piece]++ == 0 ? sequence->sizes_bytes[piece] : 0;
    }
    return window->bytes > window->limit_bytes;
}

static void drop_first(struct window *window, const struct tau_code_sequence *sequence,
                       size_t first) {
    const uint32_t piece = sequence->touches[first];
    assert(first < window->end);
    assert(window->counts[piece] > 0);
    window->bytes -= --window->counts[piece] == 0 ? sequence->sizes_bytes[piece] : 0;
}

static void raise(uint64_t *least, uint64_t value) {
    *least = value > *least ? value : *least;
}

// The first window starts with no page loaded.
static bool bound_first(const struct tau_code_sequence *sequence, uint64_t *bounds) {
    uint8_t *const is_seen = calloc((size_t)sequence->pieces_count + 1, 1);
    uint64_t bytes = 0;
    if (is_seen == NULL) {
        return false;
    }
    for (size_t i = 0; i < sequence->count; i++) {  // bound: the touches
        const uint32_t piece = sequence->touches[i];
        bytes += is_seen[piece] == 0 ? sequence->sizes_bytes[piece] : 0;
        is_seen[piece] = 1;
        raise(&bounds[i + 1], (bytes + sequence->page_bytes - 1) / sequence->page_bytes);
    }
    free(is_seen);
    return true;
}

static void bound_from(const struct tau_code_sequence *sequence, struct window *windows,
                       uint32_t windows_count, uint64_t *bounds) {
    for (size_t first = 0; first < sequence->count; first++) {  // bound: the touches
        for (uint32_t gain = 1; gain <= windows_count; gain++) {
            struct window *const window = &windows[gain - 1];
            if (!grow(window, sequence)) {
                windows_count = gain - 1;  // nor do later or larger ones
                break;
            }
            raise(&bounds[window->end], bounds[first] + gain);
        }
        for (uint32_t i = 0; i < windows_count; i++) {
            drop_first(&windows[i], sequence, first);
        }
        raise(&bounds[first + 1], bounds[first]);
    }
}

uint64_t tau_code_faults_bound(const struct tau_code_sequence *sequence, uint64_t held_bytes,
                               bool is_empty) {
    uint64_t all_bytes = 0;
    for (uint32_t piece = 0; piece < sequence->pieces_count; piece++) {
        all_bytes += sequence->sizes_bytes[piece];
    }
    const uint64_t more_bytes = all_bytes > held_bytes ? all_bytes - held_bytes : 0;
    const uint32_t windows_count =
        (uint32_t)((more_bytes + sequence->page_bytes - 1) / sequence->page_bytes);
    const size_t pieces_count = (size_t)sequence->pieces_count + 1;
    assert(sequence->page_bytes > 0);
    assert(windows_count <= all_bytes);
    struct window *const windows = calloc((size_t)windows_count + 1, sizeof *windows);
    uint32_t *const counts = calloc((windows_count + (size_t)1) * pieces_count, sizeof *counts);
    uint64_t *const bounds = calloc(sequence->count + 1, sizeof *bounds);
    uint64_t bound = UINT64_MAX;
    if (windows != NULL && counts != NULL && bounds != NULL &&
        (!is_empty || bound_first(sequence, bounds))) {
        for (uint32_t i = 0; i < windows_count; i++) {
            windows[i].counts = counts + i * pieces_count;
            windows[i].limit_bytes = held_bytes + (uint64_t)i * sequence->page_bytes;
        }
        bound_from(sequence, windows, windows_count, bounds);
        bound = bounds[sequence->count];
    }
    free(bounds);
    free(counts);
    free(windows);
    return bound;
}
