#include "kernel/slots/system_file.h"

#include <stdbool.h>
#include <stddef.h>

#include "facts/gen/tau_tile_format.h"

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
    {TAU_COMPOSE_HEADER_GRANT_COUNT, TAU_COMPOSE_HEADER_GRANT_OFFSET,
     TAU_COMPOSE_SYSTEM_GRANT_WORDS, TAU_COMPOSE_LIMIT_GRANTS},
};
enum { TABLES_COUNT = sizeof TABLES / sizeof TABLES[0] };

// Of a page of the list.
enum {
    RIGHTS_STORE = 2,
    RIGHTS_DATA = 3,  // loads and stores
    RIGHTS_CODE = 4,
    ORDER_MAX = 7,
    BASE_ORDER = 2,
    BASE_PAGE =
        (TAU_COMPOSE_ADDRESS_BASE - TAU_TILE_ADDRESS_WINDOW) / TAU_COMPOSE_SIZE_PAGE_BYTES_MIN,
    SPECIAL_NUMBERS = 1 << 15,  // Above these bits is the kind of a device, and 1 above that.
    KIND_LINK = 4 | TAU_TILE_SPECIAL_LINK,
    KIND_DMA = 4 | TAU_TILE_SPECIAL_DMA,
    KIND_SYSTEM = 4 | TAU_TILE_SPECIAL_SYSTEM,
    WINDOW_PAGES = 1 << 18,
};

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

bool tau_system_file_names(const struct tau_system_file *file, uint32_t application,
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
            !tau_system_file_names(file, application, task)) {
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
        if (!tau_system_file_names(file, application, 0)) {
            return false;
        }
    }
    return true;
}

// ---- Who may have which frames and devices, with which rights -----------------------------------

static bool grants_allowed(const struct tau_system_file *file) {
    uint32_t end = 0;  // of the grant before, in frames of all tiles
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_GRANT_COUNT]; i++) {
        const volatile uint32_t *row = tau_system_file_row(file, TAU_COMPOSE_HEADER_GRANT_OFFSET, i,
                                                           TAU_COMPOSE_SYSTEM_GRANT_WORDS);
        const uint32_t frame = row[TAU_COMPOSE_GRANT_FRAME];
        const uint32_t frames = row[TAU_COMPOSE_GRANT_FRAMES];
        const uint32_t start =
            row[TAU_COMPOSE_GRANT_TILE] * TAU_TILE_SIZE_COMMUNICATION_FRAMES + frame;
        if (!tau_system_file_names(file, row[TAU_COMPOSE_GRANT_APPLICATION], 0) || start < end ||
            frame > TAU_TILE_SIZE_COMMUNICATION_FRAMES || frames == 0 ||
            frames > TAU_TILE_SIZE_COMMUNICATION_FRAMES - frame) {
            return false;
        }
        end = start + frames;
    }
    return true;
}

// Whether COUNT frames from FRAME on of a tile's communication memory were granted in one row.
static bool is_granted(const struct tau_system_file *file, uint32_t application, uint32_t tile,
                       uint32_t frame, uint32_t count) {
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_GRANT_COUNT]; i++) {
        const volatile uint32_t *row = tau_system_file_row(file, TAU_COMPOSE_HEADER_GRANT_OFFSET, i,
                                                           TAU_COMPOSE_SYSTEM_GRANT_WORDS);
        const uint32_t from = frame - row[TAU_COMPOSE_GRANT_FRAME];
        const uint32_t frames = row[TAU_COMPOSE_GRANT_FRAMES];
        if (row[TAU_COMPOSE_GRANT_APPLICATION] == application &&
            row[TAU_COMPOSE_GRANT_TILE] == tile && from < frames && count <= frames - from) {
            return true;
        }
    }
    return false;
}

static bool channels_allowed(const struct tau_system_file *file, uint32_t tile) {
    uint32_t least = 0;
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_CHANNEL_COUNT]; i++) {
        const volatile uint32_t *row = tau_system_file_row(file, TAU_COMPOSE_HEADER_CHANNEL_OFFSET,
                                                           i, TAU_COMPOSE_SYSTEM_CHANNEL_WORDS);
        const uint32_t application = row[TAU_COMPOSE_CHANNEL_APPLICATION];
        const uint32_t number = row[TAU_COMPOSE_CHANNEL_NUMBER];
        const uint32_t frames = row[TAU_COMPOSE_CHANNEL_BYTES] / TAU_COMPOSE_SIZE_PAGE_BYTES_MIN;
        if (number < least || number >= TAU_TILE_SIZE_DMA_CHANNELS ||
            row[TAU_COMPOSE_CHANNEL_BYTES] % TAU_COMPOSE_SIZE_PAGE_BYTES_MIN != 0 ||
            !is_granted(file, application, tile, row[TAU_COMPOSE_CHANNEL_SOURCE_FRAME], frames) ||
            !is_granted(file, application, tile ^ 1, row[TAU_COMPOSE_CHANNEL_DESTINATION_FRAME],
                        frames)) {
            return false;
        }
        least = number + 1;
    }
    return true;
}

