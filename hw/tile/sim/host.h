// The host's side of one simulated tile: image, frames, console, mailbox. hw/tile/doc/mailbox.md
// defines the records. host.cpp has the functions that the hardware calls.
#ifndef TAU_TILE_HOST_H
#define TAU_TILE_HOST_H

#include "facts/gen/tau_host_format.h"
#include "audit.h"
#include "image.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

constexpr unsigned CHANNELS = 8;
constexpr unsigned COUNTERS = TAU_TILE_SIZE_COUNTERS + 1;  // and cycles

using Command = std::array<std::uint32_t, 4>;
using Result = std::array<std::uint32_t, 8>;

class Tile {
  public:
    // Words without contents from a program are 0, or derived from `filling` if it is not 0.
    Tile(unsigned number, Image image, std::uint32_t filling);
    ~Tile();
    Tile(const Tile &) = delete;
    Tile &operator=(const Tile &) = delete;

    // `path` "-" is standard input or output. Throws ImageError if it cannot be opened.
    void open_commands(const std::string &path);
    void open_results(const std::string &path);
    void open_audit(const std::string &path);
    // Sends the histograms. Returns false if a result could not be written.
    bool finish();

    std::uint32_t first_word(std::uint32_t address) const;
    std::uint32_t frame_read(std::uint32_t word);
    void frame_write(std::uint32_t word, std::uint32_t data, std::uint32_t byte_enable);
    void console(std::uint32_t letter);
    std::uint32_t command_status();
    std::uint32_t command_word(std::uint32_t index);
    void command_next();
    void stopwatch(unsigned channel, unsigned action, std::uint32_t value, std::uint64_t cycle);
    void access(bool write, std::uint32_t cycles);
    void fault_repeated(std::uint32_t address, std::uint32_t cause, std::uint32_t cycles,
                        std::uint64_t cycle);

    // For a composable system (docs/spec/kernel.md): one application's console, and records. The
    // first `owner` turns records of traps on.
    void application_console(std::uint32_t application, std::uint32_t letter);
    void mark(const Result &record);
    void owner(const Result &record);
    void trap(std::uint32_t cause, std::uint32_t pc, std::uint32_t address, std::uint64_t cycle);
    void resume(bool is_user, std::uint64_t cycle);
    void table_write(std::uint32_t word, std::uint32_t data, std::uint32_t byte_enable);

    const unsigned number;
    std::optional<std::uint32_t> exit_code;
    std::uint32_t fault_records = 0;
    std::uint32_t faults = 0;
    std::uint64_t commands_taken = 0;
    std::array<std::uint64_t, COUNTERS> counters{};
    // For the other tile: `value` a link's latency after `cycle`.
    struct {
        std::uint32_t before, value;
        std::uint64_t cycle;
    } ready[16]{};
    std::FILE *console_file = stdout;

  private:
    struct Stopwatch {
        std::uint32_t tag, value, faults;
        std::uint64_t start, done;
    };
    struct Close {
        void operator()(std::FILE *file) const;
    };
    using File = std::unique_ptr<std::FILE, Close>;

    bool look_at_command();
    void send(const Result &result);
    void results_lost();
    void print_line(const std::string &who, std::string &line);

    Image image;
    std::uint32_t filling;
    std::uint32_t *frames;
    std::vector<bool> frame_filled;
    std::string console_line;
    std::map<std::uint32_t, std::string> application_lines;
    bool composable = false;
    std::unique_ptr<Audit> audit;
    std::uint32_t slot_application = 0;
    bool slot_begins = false;  // Its owner has not entered user mode yet.
    File commands, results;
    std::optional<Command> command;
    bool commands_ended = true;
    bool results_failed = false;
    std::array<Stopwatch, CHANNELS> stopwatches{};
    // Number of operations of a channel and a tag that took so many cycles.
    std::map<std::tuple<unsigned, std::uint32_t, std::uint32_t>, std::uint64_t> histogram;
    // The same for loads and stores, which are too many for a map.
    std::array<std::vector<std::uint64_t>, 2> accesses;
};

// A word on its way from a link to the frames of a tile.
struct Sent {
    std::uint32_t tile, word, data, byte_enable;
};

// All tiles of the simulation, and why it ends (empty: it continues).
struct Simulation {
    std::vector<std::unique_ptr<Tile>> tiles;
    std::vector<Sent> sent;
    std::vector<std::uint8_t> memory_tile;
    std::string end;
    bool stopped = false;

    // Writes what links have sent. Called between two edges, so that no tile reads meanwhile.
    void deliver();
    void stop(const std::string &reason);
};
extern Simulation simulation;

#endif
