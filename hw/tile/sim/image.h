// A program for a tile: an ELF for RV32, or plain bytes with an address.
#ifndef TAU_TILE_IMAGE_H
#define TAU_TILE_IMAGE_H

#include "facts/gen/tau_tile_format.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// An invalid file. The message, for the user, names the file and the error.
struct ImageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Words of the tile's memories when a simulation begins.
class Image {
  public:
    // Reads the loadable segments of the ELF at `path` to their physical addresses.
    // Throws ImageError if and only if the file:
    // - is missing or endless
    // - is not an ELF for 32-bit little-endian RISC-V, or is cut short
    // - does not start at the reset address
    // - needs memory that the tile does not have, or has two contents for one address
    static Image from_elf(const std::string &path);
    // Reads the bytes of `path` to `address`. Throws ImageError likewise.
    static Image from_bytes(const std::string &path, std::uint32_t address);

    // Whether the program has contents for the word at `address`, and the word.
    bool has(std::uint32_t address) const;
    std::uint32_t word(std::uint32_t address) const;

    static constexpr std::uint32_t RESET_ADDRESS = TAU_TILE_ADDRESS_INSTR + 0x80;

  private:
    struct Segment {
        std::uint32_t address;
        std::uint32_t memory_bytes;
        std::vector<std::uint8_t> bytes;  // at most as many
    };
    void place(const std::string &path, std::uint32_t address, const std::uint8_t *bytes,
               std::uint32_t file_bytes, std::uint32_t memory_bytes);

    std::vector<Segment> segments;
};

#endif
