#include "kernel/slots/system_file.h"

#include <stdbool.h>
#include <stddef.h>

// The tables of a part: where the header has count and offset, what a row takes, and how many.
static const struct {
    uint8_t count;
    uint8_t offset;
    uint8_t row_words;
    uint16_t max;
} TABLES[] = {
    {TAU_COMPOSE_HEADER_SLOT_COUNT, TAU_COMPOSE_HEADER_SLOT_OFFSET, TAU_COMPOSE_SYSTEM_SLOT_WORDS,
     TAU_COMPOSE_LIMIT_SLOTS},
    {TAU_COMPOSE_HEADER_APPLICATION_COUNT, TAU_COMPOSE_HEADER_APPLICATION_OFFSET,
     TAU_COMPOSE_SYSTEM_APPLICATION_WORDS, TAU_COMPOSE_LIMIT_APPLICATIONS},
    {TAU_COMPOSE_HEADER_PAGE_COUNT, TAU_COMPOSE_HEADER_PAGE_OFFSET, TAU_COMPOSE_SYSTEM_PAGE_WORDS,
     TAU_COMPOSE_LIMIT_APPLICATIONS *TAU_COMPOSE_LIMIT_ENTRIES},
    {TAU_COMPOSE_HEADER_COMMAND_COUNT, TAU_COMPOSE_HEADER_COMMAND_OFFSET,
     TAU_COMPOSE_SYSTEM_COMMAND_WORDS, TAU_COMPOSE_LIMIT_COMMANDS},
    {TAU_COMPOSE_HEADER_CHANNEL_COUNT, TAU_COMPOSE_HEADER_CHANNEL_OFFSET,
     TAU_COMPOSE_SYSTEM_CHANNEL_WORDS, TAU_COMPOSE_LIMIT_FIFO_ENDS},
};
enum { TABLES_COUNT = sizeof TABLES / sizeof TABLES[0] };

static bool tables_inside(const struct tau_system_file *file) {
    const uint32_t size_words = file->header[TAU_COMPOSE_HEADER_SIZE_BYTES] / 4;
    for (uint32_t i = 0; i < TABLES_COUNT; i++) {
        const uint32_t count = file->header[TABLES[i].count];
        const uint32_t offset = file->header[TABLES[i].offset];
        if (count > TABLES[i].max || offset % 4 != 0 || offset / 4 > size_words ||
            count * TABLES[i].row_words > size_words - offset / 4) {
            return false;
        }
    }
    return true;
}

// Whether SIZE_BYTES at OFFSET of the part are words of the memory tile, which has ROOM_BYTES from
// the part on.
static bool is_inside(uint32_t room_bytes, uint32_t offset, uint32_t size_bytes) {
    return offset % 4 == 0 && offset <= room_bytes && size_bytes <= room_bytes - offset;
}

static bool images_inside(const struct tau_system_file *file, uint32_t room_bytes) {
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_APPLICATION_COUNT]; i++) {
        if (!is_inside(room_bytes,
                       tau_system_file_application(file, i, TAU_COMPOSE_APPLICATION_IMAGE_OFFSET),
                       tau_system_file_application(file, i, TAU_COMPOSE_APPLICATION_IMAGE_BYTES))) {
            return false;
        }
    }
    return is_inside(room_bytes, file->header[TAU_COMPOSE_HEADER_BASE_OFFSET],
                     file->header[TAU_COMPOSE_HEADER_BASE_BYTES]);
}

static bool applications_inside(const struct tau_system_file *file) {
    const uint32_t pages = file->header[TAU_COMPOSE_HEADER_PAGE_COUNT];
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_APPLICATION_COUNT]; i++) {
        const uint32_t first =
            tau_system_file_application(file, i, TAU_COMPOSE_APPLICATION_PAGE_FIRST);
        const uint32_t count =
            tau_system_file_application(file, i, TAU_COMPOSE_APPLICATION_PAGE_COUNT);
        const uint32_t tasks =
            tau_system_file_application(file, i, TAU_COMPOSE_APPLICATION_TASK_COUNT);
        if (first > pages || count > pages - first || count > TAU_COMPOSE_LIMIT_ENTRIES ||
            tasks > TAU_COMPOSE_LIMIT_TASKS) {
            return false;
        }
    }
    return true;
}

