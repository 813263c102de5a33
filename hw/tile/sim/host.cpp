#include "host.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

Simulation simulation;

void Simulation::deliver() {
    for (const Sent &each : sent)
        tiles[each.tile]->frame_write(each.word, each.data, each.byte_enable);
    sent.clear();
}

void Simulation::stop(const std::string &reason) {
    if (!stopped)
        end = reason;
    stopped = true;
}

namespace {

constexpr std::size_t FRAME_WORDS = std::size_t{1} << (TAU_GRANULE_BITS - 2);
constexpr std::size_t FRAMES = std::size_t{1} << TAU_FRAME_BITS;
constexpr std::size_t FRAMES_BYTES = FRAMES * FRAME_WORDS * 4;
// Longer accesses are counted with this length.
constexpr std::uint32_t ACCESS_CYCLES_MAX = 65535;
constexpr std::size_t CONSOLE_LINE_BYTES_MAX = 4096;

enum Action { START, DONE, SEND, COUNT };

// A different word at every address. The same filling gives the same words in every run.
std::uint32_t scrambled(std::uint32_t address, std::uint32_t filling) {
    std::uint32_t value = address * 0x9E3779B1u ^ filling;
    value ^= value >> 15;
    value *= 0x85EBCA77u;
    value ^= value >> 13;
    return value;
}

std::uint32_t low(std::uint64_t number) {
    return static_cast<std::uint32_t>(number);
}

std::uint32_t high(std::uint64_t number) {
    return static_cast<std::uint32_t>(number >> 32);
}

std::uint32_t saturated(std::uint64_t cycles) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(cycles, UINT32_MAX));
}

}  // namespace

void Tile::Close::operator()(std::FILE *file) const {
    if (file != stdin && file != stdout)
        std::fclose(file);
}

Tile::Tile(unsigned number, Image image, std::uint32_t filling)
    : number(number), image(std::move(image)), filling(filling) {
    // The operating system allocates its pages on their first write.
    void *memory = mmap(nullptr, FRAMES_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        throw ImageError(std::string("no memory for the frames: ") + std::strerror(errno));
    }
    frames = static_cast<std::uint32_t *>(memory);
    if (filling != 0)
        frame_filled.resize(FRAMES);
    for (auto &counts : accesses)
        counts.resize(ACCESS_CYCLES_MAX + 1);
}

Tile::~Tile() {
    munmap(frames, FRAMES_BYTES);
}

