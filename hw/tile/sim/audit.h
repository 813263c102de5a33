// What the applications of a composable system can reach on one tile: the tables and the pages
// themselves, for a check that believes neither the kernel nor the program. hw/tile/doc/audit.md
// defines the records.
#ifndef TAU_TILE_AUDIT_H
#define TAU_TILE_AUDIT_H

#include "facts/gen/tau_compose_format.h"
#include "facts/gen/tau_tile_format.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

class Tile;

// OLD with those bytes of DATA that BYTE_ENABLE names.
std::uint32_t with_bytes(std::uint32_t old, std::uint32_t data, std::uint32_t byte_enable);

class Audit {
  public:
    // Throws ImageError if `path` cannot be written. The tile outlives it.
    Audit(Tile &tile, const std::string &path);

    // Word `word` of table memory 0 is stored to.
    void table_write(std::uint32_t word, std::uint32_t data, std::uint32_t byte_enable);
    // A task of the application is about to execute an instruction, on this tile or another one.
    // Records the application's pages if its table has changed since they were recorded.
    void application_runs(std::uint32_t application, std::uint64_t cycle);
    // One of its slots begins on this tile. Records a hash of its pages.
    void slot(std::uint32_t application, std::uint64_t cycle);
    // Records the pages of each application that is loaded. False if the file could not be written.
    bool finish();

  private:
    static constexpr unsigned APPLICATIONS = TAU_COMPOSE_LIMIT_APPLICATIONS;
    static constexpr unsigned TABLE_WORDS = TAU_COMPOSE_SIZE_TABLE_WORDS;
    struct Close {
        void operator()(std::FILE *file) const {
            std::fclose(file);
        }
    };

    bool is_empty(std::uint32_t application) const;
    void pages(std::uint32_t application, std::uint64_t cycle, bool is_end);
    void write(const std::uint32_t *words, std::size_t count);
    // Calls visit(first word of the frames, words) for each page in memory of the tile.
    template <typename Visit> void for_each_page(std::uint32_t application, Visit visit) const;

    Tile &tile;
    std::unique_ptr<std::FILE, Close> file;
    bool is_lost = false;
    std::uint64_t last_cycle = 0;
    std::array<std::uint32_t, APPLICATIONS * TABLE_WORDS> tables{};
    std::array<bool, APPLICATIONS> is_changed{};
    // Whether a task of the application ran, on any tile, since its table here was empty.
    std::array<bool, APPLICATIONS> has_run{};
};

#endif
