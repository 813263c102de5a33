#include "image.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <elf.h>

namespace {

struct Memory {
    const char *name;
    std::uint32_t first, bytes;
};
// What a program can bring contents for. Tables and links are written by software alone.
constexpr Memory MEMORIES[] = {
    {"instruction bank", TAU_TILE_ADDRESS_INSTR, TAU_TILE_SIZE_BANK_BYTES},
    {"data bank", TAU_TILE_ADDRESS_DATA, TAU_TILE_SIZE_BANK_BYTES},
    {"plain memory", TAU_TILE_ADDRESS_PLAIN, TAU_TILE_SIZE_PLAIN_BYTES},
};

std::vector<std::uint8_t> contents(const std::string &path) {
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (file == nullptr)
        throw ImageError(path + ": " + std::strerror(errno));
    std::vector<std::uint8_t> bytes;
    std::uint8_t block[65536];
    std::size_t count;
    while ((count = std::fread(block, 1, sizeof block, file)) > 0) {
        bytes.insert(bytes.end(), block, block + count);
    }
    const bool failed = std::ferror(file) != 0;
    std::fclose(file);
    if (failed)
        throw ImageError(path + ": " + std::strerror(errno));
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
                         hexadecimal(RESET_ADDRESS) + " (link with hw/tile/sw/tile.ld)");
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
    if (bytes.size() > UINT32_MAX)
        throw ImageError(path + ": larger than any memory of the tile");
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
        // From word to word. What the file only reserves (.bss, stack) the program clears itself.
        const std::uint32_t front = address % 4;
        std::vector<std::uint8_t> words((front + std::size_t{file_bytes} + 3) / 4 * 4);
        std::memcpy(words.data() + front, bytes, file_bytes);
        segments.push_back({address - front, std::move(words)});
        return;
    }
    throw ImageError(path + ": has contents for " + hexadecimal(address) +
                     ", where the tile has no memory that a program can fill");
}

const Image::Segment *Image::find(std::uint32_t address) const {
    for (const Segment &segment : segments) {
        if (address - segment.address < segment.bytes.size())
            return &segment;
    }
    return nullptr;
}

bool Image::has(std::uint32_t address) const {
    return find(address) != nullptr;
}

std::uint32_t Image::word(std::uint32_t address) const {
    const Segment *segment = find(address);
    std::uint32_t value = 0;
    std::memcpy(&value, segment->bytes.data() + (address - segment->address), sizeof value);
    return value;
}