void Tile::open_commands(const std::string &path) {
    commands.reset(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
    if (!commands)
        throw ImageError(path + ": " + std::strerror(errno));
    commands_ended = false;
}

void Tile::open_results(const std::string &path) {
    results.reset(path == "-" ? stdout : std::fopen(path.c_str(), "wb"));
    if (!results)
        throw ImageError(path + ": " + std::strerror(errno));
}

void Tile::open_audit(const std::string &path) {
    audit = std::make_unique<Audit>(*this, path);
}

bool Tile::finish() {
    if (audit && !audit->finish())
        results_failed = true;
    if (!console_line.empty())
        console('\n');
    for (auto &[application, line] : application_lines) {
        if (!line.empty())
            application_console(application, '\n');
    }
    for (unsigned write = 0; write < 2; write++) {
        for (std::uint32_t cycles = 0; cycles <= ACCESS_CYCLES_MAX; cycles++) {
            if (accesses[write][cycles] == 0)
                continue;
            histogram[{TAU_HOST_CHANNEL_LOAD + write, 0, cycles}] = accesses[write][cycles];
        }
    }
    for (const auto &[key, count] : histogram) {
        const auto &[channel, tag, cycles] = key;
        send({TAU_HOST_CHANNEL_HISTOGRAM | channel, tag, cycles, static_cast<std::uint32_t>(count),
              static_cast<std::uint32_t>(count >> 32), 0, 0, 0});
    }
    if (results && std::fflush(results.get()) != 0)
        results_lost();
    return !results_failed;
}

std::uint32_t Tile::first_word(std::uint32_t address) const {
    if (image.has(address))
        return image.word(address);
    return filling == 0 ? 0 : scrambled(address, filling);
}

std::uint32_t Tile::frame_read(std::uint32_t word) {
    if (filling != 0 && !frame_filled[word / FRAME_WORDS])
        return scrambled(word, ~filling);
    return frames[word];
}

void Tile::frame_write(std::uint32_t word, std::uint32_t data, std::uint32_t byte_enable) {
    if (filling != 0 && !frame_filled[word / FRAME_WORDS]) {
        const std::uint32_t first = word / FRAME_WORDS * FRAME_WORDS;
        for (std::uint32_t i = 0; i < FRAME_WORDS; i++) {
            frames[first + i] = scrambled(first + i, ~filling);
        }
        frame_filled[word / FRAME_WORDS] = true;
    }
    frames[word] = with_bytes(frames[word], data, byte_enable);
}

void Tile::console(std::uint32_t letter) {
    console_line.push_back(static_cast<char>(letter));
    if (console_line.back() == '\n' || console_line.size() >= CONSOLE_LINE_BYTES_MAX)
        print_line("", console_line);
}

void Tile::application_console(std::uint32_t application, std::uint32_t letter) {
    std::string &line = application_lines[application];
    line.push_back(static_cast<char>(letter));
    if (line.back() == '\n' || line.size() >= CONSOLE_LINE_BYTES_MAX)
        print_line("application " + std::to_string(application) + ": ", line);
}

void Tile::print_line(const std::string &who, std::string &line) {
    if (simulation.tiles.size() > 1)
        std::fprintf(console_file, "[%u] ", number);
    std::fwrite(who.data(), 1, who.size(), console_file);
    std::fwrite(line.data(), 1, line.size(), console_file);
    if (std::fflush(console_file) != 0 || std::ferror(console_file) != 0)
        simulation.stop(std::string("the console cannot be written: ") + std::strerror(errno));
    line.clear();
}

bool Tile::look_at_command() {
    if (command || commands_ended)
        return command.has_value();
    if (results && std::fflush(results.get()) != 0)
        results_lost();
    Command read;
    const std::size_t count = std::fread(read.data(), 1, sizeof read, commands.get());
    if (count == sizeof read) {
        command = read;
        return true;
    }
    commands_ended = true;
    if (std::ferror(commands.get()) != 0)
        simulation.stop(std::string("the commands cannot be read: ") + std::strerror(errno));
    else if (count != 0)
        simulation.stop("the commands end within a record");
    return false;
}

std::uint32_t Tile::command_status() {
    return look_at_command() ? 1 : 2;
}

std::uint32_t Tile::command_word(std::uint32_t index) {
    return look_at_command() ? (*command)[index] : 0;
}

void Tile::command_next() {
    if (look_at_command())
        commands_taken++;
    command.reset();
}

void Tile::send(const Result &result) {
    if (results && std::fwrite(result.data(), sizeof result, 1, results.get()) != 1)
        results_lost();
}

// A lost result cannot be sent again, so the simulation stops.
void Tile::results_lost() {
    if (!results_failed)
        simulation.stop(std::string("the results cannot be written: ") + std::strerror(errno));
    results_failed = true;
}

void Tile::stopwatch(unsigned channel, unsigned action, std::uint32_t value, std::uint64_t cycle) {
    Stopwatch &watch = stopwatches[channel];
    const std::uint32_t cycles = saturated(watch.done - watch.start);
    switch (action) {
    case START:
        watch = {value, 0, faults, cycle, cycle};
        break;
    case DONE:
        watch.value = value;
        watch.done = cycle;
        watch.faults = faults - watch.faults;
        break;
    case SEND:
        send({channel, watch.tag, cycles, watch.value, static_cast<std::uint32_t>(watch.done),
              static_cast<std::uint32_t>(watch.done >> 32), value, watch.faults});
        break;
    case COUNT:
        histogram[{channel, watch.tag, cycles}]++;
        break;
    }
}

void Tile::access(bool write, std::uint32_t cycles) {
    accesses[write][std::min(cycles, ACCESS_CYCLES_MAX)]++;
}

void Tile::fault_repeated(std::uint32_t address, std::uint32_t cause, std::uint32_t cycles,
                          std::uint64_t cycle) {
    if (fault_records & 1) {
        send({TAU_HOST_CHANNEL_FAULT, address, cycles, cause, static_cast<std::uint32_t>(cycle),
              static_cast<std::uint32_t>(cycle >> 32), 0, 1});
    }
    if (fault_records & 2)
        histogram[{TAU_HOST_CHANNEL_FAULT, 0, cycles}]++;
}

void Tile::mark(const Result &record) {
    send(record);
}

void Tile::owner(const Result &record) {
    composable = true;
    slot_application = record[1] >> 8;
    slot_begins = true;
    send(record);
}

void Tile::trap(std::uint32_t cause, std::uint32_t pc, std::uint32_t address, std::uint64_t cycle) {
    if (composable)
        send({TAU_HOST_CHANNEL_TRAP, cause, pc, address, low(cycle), high(cycle), 0, 0});
}

void Tile::resume(bool is_user, std::uint64_t cycle) {
    if (composable)
        send({TAU_HOST_CHANNEL_RESUME, 0, 0, 0, low(cycle), high(cycle), 0, 0});
    if (!audit || !is_user || !slot_begins)
        return;
    slot_begins = false;
    for (const auto &tile : simulation.tiles)
        tile->audit->application_runs(slot_application, cycle);
    audit->slot(slot_application, cycle);
}

void Tile::table_write(std::uint32_t word, std::uint32_t data, std::uint32_t byte_enable) {
    if (audit)
        audit->table_write(word, data, byte_enable);
}

// What the hardware calls: tau_host_pkg.sv. Verilator's header would declare them, but its name
// depends on the top module; the linker checks the names.
extern "C" {

unsigned tau_host_word(unsigned tile, unsigned address) {
    return simulation.tiles[tile]->first_word(address);
}

unsigned tau_host_frame_read(unsigned tile, unsigned word) {
    return simulation.tiles[tile]->frame_read(word);
}

void tau_host_frame_write(unsigned tile, unsigned word, unsigned data, unsigned byte_enable) {
    simulation.tiles[tile]->frame_write(word, data, byte_enable);
}

void tau_host_link_send(unsigned tile, unsigned word, unsigned data, unsigned byte_enable) {
    if ((tile ^ 1) < simulation.tiles.size())
        simulation.sent.push_back({tile ^ 1, word, data, byte_enable});
}

void tau_host_console(unsigned tile, unsigned letter) {
    simulation.tiles[tile]->console(letter);
}

void tau_host_exit(unsigned tile, unsigned code) {
    std::optional<std::uint32_t> &exit_code = simulation.tiles[tile]->exit_code;
    if (!exit_code)
        exit_code = code;
    for (const auto &each : simulation.tiles) {
        if (!each->exit_code)
            return;
    }
    simulation.stop("exit");
}

void tau_host_double_fault(unsigned tile, unsigned pc, unsigned exception_pc,
                           unsigned exception_address) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "tile %u: fault inside the fault handler, at about pc 0x%08x; it was handling "
                  "pc 0x%08x, address 0x%08x",
                  tile, pc, exception_pc, exception_address);
    simulation.stop(text);
}

