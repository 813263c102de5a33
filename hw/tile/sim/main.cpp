// The simulator of one or several tiles. It runs a program until the program exits, a limit is
// reached or an error occurs. hw/README.md says how to build and use it.
#include "host.h"

#include "Vtau_sim.h"
#include "Vtau_sim___024root.h"
#include "verilated.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>

namespace {

enum ExitCode {
    PASSED = TAU_HOST_END_PASSED,
    PROGRAM_FAILED = TAU_HOST_END_PROGRAM_FAILED,
    USAGE = TAU_HOST_END_USAGE,
    CYCLE_LIMIT = TAU_HOST_END_CYCLE_LIMIT,
    DOUBLE_FAULT = TAU_HOST_END_DOUBLE_FAULT,
    ASSERTION = TAU_HOST_END_ASSERTION,
};

constexpr char USAGE_TEXT[] =
    "usage: tau_sim --program ELF [options]      (one --program a tile, or one for all)\n"
    "  --tiles N           so many tiles (default 1)\n"
    "  --bytes ADDRESS     the programs are plain bytes for ADDRESS, not ELF\n"
    "  --image FILE@OFFSET bytes of the memory tile from there on; any number of files\n"
    "  --cycles-max N      stop after N cycles (default 1000000000)\n"
    "  --commands FILE|-   commands for the mailbox (one a tile)\n"
    "  --results FILE|-    where the mailbox's results go (one a tile)\n"
    "  --audit FILE        page tables and pages of a composable system (each tile)\n"
    "  --summary FILE      counters and the reason of the end, as JSON\n"
    "  --stall N           wait states in N of 256 cycles (default 0)\n"
    "  --stall-seed N      which cycles (default 1)\n"
    "  --fill N            memories begin with numbers chosen by N, not with 0\n"
    "  --no-dma-turns      DMA channels delay each other: a leak that must be found\n"
    "  --progress          a line `progress CYCLES COMMANDS` on standard error every half second\n"
    "  --parent PID        stop when that process, which started this one, is gone\n"
    "exit: 0 the program exited with 0, 1 with something else, 2 wrong usage or program, or a\n"
    "file that cannot be read or written, 3 cycle limit, 4 fault inside the fault handler,\n"
    "5 an assertion of the hardware failed\n";

constexpr unsigned TILES_MAX = 8;

struct Options {
    std::vector<std::string> programs, commands, results, audits, images;
    std::optional<std::uint32_t> bytes_address;
    std::string summary;
    std::size_t tiles = 1;
    std::uint64_t cycles_max = 1000000000;
    std::uint32_t stall = 0, stall_seed = 1, filling = 0;
    bool progress = false, dma_turns = true;
    pid_t parent = 0;  // 0: the parent may exit
};

std::uint64_t number(const char *text, const std::string &option, std::uint64_t max) {
    char *end = nullptr;
    errno = 0;
    const std::uint64_t value = std::strtoull(text, &end, 0);
    if (!std::isdigit(static_cast<unsigned char>(*text)) || *end != '\0' || errno != 0 ||
        value > max) {
        throw ImageError(option + ": `" + text + "` is not a number from 0 to " +
                         std::to_string(max));
    }
    return value;
}

Options parsed(int count, char **words) {
    Options options;
    for (int i = 1; i < count; i++) {
        const std::string option = words[i];
        if (option == "--progress") {
            options.progress = true;
            continue;
        }
        if (option == "--no-dma-turns") {
            options.dma_turns = false;
            continue;
        }
        if (i + 1 == count)
            throw ImageError(option + ": unknown, or its value is missing");
        const char *value = words[++i];
        if (option == "--program")
            options.programs.push_back(value);
        else if (option == "--commands")
            options.commands.push_back(value);
        else if (option == "--results")
            options.results.push_back(value);
        else if (option == "--audit")
            options.audits.push_back(value);
        else if (option == "--image")
            options.images.push_back(value);
        else if (option == "--summary")
            options.summary = value;
        else if (option == "--bytes")
            options.bytes_address = static_cast<std::uint32_t>(number(value, option, UINT32_MAX));
        else if (option == "--tiles")
            options.tiles = number(value, option, TILES_MAX);
        else if (option == "--cycles-max")
            options.cycles_max = number(value, option, UINT64_MAX);
        else if (option == "--stall")
            options.stall = static_cast<std::uint32_t>(number(value, option, 255));
        else if (option == "--stall-seed")
            options.stall_seed = static_cast<std::uint32_t>(number(value, option, UINT32_MAX));
        else if (option == "--fill")
            options.filling = static_cast<std::uint32_t>(number(value, option, UINT32_MAX));
        else if (option == "--parent")
            options.parent = static_cast<pid_t>(number(value, option, INT32_MAX));
        else
            throw ImageError(option + ": unknown option");
    }
    const std::size_t programs = options.programs.size();
    if (options.tiles == 0)
        throw ImageError("--tiles: at least 1");
    if (programs != 1 && programs != options.tiles) {
        throw ImageError("one --program, or one for each of the " + std::to_string(options.tiles) +
                         " tiles");
    }
    if (options.commands.size() > options.tiles || options.results.size() > options.tiles) {
        throw ImageError("more --commands or --results than tiles");
    }
    if (!options.audits.empty() && options.audits.size() != options.tiles)
        throw ImageError("one --audit for each tile");
    for (const auto &files : {options.commands, options.results}) {
        if (std::count(files.begin(), files.end(), "-") > 1)
            throw ImageError("`-` is for one tile only");
    }
    return options;
}

void make_tiles(const Options &options) {
    for (unsigned i = 0; i < options.tiles; i++) {
        const std::string &path = options.programs[i % options.programs.size()];
        Image image = options.bytes_address ? Image::from_bytes(path, *options.bytes_address)
                                            : Image::from_elf(path);
        auto tile = std::make_unique<Tile>(i, std::move(image), options.filling);
        if (i < options.commands.size())
            tile->open_commands(options.commands[i]);
        if (i < options.results.size())
            tile->open_results(options.results[i]);
        if (i < options.audits.size())
            tile->open_audit(options.audits[i]);
        for (const std::string &results : options.results) {
            if (results == "-")
                tile->console_file = stderr;
        }
        simulation.tiles.push_back(std::move(tile));
    }
}

// Puts the bytes of FILE@OFFSET into the memory tile; two files may not have the same place.
void place_image(const std::string &option, std::vector<bool> &taken) {
    const std::size_t at = option.rfind('@');
    if (at == std::string::npos)
        throw ImageError("--image " + option + ": it is FILE@OFFSET");
    const std::string path = option.substr(0, at);
    const std::uint64_t offset =
        number(option.c_str() + at + 1, "--image", TAU_TILE_SIZE_MEMORY_TILE_BYTES);
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (file == nullptr)
        throw ImageError(path + ": " + std::strerror(errno));
    std::vector<std::uint8_t> &memory = simulation.memory_tile;
    std::uint64_t place = offset;
    std::string wrong;
    for (int byte; wrong.empty() && (byte = std::fgetc(file)) != EOF; place++) {
        if (place >= TAU_TILE_SIZE_MEMORY_TILE_BYTES)
            wrong = "reaches beyond the memory tile";
        else if (place < taken.size() && taken[place])
            wrong = "overlaps another image at " + std::to_string(place);
        if (place >= memory.size()) {
            memory.resize(place + 1);
            taken.resize(place + 1);
        }
        memory[place] = static_cast<std::uint8_t>(byte);
        taken[place] = true;
    }
    if (std::ferror(file) != 0)
        wrong = std::strerror(errno);
    std::fclose(file);
    if (!wrong.empty())
        throw ImageError("--image " + option + ": " + wrong);
}

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void show_progress(std::uint64_t cycle) {
    static std::timespec last;
    std::timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t passed =
        (now.tv_sec - last.tv_sec) * 1000000000LL + (now.tv_nsec - last.tv_nsec);
    if (passed < 500000000)
        return;
    last = now;
    std::uint64_t commands = 0;
    for (const auto &tile : simulation.tiles)
        commands += tile->commands_taken;
    std::fprintf(stderr, "progress %" PRIu64 " %" PRIu64 "\n", cycle, commands);
}

using Models = std::vector<std::unique_ptr<Vtau_sim>>;

// The clock as the model has last seen it, if Verilator has it under this name; else null.
template <typename Root>
auto clock_seen(Root &root, int) -> decltype(&root.__Vtrigprevexpr___TOP__clk_i__0) {
    return &root.__Vtrigprevexpr___TOP__clk_i__0;
}
template <typename Root> CData *clock_seen(Root &, long) {
    return nullptr;
}

// A falling edge. Only links do anything there, so without them the model need not run.
void fall(Vtau_sim &model) {
    CData *const seen = clock_seen(*model.rootp, 0);
    if (!TAU_SPECIAL_FRAMES && seen != nullptr) {
        *seen = 0;
        return;
    }
    model.clk_i = 0;
    model.eval();
}

void cycle_of(const Models &models) {
    for (const auto &model : models) {
        model->clk_i = 1;
        model->eval();
    }
    for (const auto &model : models)
        fall(*model);
    if (!simulation.sent.empty())
        simulation.deliver();
}

void reset(const Models &models, const Options &options) {
    for (std::size_t i = 0; i < models.size(); i++) {
        Vtau_sim &model = *models[i];
        model.tile_i = static_cast<std::uint32_t>(i);
        model.stall_threshold_i = static_cast<std::uint8_t>(options.stall);
        model.stall_seed_i = options.stall_seed + static_cast<std::uint32_t>(i);
        model.dma_turns_i = options.dma_turns;
        // A reset needs an edge: registers that see reset active from the start do not change.
        model.clk_i = 0;
        model.rst_ni = 1;
        model.eval();
        model.rst_ni = 0;
        for (int half = 0; half < 8; half++) {
            model.clk_i = !model.clk_i;
            model.eval();
        }
        model.rst_ni = 1;
        model.eval();
    }
}

// Runs to the end and returns the cycles simulated.
std::uint64_t run(const Models &models, VerilatedContext &context, const Options &options) {
    constexpr std::uint64_t CYCLES_BETWEEN_LOOKS = 1 << 16;
    reset(models, options);
    std::uint64_t cycle = 0;
    while (!simulation.stopped) {
        if (cycle >= options.cycles_max) {
            simulation.stop("cycle limit");
            break;
        }
        const std::uint64_t left = options.cycles_max - cycle;
        const std::uint64_t until = cycle + std::min(left, CYCLES_BETWEEN_LOOKS);
        while (cycle < until && !simulation.stopped && !context.gotFinish()) {
            cycle_of(models);
            cycle++;
        }
        if (context.gotFinish())
            simulation.stop("assertion");
        if (options.progress)
            show_progress(cycle);
        if (options.parent != 0 && getppid() != options.parent)
            simulation.stop("the process that started this one is gone");
    }
    return cycle;
}

const char *const COUNTER_NAMES[COUNTERS] = {"fetches_local",
                                             "fetches_window",
                                             "loads_local",
                                             "stores_local",
                                             "loads_window",
                                             "stores_window",
                                             "hits_fetch",
                                             "hits_data",
                                             "misses_fetch",
                                             "misses_data",
                                             "faults_fetch_unmapped",
                                             "faults_fetch_rights",
                                             "faults_fetch_outside",
                                             "faults_data_unmapped",
                                             "faults_data_rights",
                                             "faults_data_outside",
                                             "cycles"};

// Everything but "host" is the same in every run.
bool write_summary(const std::string &path, std::uint64_t cycles, double seconds) {
    std::FILE *file = std::fopen(path.c_str(), "w");
    if (file == nullptr)
        return false;
    std::fprintf(file, "{\n \"end\": \"%s\",\n \"cycles\": %" PRIu64 ",\n \"tiles\": [",
                 simulation.end.c_str(), cycles);
    for (const auto &tile : simulation.tiles) {
        std::fprintf(file, "%s\n  {\"exit_code\": ", tile->number == 0 ? "" : ",");
        if (tile->exit_code)
            std::fprintf(file, "%" PRIu32, *tile->exit_code);
        else
            std::fprintf(file, "null");
        std::fprintf(file, ", \"commands\": %" PRIu64, tile->commands_taken);
        for (unsigned i = 0; i < COUNTERS; i++) {
            std::fprintf(file, ",\n   \"%s\": %" PRIu64, COUNTER_NAMES[i], tile->counters[i]);
        }
        std::fprintf(file, "}");
    }
    std::fprintf(file,
                 "\n ],\n \"host\": {\"cpu_seconds\": %.3f, \"cycles_per_cpu_second\": %.0f}\n}\n",
                 seconds, seconds > 0 ? static_cast<double>(cycles) / seconds : 0.0);
    return std::fclose(file) == 0;
}

ExitCode verdict(bool asserted) {
    if (asserted)
        return ASSERTION;
    if (simulation.end == "cycle limit")
        return CYCLE_LIMIT;
    if (simulation.end.find("fault inside") != std::string::npos)
        return DOUBLE_FAULT;
    if (simulation.end != "exit")
        return USAGE;
    for (const auto &tile : simulation.tiles) {
        if (*tile->exit_code != 0)
            return PROGRAM_FAILED;
    }
    return PASSED;
}

}  // namespace

