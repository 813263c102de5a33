#include "kernel/slots/pages.h"

#include "kernel/copy_words.h"
#include "kernel/slots/mmu_switch.h"
#include "kernel/stop.h"

enum { PAGE_LOG2 = 10, BASE_ORDER = 2 };

static struct tau_buddy buddy;
static struct tau_frame base_frame;

static uint32_t page_bytes(unsigned order) {
    return TAU_COMPOSE_SIZE_PAGE_BYTES_MIN << 2 * order;
}

static volatile uint32_t *frame_words(struct tau_frame frame) {
    return (volatile uint32_t *)(TAU_TILE_ADDRESS_FRAMES + (frame.number << PAGE_LOG2));
}

static uint32_t page_address(const struct tau_bound_page *page) {
    return TAU_TILE_ADDRESS_WINDOW + (page->page << PAGE_LOG2);
}

static bool has_own_frame(const struct tau_bound_page *page) {
    return page->kind == TAU_COMPOSE_PAGE_KIND_OWN;
}

// Clears a frame from the word FIRST on.
__attribute__((noinline)) static void clear(struct tau_frame frame, unsigned order,
                                            uint32_t first) {
    tau_words_clear(frame_words(frame) + first, page_bytes(order) / 4 - first);
}

const char *tau_pages_begin(void) {
    const uint32_t *header = tau_kernel.file.header;
    const uint32_t first = header[TAU_COMPOSE_HEADER_FRAME_FIRST];
    const uint32_t count = header[TAU_COMPOSE_HEADER_FRAME_COUNT];
    if (first < TAU_TILE_SIZE_COMMUNICATION_FRAMES || count > TAU_BUDDY_FRAMES_MAX - first ||
        TAU_BUDDY_SIZE_BYTES(first + count) > TAU_TILE_SIZE_PLAIN_BYTES) {
        return "the frames of the system file are not memory of the tile";
    }
    if (tau_buddy_init(&buddy, TAU_TILE_PLAIN, TAU_TILE_SIZE_PLAIN_BYTES, first + count) !=
            TAU_OK ||
        tau_buddy_add(&buddy, (struct tau_frame){first}, count) != TAU_OK ||
        tau_buddy_take(&buddy, BASE_ORDER, &base_frame) != TAU_OK) {
        return "the frames of the system file are too few";
    }
    const uint32_t words = header[TAU_COMPOSE_HEADER_BASE_BYTES] / 4;
    if (words > TAU_COMPOSE_SIZE_BASE_BYTES_MAX / 4) {
        return "the base code is too large";
    }
    const volatile uint32_t *image =
        tau_kernel.file.words + header[TAU_COMPOSE_HEADER_BASE_OFFSET] / 4;
    for (uint32_t i = 0; i < words; i++) {
        frame_words(base_frame)[i] = image[i];
    }
    clear(base_frame, BASE_ORDER, words);
    return NULL;
}

// Takes what the kind of PAGE needs; its frame in the page list is FRAME.
static bool take(struct tau_bound_page *page, uint32_t frame) {
    switch (page->kind) {
    case TAU_COMPOSE_PAGE_KIND_OWN:
        return tau_buddy_take(&buddy, page->order, &page->frame) == TAU_OK;
    case TAU_COMPOSE_PAGE_KIND_BASE:
        page->frame = base_frame;
        return true;
    case TAU_COMPOSE_PAGE_KIND_POOL:
        page->is_mapped = false;
        return true;
    default:
        page->frame = (struct tau_frame){frame};
        return true;
    }
}

// Adds the last page to the pool's: one in place of another, so that a fault finds it at once.
static bool add_pool_page(struct tau_application *application) {
    const uint32_t entry = application->pages_count - 1;
    if (application->pool_pages_count == 0) {
        application->pool_entry = entry;
    }
    const struct tau_bound_page *page = &application->pages[entry];
    const uint32_t index = application->pool_pages_count++;
    return page->order == 0 && entry == application->pool_entry + index &&
           page->page == application->pages[application->pool_entry].page + index;
}

static bool take_pool(struct tau_application *application, uint32_t frames_count) {
    application->pool_count = 0;
    application->pool_used_count = 0;
    if (frames_count > TAU_COMPOSE_LIMIT_ENTRIES) {
        return false;
    }
    for (uint32_t i = 0; i < frames_count; i++) {
        if (tau_buddy_take(&buddy, 0, &application->pool[i]) != TAU_OK) {
            return false;
        }
        application->pool_count++;
    }
    return true;
}

