// Reads damaged executables under sanitizers: nothing outside the file is read, and an accepted
// file keeps the promises of kernel/slots/executable.h. BASE_HASH are the words of the base code's
// hash.
#include "facts/gen/tau_tile_format.h"
#include "kernel/slots/executable.h"

#define FUZZ_HEAD_BYTES (52 + 3 * 32)
#define FUZZ_KINDS 4
#include "kernel/tests/host/fuzz_file.h"

static void check_segments(const struct tau_executable *executable, uint32_t bytes) {
    REQUIRE(executable->segments_count <= TAU_EXECUTABLE_SEGMENTS_MAX);
    for (uint32_t i = 0; i < executable->segments_count; i++) {
        const struct tau_segment *segment = &executable->segments[i];
        const uint64_t end = (uint64_t)segment->address + segment->memory_bytes;
        REQUIRE(segment->address >= TAU_COMPOSE_ADDRESS_APPLICATION &&
                end <= TAU_TILE_ADDRESS_FRAMES);
        REQUIRE((uint64_t)segment->file_offset + segment->file_bytes <= bytes);
        REQUIRE(segment->file_bytes <= segment->memory_bytes);
        REQUIRE((segment->address | segment->file_offset | segment->file_bytes) % 4 == 0);
        REQUIRE((segment->rights >> 28 & 3) != 3);
        for (uint32_t j = 0; j < i; j++) {
            const struct tau_segment *other = &executable->segments[j];
            REQUIRE(end <= other->address ||
                    (uint64_t)other->address + other->memory_bytes <= segment->address);
        }
    }
}

static const char *answer_to(const uint8_t *data, uint32_t bytes) {
    static const uint32_t hash[] = {BASE_HASH};
    struct tau_executable executable;
    const char *answer =
        tau_executable_read(&executable, (const uint32_t *)(const void *)data, bytes, hash);
    if (answer != NULL) {
        return answer;
    }
    check_segments(&executable, bytes);
    REQUIRE(executable.tasks_count >= 1 && executable.tasks_count <= TAU_COMPOSE_LIMIT_TASKS);
    return "accepted";
}
