// Finds the chunks of a raw recording and merges them by time. See merge.h for the whole pass.
#include "tool/native/record/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "tool/native/record/merge_emit.h"

// In a shorter recording, its two readings of both clocks give the rate less exactly than the
// tool's hint.
#define RATE_SPAN_NS_MIN 50000000u
#define CHUNKS_ROOM_FIRST 256u
#define ADDRESS_SHIFT_MAX 16u

// The place of a chunk. There is one entry per chunk, which is about one per 30,000 events.
struct place {
    uint64_t offset;
    uint64_t started_ticks;
    uint32_t bytes;
    uint32_t thread;
    uint32_t kind;
    bool is_cut;  // the file ends in it; it is counted as damaged already
};

struct run {
    struct tau_merge_rows rows;
    const struct place *place;
    const uint8_t *chunk;
    uint64_t sequence;  // of its chunk: equal times go by it, so that the result never depends on
                        // the heap
    bool is_cut;
};

struct recording {
    int file;
    uint64_t file_bytes;
    struct tau_raw_header header;
    struct place *places;
    size_t places_count;
    size_t places_room;
    size_t next_place;
    struct run **runs;  // a heap: the earliest row first
    size_t runs_count;
    size_t runs_room;
    double ns_per_tick;
    struct tau_merge_emit emit;
};

// ---- Chunks ----

static bool chunk_is_sound(const struct tau_raw_chunk *chunk, uint64_t offset) {
    return chunk->magic == TAU_RAW_CHUNK_MAGIC && chunk->offset == offset &&
           chunk->bytes % TAU_RAW_PAGE_BYTES == 0 && chunk->bytes >= TAU_RAW_PAGE_BYTES &&
           chunk->bytes <= TAU_RAW_CHUNK_BYTES_MAX && chunk->kind >= TAU_RAW_ROWS &&
           chunk->kind <= TAU_RAW_STACKS;
}

static bool place_add(struct recording *recording, const struct tau_raw_chunk *chunk) {
    if (recording->places_count == recording->places_room) {
        const size_t room =
            recording->places_room == 0 ? CHUNKS_ROOM_FIRST : recording->places_room * 2;
        struct place *places = realloc(recording->places, room * sizeof(*places));
        if (places == NULL) {
            return false;
        }
        recording->places = places;
        recording->places_room = room;
    }
    const uint64_t left = recording->file_bytes - chunk->offset;
    recording->places[recording->places_count++] = (struct place){
        .offset = chunk->offset,
        .started_ticks = chunk->started_ticks,
        .bytes = left < chunk->bytes ? (uint32_t)left : chunk->bytes,
        .thread = chunk->thread,
        .kind = chunk->kind,
        .is_cut = left < chunk->bytes,
    };
    // The recorder extends the file before it begins a chunk, so a file that ends inside a chunk
    // was cut.
    recording->emit.result->damaged_chunks += left < chunk->bytes;
    return true;
}

