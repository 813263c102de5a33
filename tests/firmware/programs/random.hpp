// Random numbers and a checksum of the programs in C++, equal everywhere. program.h has those of C.
#ifndef RANDOM_HPP
#define RANDOM_HPP

#include <cstdint>
#include <cstdlib>

namespace {

std::uint32_t random_state = 1, checksum = 2166136261u;

// The program's argument is its seed.
[[maybe_unused]] void start(int count, char **arguments) {
    random_state = static_cast<std::uint32_t>(count > 1 ? std::atol(arguments[1]) : 1) * 2 + 1;
}

std::uint32_t random_below(std::uint32_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(random_state) * bound >> 32);
}

void add(std::uint32_t value) {
    checksum = (checksum ^ value) * 16777619u;
}

// A string of any kind.
template <typename Text> void add_text(const Text &text) {
    for (const char each : text) {
        add(static_cast<unsigned char>(each));
    }
}

}  // namespace

#endif
