#include "audit.h"

#include "host.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace {

constexpr std::uint32_t PAGE_WORDS = TAU_COMPOSE_SIZE_PAGE_BYTES_MIN / 4;
constexpr std::uint32_t VALID = 1u << 31;
constexpr std::uint32_t ORDER_SHIFT = TAU_COMPOSE_PAGE_SHIFT_ORDER;
constexpr std::uint32_t FRAME_MASK = (1u << TAU_FRAME_BITS) - 1;
constexpr std::uint32_t FRAME_SPECIAL = 1u << (TAU_FRAME_BITS - 1);

}  // namespace

std::uint32_t with_bytes(std::uint32_t old, std::uint32_t data, std::uint32_t byte_enable) {
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < 4; i++) {
        if (byte_enable >> i & 1)
            mask |= 0xFFu << 8 * i;
    }
    return (old & ~mask) | (data & mask);
}

Audit::Audit(Tile &tile, const std::string &path)
    : tile(tile), file(std::fopen(path.c_str(), "wb")) {
    if (!file)
        throw ImageError(path + ": " + std::strerror(errno));
}

void Audit::table_write(std::uint32_t word, std::uint32_t data, std::uint32_t byte_enable) {
    if (word >= tables.size())
        return;
    tables[word] = with_bytes(tables[word], data, byte_enable);
    const std::uint32_t application = word / TABLE_WORDS;
    is_changed[application] = true;
    if (is_empty(application))
        has_run[application] = false;
}

bool Audit::is_empty(std::uint32_t application) const {
    const auto first = tables.begin() + application * TABLE_WORDS;
    return std::all_of(first, first + TABLE_WORDS, [](std::uint32_t word) { return word == 0; });
}

template <typename Visit>
void Audit::for_each_page(std::uint32_t application, Visit visit) const {
    for (unsigned i = 0; i < TABLE_WORDS; i += 2) {
        const std::uint32_t page = tables[application * TABLE_WORDS + i];
        const std::uint32_t frame = tables[application * TABLE_WORDS + i + 1] & FRAME_MASK;
        if ((page & VALID) == 0 || (frame & FRAME_SPECIAL) != 0)
            continue;
        const std::uint32_t order = page >> ORDER_SHIFT & 7;
        const std::uint32_t first = frame * PAGE_WORDS;
        visit(first, std::min(PAGE_WORDS << 2 * order, FRAME_SPECIAL * PAGE_WORDS - first));
    }
}

void Audit::application_runs(std::uint32_t application, std::uint64_t cycle) {
    last_cycle = cycle;
    if (application >= APPLICATIONS)
        return;
    if (is_changed[application])
        pages(application, cycle, false);
    is_changed[application] = false;
    has_run[application] = true;
}

void Audit::slot(std::uint32_t application, std::uint64_t cycle) {
    if (application >= APPLICATIONS)
        return;
    std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a, of words
    std::uint32_t count = 0;
    for_each_page(application, [&](std::uint32_t first, std::uint32_t words) {
        for (std::uint32_t i = 0; i < words; i++)
            hash = (hash ^ tile.frame_read(first + i)) * 0x100000001B3u;
        count += words;
    });
    const std::uint32_t record[8] = {TAU_HOST_AUDIT_SLOT,
                                     application,
                                     static_cast<std::uint32_t>(cycle),
                                     static_cast<std::uint32_t>(cycle >> 32),
                                     static_cast<std::uint32_t>(hash),
                                     static_cast<std::uint32_t>(hash >> 32),
                                     count,
                                     0};
    write(record, 8);
}

void Audit::pages(std::uint32_t application, std::uint64_t cycle, bool is_end) {
    std::uint32_t count = 0;
    for_each_page(application, [&](std::uint32_t, std::uint32_t words) { count += words; });
    const std::uint32_t record[8] = {is_end ? TAU_HOST_AUDIT_END : TAU_HOST_AUDIT_BEGIN,
                                     application,
                                     static_cast<std::uint32_t>(cycle),
                                     static_cast<std::uint32_t>(cycle >> 32),
                                     has_run[application],
                                     0,
                                     count,
                                     0};
    write(record, 8);
    write(tables.data(), tables.size());
    for_each_page(application, [&](std::uint32_t first, std::uint32_t words) {
        for (std::uint32_t i = 0; i < words; i++) {
            const std::uint32_t word = tile.frame_read(first + i);
            write(&word, 1);
        }
    });
}

void Audit::write(const std::uint32_t *words, std::size_t count) {
    is_lost = std::fwrite(words, sizeof *words, count, file.get()) != count || is_lost;
}

bool Audit::finish() {
    for (std::uint32_t i = 0; i < APPLICATIONS; i++) {
        if (!is_empty(i))
            pages(i, last_cycle, true);
    }
    return std::fflush(file.get()) == 0 && !is_lost;
}
