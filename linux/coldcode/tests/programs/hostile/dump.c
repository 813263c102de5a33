// A core dump: a child writes a pattern and fails; its parent finds both in the file.
#include "hostile.h"

#define PATTERN_FACTOR 0x9e3779b97f4a7c15ul
#define CORE_LIMIT 4
#define SEGMENT_LOAD 1
#define SEGMENT_NOTE 4
#define NOTE_SIGNAL 12  // in the descriptor of the first note: NT_PRSTATUS
#define NOTE_REGISTERS 112

struct header {
    unsigned char identity[16];
    unsigned short type, machine;
    unsigned int version;
    unsigned long entry, segments_place, sections_place;
    unsigned int flags;
    unsigned short bytes, segment_bytes, segments_count, section_bytes, sections_count, names;
};

struct segment {
    unsigned int type, flags;
    unsigned long place, address, physical, file_bytes, memory_bytes, alignment;
};

struct note {
    unsigned int name_bytes, descriptor_bytes, type;
    char name[8];
    unsigned char descriptor[NOTE_REGISTERS + 32 * 8];
};

static void read_at(long file, void *target, unsigned long bytes, unsigned long place) {
    ask(CALL_READ_AT, file, (long)target, (long)bytes, (long)place, 0, 0);
}

static void fail(void) {
    static const unsigned long limits[2] = {1ul << 30, 1ul << 30};
    volatile unsigned long *const data = (volatile unsigned long *)DATA;
    for (unsigned long word = 0; word < PAGE_BYTES / sizeof *data; word++) {
        data[word] = word * PATTERN_FACTOR;
    }
    ask(CALL_LIMIT, CORE_LIMIT, (long)limits, 0, 0, 0, 0);
    // The registers that the dump must show, and a store to nowhere.
    __asm__ volatile("li s2, 0x1234567\nli s3, -77\nsd s2, 0(zero)" : : : "s2", "s3", "memory");
}

static void show_note(long file, const struct segment *segment) {
    struct note note;
    read_at(file, &note, sizeof note, segment->place);
    const unsigned long *registers = (unsigned long *)(void *)(note.descriptor + NOTE_REGISTERS);
    print_number("core_note", note.type);
    print_number("core_signal", note.descriptor[NOTE_SIGNAL]);
    print_number("core_s2", registers[18]);
    print_number("core_s3", registers[19]);
}

static void show_page(long file, const struct segment *segment) {
    unsigned long wrong = 0;
    for (unsigned long word = 0; word < PAGE_BYTES / sizeof word; word++) {
        unsigned long value = 1;
        read_at(file, &value, sizeof value, segment->place + word * sizeof word);
        wrong += value != word * PATTERN_FACTOR;
    }
    print_number("core_wrong_words", wrong);
}

void dump_core(void) {
    struct header header;
    struct segment segment;
    const long child = fork();
    if (child == 0) {
        fail();
    }
    print_number("core_status", end_of(child));
    const long file = ask(CALL_OPEN, AT_WORKING_DIRECTORY, (long)"/core", 0, 0, 0, 0);
    read_at(file, &header, sizeof header, 0);
    print_number("core_magic", header.identity[1]);
    print_number("core_segments", header.segments_count);
    for (unsigned number = 0; number < header.segments_count; number++) {
        read_at(file, &segment, sizeof segment, header.segments_place + number * sizeof segment);
        if (segment.type == SEGMENT_NOTE) {
            show_note(file, &segment);
        } else if (segment.type == SEGMENT_LOAD && segment.address == DATA) {
            show_page(file, &segment);
        }
    }
    ask(CALL_CLOSE, file, 0, 0, 0, 0, 0);
    ask(CALL_UNLINK, AT_WORKING_DIRECTORY, (long)"/core", 0, 0, 0, 0);
}