static uint32_t owner_of(const struct tau_system_file *file, uint32_t channel) {
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_CHANNEL_COUNT]; i++) {
        if (tau_system_file_row(file, TAU_COMPOSE_HEADER_CHANNEL_OFFSET, i,
                                TAU_COMPOSE_SYSTEM_CHANNEL_WORDS)[TAU_COMPOSE_CHANNEL_NUMBER] ==
            channel) {
            return tau_system_file_row(
                file, TAU_COMPOSE_HEADER_CHANNEL_OFFSET, i,
                TAU_COMPOSE_SYSTEM_CHANNEL_WORDS)[TAU_COMPOSE_CHANNEL_APPLICATION];
        }
    }
    return TAU_COMPOSE_SLOT_IDLE;
}

static bool frame_allowed(const struct tau_system_file *file, uint32_t tile, uint32_t application,
                          uint32_t frame, uint32_t frames, uint32_t rights) {
    const uint32_t number = frame % SPECIAL_NUMBERS;
    const uint32_t kind = frame / SPECIAL_NUMBERS;
    if (kind == KIND_DMA || kind == KIND_SYSTEM) {
        const uint32_t owner = kind == KIND_DMA ? owner_of(file, number) : number;
        return owner == application && frames == 1 && rights == RIGHTS_DATA;
    }
    if (kind == KIND_LINK) {
        return rights == RIGHTS_STORE && is_granted(file, application, tile ^ 1, number, frames);
    }
    return (rights == RIGHTS_STORE || rights == RIGHTS_DATA) &&
           is_granted(file, application, tile, frame, frames);
}

static bool page_allowed(const struct tau_system_file *file, uint32_t tile, uint32_t application,
                         uint32_t place, uint32_t rest) {
    const uint32_t order = place >> TAU_COMPOSE_PAGE_SHIFT_ORDER;
    const uint32_t page = place % (1u << TAU_COMPOSE_PAGE_SHIFT_ORDER);
    const uint32_t rights = rest >> TAU_COMPOSE_PAGE_SHIFT_RIGHTS;
    switch (rest >> TAU_COMPOSE_PAGE_SHIFT_KIND & 7) {
    case TAU_COMPOSE_PAGE_KIND_OWN:
        return rights < (RIGHTS_STORE | RIGHTS_CODE);  // and then not both of them
    case TAU_COMPOSE_PAGE_KIND_BASE:
        return rights == RIGHTS_CODE && order == BASE_ORDER && page == BASE_PAGE;
    case TAU_COMPOSE_PAGE_KIND_POOL:
        return rights == RIGHTS_DATA;
    case TAU_COMPOSE_PAGE_KIND_FIXED:
        return frame_allowed(file, tile, application, rest % (1u << TAU_COMPOSE_PAGE_SHIFT_KIND),
                             1u << 2 * order, rights);
    default:
        return false;
    }
}

static bool pages_allowed(const struct tau_system_file *file, uint32_t tile, uint32_t application) {
    const uint32_t first =
        tau_system_file_application(file, application, TAU_COMPOSE_APPLICATION_PAGE_FIRST);
    const uint32_t count =
        tau_system_file_application(file, application, TAU_COMPOSE_APPLICATION_PAGE_COUNT);
    uint32_t end = 1;  // of the page before; page 0 is nobody's
    for (uint32_t i = first; i < first + count; i++) {
        const volatile uint32_t *row = tau_system_file_row(file, TAU_COMPOSE_HEADER_PAGE_OFFSET, i,
                                                           TAU_COMPOSE_SYSTEM_PAGE_WORDS);
        const uint32_t place = row[0];
        const uint32_t rest = row[1];
        const uint32_t order = place >> TAU_COMPOSE_PAGE_SHIFT_ORDER;
        const uint32_t page = place % (1u << TAU_COMPOSE_PAGE_SHIFT_ORDER);
        if (order > ORDER_MAX || page < end || page >= WINDOW_PAGES ||
            page % (1u << 2 * order) != 0 || !page_allowed(file, tile, application, place, rest)) {
            return false;
        }
        end = page + (1u << 2 * order);
    }
    return true;
}

static const char *check_rights(const struct tau_system_file *file, uint32_t tile) {
    if (!grants_allowed(file)) {
        return "two grants overlap, or one is nobody's";
    }
    if (!channels_allowed(file, tile)) {
        return "a DMA channel has two owners, or frames that were not granted";
    }
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_APPLICATION_COUNT]; i++) {
        if (!pages_allowed(file, tile, i)) {
            return "pages overlap, or have frames or rights that were not granted";
        }
    }
    return NULL;
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
        file->header[TAU_COMPOSE_HEADER_OS_SLOT_CYCLES] == 0 ||
        file->header[TAU_COMPOSE_HEADER_EPOCH_FRAMES] == 0) {
        return "the system file has no slots";
    }
    if (!read_slots(file) || !commands_name_applications(file)) {
        return "a slot or a command names an application that the file lacks";
    }
    return check_rights(file, tile);
}
