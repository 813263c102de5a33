// Feeds damaged traces to the reader, the checker and the CSV writer: bit flips, cuts, hostile
// words, with the checksums made good again in every second round, so that what lies after them is
// reached too. Built with sanitizers by test_trace_damage.py.
//
//   fuzz_trace TRACE SCRATCH SEED ROUNDS
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/native/convert/export.h"
#include "tool/native/trace/bytes.h"
#include "tool/native/trace/check.h"
#include "tool/native/trace/chunk.h"

static uint64_t state;

static uint64_t random_below(uint64_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

static const uint64_t HOSTILE[] = {0,          1,          127,        255,
                                   65535,      65536,      65537,      0x7fffffff,
                                   0x80000000, 0xffffffff, 1ull << 40, UINT64_MAX};

// Seals the file header, every chunk that can be found and the trailer again.
static void reseal(uint8_t *bytes, size_t count) {
    if (count < TAU_TRACE_FILE_HEADER_BYTES) {
        return;
    }
    uint32_t json = tau_trace_load32(bytes + 12);
    if (json > count - TAU_TRACE_FILE_HEADER_BYTES) {
        return;
    }
    tau_trace_store64(bytes + 16,
                      tau_trace_header_checksum(bytes, bytes + TAU_TRACE_FILE_HEADER_BYTES, json));
    for (size_t at = TAU_TRACE_FILE_HEADER_BYTES + json; at + TAU_TRACE_CHUNK_HEADER_BYTES <= count;
         at++) {
        struct tau_trace_chunk chunk;
        if (tau_trace_chunk_header(bytes + at, &chunk) &&
            chunk.payload_bytes <= count - at - TAU_TRACE_CHUNK_HEADER_BYTES) {
            tau_trace_chunk_seal(&chunk, bytes + at);
            at += TAU_TRACE_CHUNK_HEADER_BYTES + (size_t)chunk.payload_bytes - 1;
        }
    }
    if (count >= TAU_TRACE_TRAILER_BYTES) {
        uint8_t *trailer = bytes + count - TAU_TRACE_TRAILER_BYTES;
        tau_trace_store64(trailer + 8, tau_trace_trailer_checksum(trailer));
    }
}

static size_t damage(uint8_t *bytes, size_t count) {
    uint64_t kind = random_below(8);
    if (kind == 0) {
        return (size_t)random_below(count + 1);
    }
    for (uint64_t times = 1 + random_below(3); times > 0; times--) {
        // Half of the hits go to the last bytes, where index and totals are, or to the first ones.
        size_t span = random_below(2) == 0 && count > 600 ? 600 : count;
        size_t at = random_below(2) == 0 ? (size_t)random_below(span)
                                         : count - 1 - (size_t)random_below(span);
        if (kind < 4) {
            bytes[at] ^= (uint8_t)(1u << random_below(8));
        } else {
            uint64_t word = HOSTILE[random_below(sizeof HOSTILE / sizeof HOSTILE[0])];
            size_t width = random_below(2) == 0 ? 4 : 8;
            at &= ~(size_t)3;
            memcpy(bytes + at, &word, at + width <= count ? width : count - at);
        }
    }
    return count;
}

// Reads everything that a reader can give.
static void read_all(const char *path, FILE *sink) {
    enum tau_trace_status status;
    struct tau_trace_reader *reader = tau_trace_reader_open(path, &status);
    if (reader == NULL) {
        return;
    }
    const struct tau_trace_totals *totals = tau_trace_reader_totals(reader);
    size_t sizes = 0;
    (void)tau_trace_reader_sizes(reader, &sizes);
    for (uint64_t site = 1; site <= totals->sites && site < 3000; site++) {
        const char *module;
        uint64_t offset;
        uint32_t caller;
        if (tau_trace_reader_site(reader, (uint32_t)site, &module, &offset, &caller) !=
            TAU_TRACE_OK) {
            break;
        }
    }
    struct tau_trace_checker *checker = tau_trace_checker_open(reader);
    for (uint64_t block = 0; block < totals->blocks; block++) {
        (void)tau_trace_checker_block(checker, block);
    }
    (void)tau_trace_checker_totals(checker);
    tau_trace_checker_close(checker);
    struct tau_trace_exporter *exporter = tau_trace_exporter_open(reader, fileno(sink));
    for (uint64_t block = 0; block < totals->blocks && block < 2; block++) {
        (void)tau_trace_exporter_block(exporter, block);
    }
    (void)tau_trace_exporter_close(exporter);
    tau_trace_reader_close(reader);
}

// Memory of this program alone: getrusage also counts what its parent had.
static long resident_kib_max(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "VmHWM: %ld", &kib);
    }
    if (file == NULL || kib < 0) {
        perror("/proc/self/status");
        exit(2);
    }
    fclose(file);
    return kib;
}

static uint8_t *load(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1u << 22);
    if (file == NULL || bytes == NULL) {
        perror(path);
        exit(2);
    }
    *count = fread(bytes, 1, 1u << 22, file);
    fclose(file);
    return bytes;
}

int main(int count, char **values) {
    if (count != 5) {
        return 2;
    }
    size_t whole = 0;
    uint8_t *bytes = load(values[1], &whole);
    uint8_t *copy = malloc(whole);
    FILE *sink = fopen("/dev/null", "wb");
    state = strtoull(values[3], NULL, 0) * 2 + 1;
    for (unsigned long round = strtoul(values[4], NULL, 0); round > 0; round--) {
        memcpy(copy, bytes, whole);
        size_t left = damage(copy, whole);
        if (random_below(2) == 0) {
            reseal(copy, left);
        }
        int file = open(values[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || write(file, copy, left) != (ssize_t)left) {
            perror(values[2]);
            return 2;
        }
        close(file);
        read_all(values[2], sink);
    }
    printf("%ld\n", resident_kib_max());
    free(bytes);
    free(copy);
    fclose(sink);
    return 0;
}