const char *tau_pages_allocate(uint32_t number) {
    const struct tau_system_file *file = &tau_kernel.file;
    struct tau_application *application = &tau_kernel.applications[number];
    const uint32_t first =
        tau_system_file_application(file, number, TAU_COMPOSE_APPLICATION_PAGE_FIRST);
    const uint32_t count =
        tau_system_file_application(file, number, TAU_COMPOSE_APPLICATION_PAGE_COUNT);
    const volatile uint32_t *rows = file->words + file->header[TAU_COMPOSE_HEADER_PAGE_OFFSET] / 4;
    bool is_enough = true;
    application->pages_count = 0;
    application->pool_pages_count = 0;
    for (uint32_t i = 0; i < count && is_enough; i++) {
        const volatile uint32_t *row = rows + (first + i) * TAU_COMPOSE_SYSTEM_PAGE_WORDS;
        const uint32_t place = row[0];
        const uint32_t rest = row[1];
        struct tau_bound_page page = {
            .page = place & ((1u << TAU_COMPOSE_PAGE_SHIFT_ORDER) - 1),
            .order = place >> TAU_COMPOSE_PAGE_SHIFT_ORDER & 7,
            .kind = rest >> TAU_COMPOSE_PAGE_SHIFT_KIND & 7,
            .is_mapped = true,
            .rights = rest & TAU_TILE_RIGHTS,
        };
        is_enough = take(&page, rest & ((1u << TAU_COMPOSE_PAGE_SHIFT_KIND) - 1));
        if (is_enough) {
            application->pages[application->pages_count++] = page;
        }
        if (is_enough && page.kind == TAU_COMPOSE_PAGE_KIND_POOL) {
            is_enough = add_pool_page(application);
        }
    }
    is_enough =
        is_enough && take_pool(application, tau_system_file_application(
                                                file, number, TAU_COMPOSE_APPLICATION_POOL_PAGES));
    if (!is_enough) {
        tau_pages_release(number);
        return "no frames of the sizes in its page list are left";
    }
    return NULL;
}

// How many words of PAGE, from its first on, the executable's image fills when it is loaded.
static uint32_t filled_words(const struct tau_bound_page *page,
                             const struct tau_executable *executable) {
    const uint32_t size_bytes = page_bytes(page->order);
    for (uint32_t i = 0; i < executable->segments_count; i++) {
        const struct tau_segment *segment = &executable->segments[i];
        const uint32_t offset = page_address(page) - segment->address;
        if (offset < segment->file_bytes) {
            const uint32_t rest = segment->file_bytes - offset;
            return (rest < size_bytes ? rest : size_bytes) / 4;
        }
    }
    return 0;
}

// The rights of a page that waits for its first touch are kept; the entry is empty.
static void bind(uint32_t table, uint32_t entry, const struct tau_bound_page *page) {
    tau_mmu_composable_set(table, entry, page->page, page->order,
                           page->is_mapped ? page->frame.number | page->rights : 0);
}

static void set_channels(uint32_t number) {
    const struct tau_system_file *file = &tau_kernel.file;
    for (uint32_t i = 0; i < file->header[TAU_COMPOSE_HEADER_CHANNEL_COUNT]; i++) {
        const volatile uint32_t *row = tau_system_file_row(file, TAU_COMPOSE_HEADER_CHANNEL_OFFSET,
                                                           i, TAU_COMPOSE_SYSTEM_CHANNEL_WORDS);
        if (row[TAU_COMPOSE_CHANNEL_APPLICATION] == number) {
            const uint32_t place = TAU_TILE_REGISTER_DMA + 16 * row[TAU_COMPOSE_CHANNEL_NUMBER];
            tau_tile_write(place, row[TAU_COMPOSE_CHANNEL_SOURCE_FRAME]);
            tau_tile_write(place + 4, row[TAU_COMPOSE_CHANNEL_DESTINATION_FRAME]);
            tau_tile_write(place + 8, row[TAU_COMPOSE_CHANNEL_BYTES]);
        }
    }
}

void tau_pages_bind(uint32_t number, const struct tau_executable *executable) {
    const struct tau_application *application = &tau_kernel.applications[number];
    for (uint32_t i = 0; i < application->pages_count; i++) {
        const struct tau_bound_page *page = &application->pages[i];
        const bool is_communication = page->kind == TAU_COMPOSE_PAGE_KIND_FIXED &&
                                      page->frame.number < TAU_TILE_SIZE_COMMUNICATION_FRAMES;
        if (has_own_frame(page) || is_communication) {
            clear(page->frame, page->order, filled_words(page, executable));
        }
        bind(number, i, page);
    }
    for (uint32_t i = 0; i < application->pool_count; i++) {
        clear(application->pool[i], 0, 0);
    }
    set_channels(number);
}