static bool names_application(const struct tau_system_file *file, uint32_t application,
                              uint32_t task) {
    return application < file->header[TAU_COMPOSE_HEADER_APPLICATION_COUNT] &&
           task <
               tau_system_file_application(file, application, TAU_COMPOSE_APPLICATION_TASK_COUNT);
}

static bool read_slots(struct tau_system_file *file) {
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_SLOT_COUNT]; i++) {
        const uint32_t application =
            tau_system_file_word(file, TAU_COMPOSE_HEADER_SLOT_OFFSET, i,
                                 TAU_COMPOSE_SYSTEM_SLOT_WORDS, TAU_COMPOSE_SLOT_APPLICATION);
        const uint32_t task =
            tau_system_file_word(file, TAU_COMPOSE_HEADER_SLOT_OFFSET, i,
                                 TAU_COMPOSE_SYSTEM_SLOT_WORDS, TAU_COMPOSE_SLOT_TASK);
        if (application != TAU_COMPOSE_SLOT_IDLE && application != TAU_COMPOSE_SLOT_LOADER &&
            !names_application(file, application, task)) {
            return false;
        }
        file->slots[i] = (struct tau_slot){(uint16_t)application, (uint16_t)task};
    }
    return true;
}

static bool commands_name_applications(const struct tau_system_file *file) {
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_COMMAND_COUNT]; i++) {
        const uint32_t application =
            tau_system_file_word(file, TAU_COMPOSE_HEADER_COMMAND_OFFSET, i,
                                 TAU_COMPOSE_SYSTEM_COMMAND_WORDS, TAU_COMPOSE_COMMAND_APPLICATION);
        if (!names_application(file, application, 0)) {
            return false;
        }
    }
    return true;
}

const char *tau_system_file_read(struct tau_system_file *file, const volatile uint32_t *memory,
                                 uint32_t tile) {
    const uint32_t offset = memory[tile];
    if (offset == 0 || offset % 4 != 0 ||
        offset >= TAU_COMPOSE_SYSTEM_BYTES_MAX - 4 * TAU_COMPOSE_SYSTEM_HEADER_WORDS) {
        return "the system file has no part for this tile";
    }
    file->words = memory + offset / 4;
    for (uint32_t i = 0; i < TAU_COMPOSE_SYSTEM_HEADER_WORDS; i++) {
        file->header[i] = file->words[i];
    }
    if (file->header[TAU_COMPOSE_HEADER_MAGIC] != TAU_COMPOSE_SYSTEM_MAGIC ||
        file->header[TAU_COMPOSE_HEADER_VERSION] != TAU_COMPOSE_SYSTEM_VERSION) {
        return "the memory tile has no system file of this version";
    }
    const uint32_t room_bytes = TAU_COMPOSE_SYSTEM_BYTES_MAX - offset;
    if (file->header[TAU_COMPOSE_HEADER_SIZE_BYTES] > room_bytes || !tables_inside(file) ||
        !applications_inside(file)) {
        return "a table reaches beyond the end of the system file";
    }
    if (!images_inside(file, room_bytes)) {
        return "an image of the system file reaches beyond the memory tile";
    }
    if (file->header[TAU_COMPOSE_HEADER_SLOT_COUNT] == 0 ||
        file->header[TAU_COMPOSE_HEADER_USER_SLOT_CYCLES] == 0 ||
        file->header[TAU_COMPOSE_HEADER_OS_SLOT_CYCLES] == 0) {
        return "the system file has no slots";
    }
    if (!read_slots(file) || !commands_name_applications(file)) {
        return "a slot or a command names an application that the file lacks";
    }
    return NULL;
}
