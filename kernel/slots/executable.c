#include "kernel/slots/executable.h"

#include <stdbool.h>
#include <stddef.h>

#include "facts/gen/tau_tile_format.h"

// Words of the ELF header, and of a program header, that are looked at.
enum {
    ELF_MAGIC = 0x464C457F,
    ELF_CLASS32_LITTLE_VERSION1 = 0x010101,
    ELF_EXECUTABLE_RISCV = 0x00F30002,
    ELF_PROGRAM_OFFSET = 7,
    ELF_SIZES = 10,  // high half: of a program header
    ELF_COUNT = 11,  // low half: program headers
    ELF_HEADER_BYTES = 52,
    PROGRAM_TYPE = 0,
    PROGRAM_OFFSET = 1,
    PROGRAM_ADDRESS = 2,
    PROGRAM_FILE_BYTES = 4,
    PROGRAM_MEMORY_BYTES = 5,
    PROGRAM_FLAGS = 6,
    PROGRAM_WORDS = 8,
    TYPE_LOAD = 1,
    TYPE_NOTE = 4,
    FLAG_EXECUTE = 1,
    FLAG_WRITE = 2,
    FLAG_READ = 4,
    PROGRAM_HEADERS_MAX = TAU_EXECUTABLE_SEGMENTS_MAX + 8,
    NOTE_NAME = 0x00756174,  // "tau" and its zero
    NOTE_HEAD_WORDS = 4,
    RIGHTS_SHIFT = 27,
};

struct file {
    const volatile uint32_t *words;
    uint32_t size_bytes;
};

static bool is_inside(struct file file, uint32_t offset, uint32_t bytes) {
    return offset % 4 == 0 && offset <= file.size_bytes && bytes <= file.size_bytes - offset;
}

static const char *add_segment(struct tau_executable *executable, struct file file,
                               const volatile uint32_t *header) {
    const uint32_t flags = header[PROGRAM_FLAGS];
    struct tau_segment segment = {
        .address = header[PROGRAM_ADDRESS],
        .file_offset = header[PROGRAM_OFFSET],
        .file_bytes = header[PROGRAM_FILE_BYTES],
        .memory_bytes = header[PROGRAM_MEMORY_BYTES],
        .rights = ((flags & FLAG_READ) != 0 ? 1u << RIGHTS_SHIFT : 0) |
                  ((flags & FLAG_WRITE) != 0 ? 2u << RIGHTS_SHIFT : 0) |
                  ((flags & FLAG_EXECUTE) != 0 ? 4u << RIGHTS_SHIFT : 0),
    };
    if (segment.memory_bytes == 0) {
        return NULL;
    }
    if (executable->segments_count == TAU_EXECUTABLE_SEGMENTS_MAX) {
        return "it has too many segments";
    }
    if (segment.file_bytes > segment.memory_bytes ||
        !is_inside(file, segment.file_offset, segment.file_bytes)) {
        return "a segment is not inside the file";
    }
    if (segment.address % 4 != 0 || segment.file_bytes % 4 != 0) {
        return "a segment is not aligned";
    }
    if (segment.address < TAU_COMPOSE_ADDRESS_APPLICATION ||
        segment.address >= TAU_TILE_ADDRESS_FRAMES ||
        segment.memory_bytes > TAU_TILE_ADDRESS_FRAMES - segment.address) {
        return "a segment lies outside the addresses of applications";
    }
    if ((flags & FLAG_WRITE) != 0 && (flags & FLAG_EXECUTE) != 0) {
        return "a segment is writable and executable";
    }
    for (uint32_t i = 0; i < executable->segments_count; i++) {
        const struct tau_segment *other = &executable->segments[i];
        if (segment.address < other->address + other->memory_bytes &&
            other->address < segment.address + segment.memory_bytes) {
            return "two segments overlap";
        }
    }
    executable->segments[executable->segments_count++] = segment;
    return NULL;
}

