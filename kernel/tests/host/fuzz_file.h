// Damaged files for a reader under sanitizers. The program that includes this defines `answer_to`.
//
//   PROGRAM truncations FILE…         every shorter file
//   PROGRAM mutations SEED N FILE…    N random changes of each file
//
// Prints how often each answer was given. With TAU_FUZZER the program is a libFuzzer target.
#ifndef TAU_KERNEL_FUZZ_FILE_H
#define TAU_KERNEL_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 16, ANSWERS_MAX = 32, CHANGES_MAX = 8 };

// Leading bytes, which change more often, and how many kinds of change there are. The last two
// kinds move all bytes after.
#ifndef FUZZ_HEAD_BYTES
#define FUZZ_HEAD_BYTES 1024
#define FUZZ_KINDS 6
#endif

#define REQUIRE(condition) ((condition) ? (void)0 : failed(#condition))

static void failed(const char *condition) {
    fprintf(stderr, "%s does not hold\n", condition);
    abort();
}

// Lets the reader read BYTES bytes at DATA. Returns its answer, a constant text.
static const char *answer_to(const uint8_t *data, uint32_t bytes);

static struct {
    const char *text;
    unsigned count;
} answers[ANSWERS_MAX];

static void read_one(const uint8_t *data, size_t bytes) {
    // The sanitizer guards both ends of what malloc returns, so it has exactly the file's size.
    uint8_t *file = malloc(bytes > 0 ? bytes : 1);
    REQUIRE(file != NULL);
    memcpy(file, data, bytes);
    const char *answer = answer_to(file, (uint32_t)bytes);
    unsigned i = 0;
    while (answers[i].text != NULL && strcmp(answers[i].text, answer) != 0) {
        i++;
    }
    REQUIRE(i < ANSWERS_MAX - 1);
    answers[i].text = answer;
    answers[i].count++;
    free(file);
}

#ifdef TAU_FUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_one(data, size);
    return 0;
}

#else

static uint64_t random_state;

// The next number of the sequence splitmix64 (S. Vigna), below LIMIT.
static size_t random_below(size_t limit) {
    random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % limit);
}

// Changes DATA at a random place, half of the time in its head. Returns the new number of bytes.
static size_t change(uint8_t *data, size_t bytes) {
    static const uint32_t EDGES[] = {0, 1, 4, 0x7FFFFFFF, 0x80000000, 0x80100000, 0xFFFFFFFC, ~0u};
    const size_t at =
        random_below(bytes < FUZZ_HEAD_BYTES || random_below(2) == 0 ? bytes : FUZZ_HEAD_BYTES);
    switch (random_below(FUZZ_KINDS)) {
    case 0:
        data[at] = (uint8_t)random_below(256);
        return bytes;
    case 1:
        data[at] ^= (uint8_t)(1u << random_below(8));
        return bytes;
    case 2:
        data[at] = random_below(2) == 0 ? 0xff : 0x00;
        return bytes;
    case 3:
        if (at / 4 * 4 + 4 <= bytes) {
            memcpy(data + at / 4 * 4, &EDGES[random_below(sizeof EDGES / sizeof EDGES[0])], 4);
        }
        return bytes;
    case 4:
        memmove(data + at, data + at + 1, bytes - at - 1);
        return bytes - 1;
    default:
        if (bytes == FILE_BYTES_MAX) {
            return bytes;
        }
        memmove(data + at + 1, data + at, bytes - at);
        return bytes + 1;
    }
}

static void mutate(const uint8_t *data, size_t bytes) {
    static uint8_t changed[FILE_BYTES_MAX];
    memcpy(changed, data, bytes);
    for (size_t left = 1 + random_below(CHANGES_MAX); left > 0 && bytes > 1; left--) {
        bytes = change(changed, bytes);
    }
    read_one(changed, bytes);
}

int main(int argc, char **argv) {
    static uint8_t data[FILE_BYTES_MAX];
    const int is_truncation = argc > 2 && strcmp(argv[1], "truncations") == 0;
    const int first = is_truncation ? 2 : 4;
    REQUIRE(argc > first);
    const unsigned long count = is_truncation ? 0 : strtoul(argv[3], NULL, 0);
    random_state = is_truncation ? 0 : strtoull(argv[2], NULL, 0);
    for (int number = first; number < argc; number++) {
        FILE *file = fopen(argv[number], "rb");
        REQUIRE(file != NULL);
        const size_t bytes = fread(data, 1, FILE_BYTES_MAX, file);
        REQUIRE(fclose(file) == 0);
        for (size_t kept = 0; is_truncation && kept <= bytes; kept++) {
            read_one(data, kept);
        }
        for (unsigned long i = 0; i < count; i++) {
            mutate(data, bytes);
        }
    }
    for (unsigned i = 0; answers[i].text != NULL; i++) {
        printf("%u %s\n", answers[i].count, answers[i].text);
    }
    return 0;
}

#endif

#endif