int main(int argc, char **argv) {
    Options options;
    try {
        options = parsed(argc, argv);
    } catch (const ImageError &error) {
        std::fprintf(stderr, "tau_sim: %s\n%s", error.what(), USAGE_TEXT);
        return USAGE;
    }
    try {
        std::vector<bool> taken;
        for (const std::string &image : options.images)
            place_image(image, taken);
        make_tiles(options);
    } catch (const ImageError &error) {
        std::fprintf(stderr, "tau_sim: %s\n", error.what());
        return USAGE;
    }
    // A closed reader of results or console is detected by the write that fails.
    std::signal(SIGPIPE, SIG_IGN);
    VerilatedContext context;
    context.fatalOnError(false);
    Models models;
    for (std::size_t i = 0; i < options.tiles; i++) {
        const std::string name = "tile" + std::to_string(i);
        models.push_back(std::make_unique<Vtau_sim>(&context, name.c_str()));
    }
    const double before = cpu_seconds();
    const std::uint64_t cycles = run(models, context, options);
    const double seconds = cpu_seconds() - before;
    for (const auto &model : models)
        model->final();
    const bool asserted = context.gotError();
    if (asserted)
        simulation.end = "assertion";
    bool written = true;
    for (const auto &tile : simulation.tiles)
        written = tile->finish() && written;
    if (!options.summary.empty()) {
        written = write_summary(options.summary, cycles, seconds) && written;
    }
    const ExitCode code = verdict(asserted);
    if (code != PASSED && code != PROGRAM_FAILED) {
        std::fprintf(stderr, "tau_sim: stopped after %" PRIu64 " cycles: %s\n", cycles,
                     simulation.end.c_str());
    }
    for (const auto &tile : simulation.tiles) {
        if (code == PROGRAM_FAILED && *tile->exit_code != 0) {
            std::fprintf(stderr, "tau_sim: tile %u: the program exited with %" PRIu32 "\n",
                         tile->number, *tile->exit_code);
        }
    }
    if (!written) {
        std::fprintf(stderr, "tau_sim: results or summary could not be written\n");
        return USAGE;
    }
    return code;
}