static const struct tau_bound_page *page_at(const struct tau_application *application,
                                            uint32_t address) {
    for (uint32_t i = 0; i < application->pages_count; i++) {
        const struct tau_bound_page *page = &application->pages[i];
        if (address - page_address(page) < page_bytes(page->order)) {
            return page;
        }
    }
    return NULL;
}

bool tau_pages_hold(uint32_t number, const struct tau_executable *executable) {
    const struct tau_application *application = &tau_kernel.applications[number];
    for (uint32_t i = 0; i < executable->segments_count; i++) {
        const struct tau_segment *segment = &executable->segments[i];
        for (uint32_t j = 0; j < application->pages_count; j++) {
            const struct tau_bound_page *page = &application->pages[j];
            const uint32_t start = page_address(page);
            const bool is_shared = start < segment->address + segment->memory_bytes &&
                                   segment->address < start + page_bytes(page->order);
            if (is_shared && (!has_own_frame(page) || page->rights != segment->rights)) {
                return false;
            }
        }
        uint32_t address = segment->address;
        // Each turn leaves a page behind, and an application has at most so many.
        for (uint32_t turn = 0; address - segment->address < segment->file_bytes; turn++) {
            const struct tau_bound_page *page = page_at(application, address);
            if (page == NULL || turn == TAU_COMPOSE_LIMIT_ENTRIES) {
                return false;
            }
            address = page_address(page) + page_bytes(page->order);
        }
    }
    return true;
}

void tau_pages_load(uint32_t number, const struct tau_executable *executable,
                    const volatile uint32_t *image) {
    const struct tau_application *application = &tau_kernel.applications[number];
    for (uint32_t i = 0; i < executable->segments_count; i++) {
        const struct tau_segment *segment = &executable->segments[i];
        const volatile uint32_t *source = image + segment->file_offset / 4;
        const uint32_t words = (segment->file_bytes + 3) / 4;
        uint32_t done = 0;
        while (done < words) {  // a turn for each of at most 64 pages
            const uint32_t address = segment->address + 4 * done;
            const struct tau_bound_page *page = page_at(application, address);
            TAU_KERNEL_ASSERT(page != NULL);
            const uint32_t first = (address - page_address(page)) / 4;
            const uint32_t room = page_bytes(page->order) / 4 - first;
            const uint32_t count = words - done < room ? words - done : room;
            tau_words_copy(frame_words(page->frame) + first, source + done, count);
            done += count;
        }
    }
}

void tau_pages_release(uint32_t number) {
    struct tau_application *application = &tau_kernel.applications[number];
    const struct tau_bound_page empty = {.is_mapped = false};
    for (uint32_t i = 0; i < application->pages_count; i++) {
        bind(number, i, &empty);
    }
    for (uint32_t i = 0; i < application->pages_count; i++) {
        const struct tau_bound_page *page = &application->pages[i];
        if (has_own_frame(page)) {
            const enum tau_status given = tau_buddy_give(&buddy, page->frame, page->order);
            TAU_KERNEL_ASSERT(given == TAU_OK);
        }
    }
    for (uint32_t i = 0; i < application->pool_count; i++) {
        const enum tau_status given = tau_buddy_give(&buddy, application->pool[i], 0);
        TAU_KERNEL_ASSERT(given == TAU_OK);
    }
    set_channels(number);  // which ends their transfers
    application->pages_count = 0;
    application->pool_count = 0;
}

bool tau_pages_serve_fault(uint32_t number, uint32_t address) {
    struct tau_application *application = &tau_kernel.applications[number];
    const uint32_t first = application->pool_entry;
    if (application->pool_used_count == application->pool_count ||
        address < page_address(&application->pages[first])) {
        return false;
    }
    const uint32_t index = (address - page_address(&application->pages[first])) >> PAGE_LOG2;
    if (index >= application->pool_pages_count || application->pages[first + index].is_mapped) {
        return false;
    }
    struct tau_bound_page *page = &application->pages[first + index];
    page->frame = application->pool[application->pool_used_count++];
    page->is_mapped = true;
    bind(number, first + index, page);
    tau_mmu_switch(number);
    return true;
}