unsigned tau_host_command_status(unsigned tile) {
    return simulation.tiles[tile]->command_status();
}

unsigned tau_host_command_word(unsigned tile, unsigned index) {
    return simulation.tiles[tile]->command_word(index);
}

void tau_host_command_next(unsigned tile) {
    simulation.tiles[tile]->command_next();
}

void tau_host_fault_records(unsigned tile, unsigned mode) {
    simulation.tiles[tile]->fault_records = mode;
}

void tau_host_stopwatch(unsigned tile, unsigned channel, unsigned action, unsigned value,
                        unsigned long long cycle) {
    simulation.tiles[tile]->stopwatch(channel, action, value, cycle);
}

void tau_host_access(unsigned tile, unsigned write, unsigned cycles) {
    simulation.tiles[tile]->access(write != 0, cycles);
}

void tau_host_fault(unsigned tile) {
    simulation.tiles[tile]->faults++;
}

void tau_host_fault_repeated(unsigned tile, unsigned address, unsigned cause, unsigned cycles,
                             unsigned long long cycle) {
    simulation.tiles[tile]->fault_repeated(address, cause, cycles, cycle);
}

void tau_host_ready_set(unsigned tile, unsigned index, unsigned value, unsigned long long cycle) {
    auto &word = simulation.tiles[tile]->ready[index];
    word = {word.value, value, cycle};
}

unsigned tau_host_ready(unsigned tile, unsigned index, unsigned long long cycle) {
    if ((tile ^ 1) >= simulation.tiles.size())
        return 0;
    const auto &word = simulation.tiles[tile ^ 1]->ready[index];
    return cycle >= word.cycle + TAU_TILE_SIZE_LINK_CYCLES ? word.value : word.before;
}

unsigned tau_host_memory_tile(unsigned word) {
    std::uint32_t value = 0;
    const std::size_t first = std::size_t{word} * sizeof value;
    const std::vector<std::uint8_t> &bytes = simulation.memory_tile;
    for (std::size_t i = 0; i < sizeof value && first + i < bytes.size(); i++)
        value |= std::uint32_t{bytes[first + i]} << 8 * i;
    return value;
}

void tau_host_application_console(unsigned tile, unsigned application, unsigned letter) {
    simulation.tiles[tile]->application_console(application, letter);
}

void tau_host_mark(unsigned tile, unsigned application, unsigned value, unsigned misses_fetch,
                   unsigned misses_data, unsigned words_moved, unsigned long long cycle) {
    simulation.tiles[tile]->mark({TAU_HOST_CHANNEL_MARK, value, application, misses_fetch,
                                  low(cycle), high(cycle), words_moved, misses_data});
}

void tau_host_owner(unsigned tile, unsigned owner, unsigned misses_fetch, unsigned misses_data,
                    unsigned words_moved, unsigned awake_cycles, unsigned long long cycle) {
    simulation.tiles[tile]->owner({TAU_HOST_CHANNEL_OWNER, owner, misses_fetch, misses_data,
                                   low(cycle), high(cycle), words_moved, awake_cycles});
}

void tau_host_trap(unsigned tile, unsigned cause, unsigned pc, unsigned address,
                   unsigned long long cycle) {
    simulation.tiles[tile]->trap(cause, pc, address, cycle);
}

void tau_host_resume(unsigned tile, unsigned is_user, unsigned long long cycle) {
    simulation.tiles[tile]->resume(is_user != 0, cycle);
}

void tau_host_table_write(unsigned tile, unsigned word, unsigned data, unsigned byte_enable) {
    simulation.tiles[tile]->table_write(word, data, byte_enable);
}

void tau_host_counter(unsigned tile, unsigned index, unsigned long long count) {
    simulation.tiles[tile]->counters[index] = count;
}
}