static int place_order(const void *left, const void *right) {
    const struct place *a = left;
    const struct place *b = right;
    if (a->started_ticks != b->started_ticks) {
        return a->started_ticks < b->started_ticks ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

// Every page may start a chunk; a valid chunk has the distance to the next. Gaps were reserved and
// never begun.
static bool places_find(struct recording *recording) {
    uint64_t offset = TAU_RAW_PAGE_BYTES;
    while (offset + sizeof(struct tau_raw_chunk) <= recording->file_bytes) {
        struct tau_raw_chunk chunk;
        if (pread(recording->file, &chunk, sizeof(chunk), (off_t)offset) !=
            (ssize_t)sizeof(chunk)) {
            break;
        }
        const bool sound = chunk_is_sound(&chunk, offset);
        if (sound && !place_add(recording, &chunk)) {
            return false;
        }
        recording->emit.result->damaged_chunks += !sound && chunk.magic == TAU_RAW_CHUNK_MAGIC;
        offset += sound ? chunk.bytes : TAU_RAW_PAGE_BYTES;
    }
    if (recording->places_count > 0) {
        qsort(recording->places, recording->places_count, sizeof(*recording->places), place_order);
    }
    return true;
}

// Pages of this machine may be larger than the recording's: the mapping begins at one.
static uint64_t chunk_gap(const struct place *place) {
    return place->offset % (uint64_t)sysconf(_SC_PAGESIZE);
}

static const uint8_t *chunk_map(const struct recording *recording, const struct place *place) {
    const uint64_t gap = chunk_gap(place);
    const uint8_t *mapped = mmap(NULL, place->bytes + gap, PROT_READ, MAP_PRIVATE, recording->file,
                                 (off_t)(place->offset - gap));
    return mapped == MAP_FAILED ? NULL : mapped + gap;
}

static void chunk_unmap(const struct place *place, const uint8_t *chunk) {
    const uint64_t gap = chunk_gap(place);
    munmap((void *)(uintptr_t)(chunk - gap), place->bytes + gap);
}

// Reads the chunks of modules and stacks, which rows refer to.
static bool tables_read(struct recording *recording) {
    for (size_t i = 0; i < recording->places_count; i++) {
        const struct place *place = &recording->places[i];
        if (place->kind == TAU_RAW_ROWS) {
            continue;
        }
        const uint8_t *chunk = chunk_map(recording, place);
        const size_t at = sizeof(struct tau_raw_chunk);
        const bool added =
            chunk != NULL &&
            (place->kind == TAU_RAW_MODULES
                 ? tau_merge_modules_add(&recording->emit.modules, place->started_ticks,
                                         (const char *)chunk + at, place->bytes - at)
                 : tau_merge_stacks_add(&recording->emit.stacks, chunk + at, place->bytes - at));
        if (chunk != NULL) {
            chunk_unmap(place, chunk);
        }
        if (!added) {
            return false;
        }
    }
    tau_merge_stacks_sort(&recording->emit.stacks);
    return true;
}

// ---- The heap of runs ----

static bool gives_up(const struct run *run) {
    return run->rows.row.op == TAU_RECORD_FREE || run->rows.row.op == TAU_RECORD_REALLOC_BEGIN;
}

// Earlier rows first. At the same tick, a row that releases an address comes before one that takes
// it.
static bool goes_before(const struct run *a, const struct run *b) {
    if (a->rows.row.ticks != b->rows.row.ticks) {
        return a->rows.row.ticks < b->rows.row.ticks;
    }
    if (gives_up(a) != gives_up(b)) {
        return gives_up(a);
    }
    return a->sequence < b->sequence;
}

static void heap_sink(struct recording *recording, size_t at) {
    struct run **runs = recording->runs;
    struct run *run = runs[at];
    for (size_t child = 2 * at + 1; child < recording->runs_count; child = 2 * at + 1) {
        if (child + 1 < recording->runs_count && goes_before(runs[child + 1], runs[child])) {
            child++;
        }
        if (!goes_before(runs[child], run)) {
            break;
        }
        runs[at] = runs[child];
        at = child;
    }
    runs[at] = run;
}

static void heap_rise(struct recording *recording, size_t at) {
    struct run **runs = recording->runs;
    struct run *run = runs[at];
    while (at > 0 && goes_before(run, runs[(at - 1) / 2])) {
        runs[at] = runs[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    runs[at] = run;
}

static void run_close(struct recording *recording, struct run *run) {
    recording->emit.done_bytes += run->place->bytes;
    chunk_unmap(run->place, run->chunk);
    free(run);
}

// Reads the run's next row. False at its end; then the run is to be closed.
static bool run_next(struct recording *recording, struct run *run) {
    const enum tau_merge_rows_status status = tau_merge_rows_next(&run->rows);
    recording->emit.result->damaged_chunks += status == TAU_MERGE_ROWS_DAMAGED && !run->is_cut;
    return status == TAU_MERGE_ROWS_NEXT;
}

static bool run_open(struct recording *recording, const struct place *place) {
    if (recording->runs_count == recording->runs_room) {
        const size_t room = recording->runs_room == 0 ? 64 : recording->runs_room * 2;
        struct run **runs = realloc(recording->runs, room * sizeof(*runs));
        if (runs == NULL) {
            return false;
        }
        recording->runs = runs;
        recording->runs_room = room;
    }
    struct run *run = calloc(1, sizeof(*run));
    const uint8_t *chunk = chunk_map(recording, place);
    if (run == NULL || chunk == NULL) {
        free(run);
        return false;
    }
    run->place = place;
    run->chunk = chunk;
    run->sequence = recording->next_place;
    run->is_cut = place->is_cut;
    const size_t rows_at = sizeof(struct tau_raw_chunk);
    tau_merge_rows_open(&run->rows, chunk + rows_at, place->bytes - rows_at, place->started_ticks,
                        place->thread, recording->header.address_shift);
    recording->emit.result->chunks++;
    if (!run_next(recording, run)) {
        run_close(recording, run);
        return true;
    }
    recording->runs[recording->runs_count] = run;
    heap_rise(recording, recording->runs_count++);
    return true;
}

// Opens every run that may hold a row not later than the heap's first.
static bool runs_open_due(struct recording *recording) {
    while (recording->next_place < recording->places_count) {
        const struct place *place = &recording->places[recording->next_place];
        if (place->kind == TAU_RAW_ROWS) {
            if (recording->runs_count > 0 &&
                recording->runs[0]->rows.row.ticks < place->started_ticks) {
                return true;
            }
            if (!run_open(recording, place)) {
                return false;
            }
        }
        recording->next_place++;
    }
    return true;
}

// ---- Time ----

static double rate_of(const struct tau_raw_header *header) {
    const double span_ns = (double)(header->latest_ns - header->started_ns);
    const double span_ticks = (double)(header->latest_ticks - header->started_ticks);
    const double hint = (double)header->ticks_per_second_hint;
    if (header->clock == TAU_RAW_CLOCK_MONOTONIC) {
        return 1.0;
    }
    double rate = span_ticks > 0 ? span_ns / span_ticks : 0;
    if (span_ns < RATE_SPAN_NS_MIN && hint > 0) {
        rate = 1e9 / hint;
    }
    // Counters run at 10 MHz to 20 GHz; other rates come from a damaged header.
    return rate > 0.05 && rate < 100.0 ? rate : 1.0;
}

static uint64_t time_of(const struct recording *recording, uint64_t ticks) {
    const uint64_t started = recording->header.started_ticks;
    const double time_ns = ticks > started ? (double)(ticks - started) * recording->ns_per_tick : 0;
    return time_ns < 9e18 ? (uint64_t)time_ns : (uint64_t)9e18;
}

uint64_t tau_merge_ticks_per_second(void) {
#if defined(__x86_64__)
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    const uint64_t start_ticks = __rdtsc();
    uint64_t elapsed_ns, now_ticks;
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        now_ticks = __rdtsc();
        elapsed_ns = (uint64_t)(now.tv_sec - start.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec -
                     (uint64_t)start.tv_nsec;
    } while (elapsed_ns < 20000000u);  // bound: 20 ms
    return (uint64_t)((double)(now_ticks - start_ticks) * 1e9 / (double)elapsed_ns);
#else
    return 0;
#endif
}

static uint64_t ticks_now(const struct tau_raw_header *header) {
    struct timespec now;
#if defined(__x86_64__)
    if (header->clock == TAU_RAW_CLOCK_TSC) {
        return __rdtsc();
    }
#endif
    (void)header;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// ---- Public ----

static enum tau_merge_status header_read(int file, struct tau_raw_header *header) {
    if (file < 0) {
        return TAU_MERGE_INPUT_FAILED;
    }
    if (pread(file, header, sizeof(*header), 0) != (ssize_t)sizeof(*header) ||
        memcmp(header->magic, TAU_RAW_MAGIC, sizeof(header->magic)) != 0) {
        return TAU_MERGE_NOT_A_RECORDING;
    }
    if (header->version != TAU_RAW_VERSION) {
        return header->version > TAU_RAW_VERSION ? TAU_MERGE_NEWER_VERSION
                                                 : TAU_MERGE_OLDER_VERSION;
    }
    return TAU_MERGE_OK;
}

// Closes a file, and keeps errno.
static void file_close(int file) {
    const int cause = errno;
    if (file >= 0) {
        close(file);
    }
    errno = cause;
}

enum tau_merge_status tau_merge_header(const char *raw, struct tau_raw_header *header) {
    const int file = open(raw, O_RDONLY | O_CLOEXEC);
    const enum tau_merge_status status = header_read(file, header);
    file_close(file);
    return status;
}

static enum tau_merge_status recording_open(struct recording *recording, const char *raw) {
    struct stat about;
    recording->file = open(raw, O_RDONLY | O_CLOEXEC);
    const enum tau_merge_status status = header_read(recording->file, &recording->header);
    if (status != TAU_MERGE_OK) {
        return status;
    }
    if (fstat(recording->file, &about) != 0) {
        return TAU_MERGE_INPUT_FAILED;
    }
    recording->file_bytes = (uint64_t)about.st_size;
    struct tau_raw_header *header = &recording->header;
    if (header->address_shift > ADDRESS_SHIFT_MAX) {
        // Damaged. Objects start at multiples of two words, or of 16 bytes.
        header->address_shift = header->pointer_bytes == 4 ? 3 : 4;
    }
    recording->ns_per_tick = rate_of(header);
    return TAU_MERGE_OK;
}

static enum tau_merge_status recording_merge(struct recording *recording) {
    struct tau_merge_emit *emit = &recording->emit;
    const uint64_t stopped_ticks = recording->header.stopped_ticks;
    while (runs_open_due(recording)) {
        if (recording->runs_count == 0) {
            return TAU_MERGE_OK;
        }
        struct run *run = recording->runs[0];
        if (stopped_ticks != 0 && run->rows.row.ticks > stopped_ticks) {
            // After this time rows of some thread are missing, so the trace ends here.
            return TAU_MERGE_OK;
        }
        if (!tau_merge_emit_row(emit, &run->rows, time_of(recording, run->rows.row.ticks))) {
            return emit->status;
        }
        if (!run_next(recording, run)) {
            run_close(recording, run);
            recording->runs[0] = recording->runs[--recording->runs_count];
        }
        if (recording->runs_count > 1) {
            heap_sink(recording, 0);
        }
    }
    return TAU_MERGE_NO_MEMORY;
}

enum tau_merge_status tau_merge_recording(const char *raw, const char *out, const char *header_json,
                                          tau_merge_progress progress, void *context,
                                          struct tau_merge_result *result) {
    struct recording recording = {.file = -1};
    memset(result, 0, sizeof(*result));
    recording.emit.result = result;
    recording.emit.progress = progress;
    recording.emit.context = context;
    enum tau_merge_status status = recording_open(&recording, raw);
    if (status == TAU_MERGE_OK) {
        recording.emit.forked = recording.header.forked_from_pid != 0;
        recording.emit.total_bytes = recording.file_bytes;
        if (!places_find(&recording) || !tables_read(&recording)) {
            status = TAU_MERGE_NO_MEMORY;
        } else if (tau_merge_emit_open(&recording.emit, out, header_json)) {
            status = recording_merge(&recording);
        }
    }
    const int cause = errno;
    const enum tau_merge_status closed = tau_merge_emit_close(&recording.emit);
    while (recording.runs_count > 0) {
        run_close(&recording, recording.runs[--recording.runs_count]);
    }
    free(recording.runs);
    free(recording.places);
    file_close(recording.file);
    errno = status == TAU_MERGE_INPUT_FAILED ? cause : errno;
    return status != TAU_MERGE_OK ? status : closed;
}

enum tau_merge_status tau_merge_detach(const char *raw) {
    const int file = open(raw, O_RDWR | O_CLOEXEC);
    struct tau_raw_header header;
    enum tau_merge_status status = TAU_MERGE_INPUT_FAILED;
    if (file >= 0 && pread(file, &header, sizeof(header), 0) == (ssize_t)sizeof(header)) {
        const uint64_t now = ticks_now(&header);
        const uint32_t reason = TAU_RAW_STOP_DETACHED;
        const off_t ticks_at = offsetof(struct tau_raw_header, stopped_ticks);
        const off_t reason_at = offsetof(struct tau_raw_header, stop_reason);
        status = TAU_MERGE_OK;
        if (header.stop_reason == 0 &&
            (pwrite(file, &now, sizeof(now), ticks_at) != (ssize_t)sizeof(now) ||
             pwrite(file, &reason, sizeof(reason), reason_at) != (ssize_t)sizeof(reason))) {
            status = TAU_MERGE_INPUT_FAILED;
        }
    }
    file_close(file);
    return status;
}
