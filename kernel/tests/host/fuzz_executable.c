// Reads damaged executables under sanitizers: nothing outside the file is read, and an accepted
// file keeps the promises of kernel/slots/executable.h.
//
//   fuzz_executable SEED N HASH FILE     every shorter file, then N files with random changes
//
// HASH is eight words in hexadecimal, with commas. Prints how often each answer was given.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/gen/tau_tile_format.h"
#include "kernel/slots/executable.h"

enum { BYTES_MAX = 1 << 16, ANSWERS_MAX = 32, CHANGES_MAX = 4, HEAD_BYTES = 52 + 3 * 32 };

static uint32_t hash[8];
static struct {
    const char *text;
    unsigned count;
} answers[ANSWERS_MAX];

#define REQUIRE(condition) ((condition) ? (void)0 : failed(#condition))

static void failed(const char *condition) {
    fprintf(stderr, "%s does not hold\n", condition);
    abort();
}

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

static void read_one(const uint8_t *data, uint32_t bytes) {
    // The sanitizer guards both ends of what malloc returns, so it has exactly the file's size.
    uint32_t *image = malloc(bytes > 0 ? bytes : 1);
    REQUIRE(image != NULL);
    memcpy(image, data, bytes);
    struct tau_executable executable;
    const char *answer = tau_executable_read(&executable, image, bytes, hash);
    if (answer == NULL) {
        check_segments(&executable, bytes);
        REQUIRE(executable.tasks_count >= 1 && executable.tasks_count <= TAU_COMPOSE_LIMIT_TASKS);
        answer = "accepted";
    }
    unsigned i = 0;
    while (answers[i].text != NULL && strcmp(answers[i].text, answer) != 0) {
        i++;
    }
    REQUIRE(i < ANSWERS_MAX - 1);
    answers[i].text = answer;
    answers[i].count++;
    free(image);
}

static uint64_t random_state;

// The next number of the sequence splitmix64 (S. Vigna).
static uint32_t random_number(void) {
    random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 31);
}

// Changes a bit, a byte or a word, mostly where the headers are.
static void change(uint8_t *data, uint32_t bytes) {
    static const uint32_t EDGES[] = {0, 1, 4, 0x7FFFFFFF, 0x80000000, 0x80100000, 0xFFFFFFFC, ~0u};
    const uint32_t limit = random_number() % 8 != 0 ? HEAD_BYTES : bytes;
    const uint32_t place = random_number() % limit;
    const uint32_t word = EDGES[random_number() % (sizeof EDGES / sizeof EDGES[0])];
    switch (random_number() % 3) {
    case 0:
        data[place] ^= (uint8_t)(1u << random_number() % 8);
        break;
    case 1:
        data[place] = (uint8_t)random_number();
        break;
    default:
        memcpy(data + place / 4 * 4, &word, sizeof word);
    }
}

int main(int count, char **words) {
    static uint8_t file_bytes[BYTES_MAX];
    static uint8_t changed[BYTES_MAX];
    REQUIRE(count == 5);
    random_state = strtoull(words[1], NULL, 10);
    const unsigned long rounds = strtoul(words[2], NULL, 10);
    char *text = words[3];
    for (unsigned i = 0; i < 8; i++) {
        hash[i] = (uint32_t)strtoul(text, &text, 16);
        text += *text == ',';
    }
    FILE *file = fopen(words[4], "rb");
    REQUIRE(file != NULL);
    const uint32_t bytes = (uint32_t)fread(file_bytes, 1, BYTES_MAX, file);
    REQUIRE(bytes > HEAD_BYTES && bytes < BYTES_MAX && fclose(file) == 0);
    for (uint32_t size = 0; size <= bytes; size++) {
        read_one(file_bytes, size);
    }
    for (unsigned long i = 0; i < rounds; i++) {
        memcpy(changed, file_bytes, bytes);
        for (uint32_t left = 1 + random_number() % CHANGES_MAX; left > 0; left--) {
            change(changed, bytes);
        }
        read_one(changed, bytes);
    }
    for (unsigned i = 0; answers[i].text != NULL; i++) {
        printf("%u %s\n", answers[i].count, answers[i].text);
    }
    return 0;
}