static const char *read_note(struct tau_executable *executable, struct file file,
                             const volatile uint32_t *header, const uint32_t *hash) {
    const uint32_t offset = header[PROGRAM_OFFSET];
    const uint32_t bytes = header[PROGRAM_FILE_BYTES];
    if (!is_inside(file, offset, bytes)) {
        return "its note is not inside the file";
    }
    const volatile uint32_t *note = file.words + offset / 4;
    const volatile uint32_t *words = note + NOTE_HEAD_WORDS;
    if (bytes < 4 * (NOTE_HEAD_WORDS + TAU_COMPOSE_NOTE_HEAD_WORDS) || note[0] != 4 ||
        note[2] != TAU_COMPOSE_NOTE_TYPE || note[3] != NOTE_NAME) {
        return NULL;  // somebody else's
    }
    if (words[0] != TAU_COMPOSE_NOTE_VERSION) {
        return "its note has a different version";
    }
    const uint32_t tasks = words[1];
    if (executable->tasks_count != 0 || tasks == 0 || tasks > TAU_COMPOSE_LIMIT_TASKS ||
        bytes < 4 * (NOTE_HEAD_WORDS + TAU_COMPOSE_NOTE_HEAD_WORDS +
                     tasks * TAU_COMPOSE_NOTE_TASK_WORDS)) {
        return "its note lists no tasks, or too many";
    }
    for (uint32_t i = 0; i < TAU_COMPOSE_NOTE_HASH_BYTES / 4; i++) {
        if (words[2 + i] != hash[i]) {
            return "it is linked against a different base code";
        }
    }
    for (uint32_t i = 0; i < tasks; i++) {
        const volatile uint32_t *task =
            words + TAU_COMPOSE_NOTE_HEAD_WORDS + i * TAU_COMPOSE_NOTE_TASK_WORDS;
        executable->tasks[i] = (struct tau_task){.entry = task[0], .stack = task[1]};
    }
    executable->tasks_count = tasks;
    return NULL;
}

static bool has_segment(const struct tau_executable *executable, uint32_t address,
                        uint32_t rights) {
    for (uint32_t i = 0; i < executable->segments_count; i++) {
        const struct tau_segment *segment = &executable->segments[i];
        if (address - segment->address < segment->memory_bytes &&
            (segment->rights & rights) == rights) {
            return true;
        }
    }
    return false;
}

static const char *check_tasks(const struct tau_executable *executable) {
    if (executable->tasks_count == 0) {
        return "it has no note that lists its tasks";
    }
    for (uint32_t i = 0; i < executable->tasks_count; i++) {
        const struct tau_task *task = &executable->tasks[i];
        if (task->entry % 2 != 0 || !has_segment(executable, task->entry, 4u << RIGHTS_SHIFT)) {
            return "a task's entry is not code";
        }
        if (task->stack % 16 != 0) {
            return "stack_bytes of TAU_TASK must be a multiple of 16";
        }
        if (!has_segment(executable, task->stack - 1, 3u << RIGHTS_SHIFT)) {
            return "a task's stack does not end in a writable segment";
        }
    }
    return NULL;
}

const char *tau_executable_read(struct tau_executable *executable, const volatile uint32_t *image,
                                uint32_t size_bytes, const uint32_t *hash) {
    const struct file file = {image, size_bytes};
    executable->segments_count = 0;
    executable->tasks_count = 0;
    if (size_bytes < ELF_HEADER_BYTES) {
        return "it is truncated";
    }
    if (image[0] != ELF_MAGIC || (image[1] & 0xFFFFFF) != ELF_CLASS32_LITTLE_VERSION1 ||
        image[4] != ELF_EXECUTABLE_RISCV) {
        return "it is not an ELF32 executable for RISC-V";
    }
    const uint32_t headers = image[ELF_PROGRAM_OFFSET];
    const uint32_t count = image[ELF_COUNT] & 0xFFFF;
    if (image[ELF_SIZES] >> 16 != 4 * PROGRAM_WORDS || count > PROGRAM_HEADERS_MAX ||
        !is_inside(file, headers, count * 4 * PROGRAM_WORDS)) {
        return "its program headers are not inside the file";
    }
    for (uint32_t i = 0; i < count; i++) {
        const volatile uint32_t *header = image + headers / 4 + i * PROGRAM_WORDS;
        const char *wrong = NULL;
        if (header[PROGRAM_TYPE] == TYPE_LOAD) {
            wrong = add_segment(executable, file, header);
        } else if (header[PROGRAM_TYPE] == TYPE_NOTE) {
            wrong = read_note(executable, file, header, hash);
        }
        if (wrong != NULL) {
            return wrong;
        }
    }
    return check_tasks(executable);
}
