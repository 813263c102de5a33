#include "image.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <elf.h>

namespace {

struct Memory {
    const char *name;
    std::uint32_t first, bytes;
};
// Memories that a program can bring contents for. Only software writes tables and links.
constexpr Memory MEMORIES[] = {
    {"instruction bank", TAU_TILE_ADDRESS_INSTR, TAU_TILE_SIZE_BANK_BYTES},
    {"data bank", TAU_TILE_ADDRESS_DATA, TAU_TILE_SIZE_BANK_BYTES},
    {"plain memory", TAU_TILE_ADDRESS_PLAIN, TAU_TILE_SIZE_PLAIN_BYTES},
};

constexpr std::size_t FILE_BYTES_MAX = 64 << 20;  // debug information included
constexpr std::size_t SEGMENTS_MAX = 64;

std::vector<std::uint8_t> contents(const std::string &path) {
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (file == nullptr)
        throw ImageError(path + ": " + std::strerror(errno));
    std::vector<std::uint8_t> bytes;
    std::uint8_t block[65536];
    std::size_t count;
    while (bytes.size() <= FILE_BYTES_MAX &&
           (count = std::fread(block, 1, sizeof block, file)) > 0) {
        bytes.insert(bytes.end(), block, block + count);
    }
    const int error = std::ferror(file) != 0 ? errno : 0;
    std::fclose(file);
    if (error != 0)
        throw ImageError(path + ": " + std::strerror(error));
    if (bytes.size() > FILE_BYTES_MAX)
        throw ImageError(path + ": larger than any program for the tile");
    return bytes;
}

std::string hexadecimal(std::uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", value);
    return text;
}

template <typename T>
T at(const std::vector<std::uint8_t> &bytes, std::uint64_t offset, const std::string &path) {
    if (offset + sizeof(T) > bytes.size())
        throw ImageError(path + ": cut short");
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

}  // namespace

Image Image::from_elf(const std::string &path) {
    const std::vector<std::uint8_t> bytes = contents(path);
    if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
        throw ImageError(path + ": not an ELF file (for plain bytes use --bytes)");
    }
    const auto header = at<Elf32_Ehdr>(bytes, 0, path);
    if (header.e_ident[EI_CLASS] != ELFCLASS32 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_RISCV) {
        throw ImageError(path + ": not for 32-bit little-endian RISC-V");
    }
    if (header.e_type != ET_EXEC)
        throw ImageError(path + ": not linked to fixed addresses");
    if (header.e_entry != RESET_ADDRESS) {
        throw ImageError(path + ": begins at " + hexadecimal(header.e_entry) + ", the core at " +
                         hexadecimal(RESET_ADDRESS) + " (link with targets/tile/tile.ld)");
    }
    Image image;
    for (std::uint32_t i = 0; i < header.e_phnum; i++) {
        const std::uint64_t offset = header.e_phoff + std::uint64_t{i} * header.e_phentsize;
        const auto segment = at<Elf32_Phdr>(bytes, offset, path);
        if (segment.p_type != PT_LOAD || segment.p_memsz == 0)
            continue;
        if (std::uint64_t{segment.p_offset} + segment.p_filesz > bytes.size() ||
            segment.p_filesz > segment.p_memsz) {
            throw ImageError(path + ": cut short");
        }
        image.place(path, segment.p_paddr, bytes.data() + segment.p_offset, segment.p_filesz,
                    segment.p_memsz);
    }
    if (!image.has(RESET_ADDRESS))
        throw ImageError(path + ": nothing at the reset address");
    return image;
}

Image Image::from_bytes(const std::string &path, std::uint32_t address) {
    const std::vector<std::uint8_t> bytes = contents(path);
    if (bytes.empty())
        throw ImageError(path + ": empty");
    Image image;
    const auto size = static_cast<std::uint32_t>(bytes.size());
    image.place(path, address, bytes.data(), size, size);
    return image;
}

void Image::place(const std::string &path, std::uint32_t address, const std::uint8_t *bytes,
                  std::uint32_t file_bytes, std::uint32_t memory_bytes) {
    for (const Memory &memory : MEMORIES) {
        const std::uint32_t offset = address - memory.first;
        if (offset >= memory.bytes)
            continue;
        if (memory_bytes > memory.bytes - offset) {
            throw ImageError(path + ": needs " + std::to_string(memory_bytes) + " bytes at " +
                             hexadecimal(address) + ", the " + memory.name + " ends at " +
                             hexadecimal(memory.first + memory.bytes));
        }
        for (const Segment &other : segments) {
            if (address < other.address + other.memory_bytes &&
                other.address < address + memory_bytes) {
                throw ImageError(path + ": has two segments for " +
                                 hexadecimal(std::max(address, other.address)));
            }
        }
        if (segments.size() == SEGMENTS_MAX) {
            throw ImageError(path + ": has more than " + std::to_string(SEGMENTS_MAX) +
                             " segments");
        }
        // The program itself clears what the file only reserves (.bss, stack).
        segments.push_back({address, memory_bytes, {bytes, bytes + file_bytes}});
        return;
    }
    throw ImageError(path + ": has contents for " + hexadecimal(address) +
                     ", where the tile has no memory that a program can fill");
}

bool Image::has(std::uint32_t address) const {
    for (const Segment &segment : segments) {
        if (address + 4 > segment.address && address < segment.address + segment.bytes.size())
            return true;
    }
    return false;
}

std::uint32_t Image::word(std::uint32_t address) const {
    std::uint32_t value = 0;
    for (const Segment &segment : segments) {  // two segments can share a word
        for (unsigned i = 0; i < 4; i++) {
            const std::uint32_t offset = address + i - segment.address;
            if (offset < segment.bytes.size())
                value |= std::uint32_t{segment.bytes[offset]} << 8 * i;
        }
    }
    return value;
}
