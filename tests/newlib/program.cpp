// Every way from C++ to the heap, before main and in it: the operators, aligned and without
// exceptions, resources of pmr, containers, and the functions of C. It takes a seed, and prints its
// checksum, its failed calls, and the bytes that mallinfo counts: used ones, and all at two times.
// Objects of MARKS bytes say in a recording where it counts.
#define _GNU_SOURCE
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

#include "../firmware/programs/random.hpp"

namespace {

enum Marks : std::size_t { GROWTH_BEGINS = 4099, GROWTH_ENDS = 4111, IN_MAIN = 4127 };

std::uint32_t failed_count;

void add(const char *text) {
    while (*text != '\0') {
        add(static_cast<unsigned char>(*text++));
    }
}

template <typename Type>
Type *made(Type *object, std::size_t alignment = 8) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(object) % alignment == 0;
    failed_count += object == nullptr || !is_aligned;
    return object;
}

unsigned counted() {
    return static_cast<unsigned>(mallinfo().uordblks);
}

unsigned counted_in_all() {
    return counted() + static_cast<unsigned>(mallinfo().fordblks);
}

// Objects that only grow in size, so that no library puts one into the gap of another.
struct Growth {
    void *objects[50];
    unsigned bytes;

    Growth() {
        objects[0] = made(std::malloc(GROWTH_BEGINS));
        const unsigned before = counted();
        std::size_t size = 1200;
        for (unsigned i = 1; i < 49; i++, size += 1 + i % 13) {
            switch (i % 6) {
                case 0: objects[i] = std::malloc(size); break;
                case 1: objects[i] = std::calloc(1, size); break;
                case 2: objects[i] = std::realloc(nullptr, size); break;
                case 3: objects[i] = reallocarray(nullptr, 1, size); break;
                case 4: objects[i] = ::operator new(size); break;
                default: objects[i] = ::operator new[](size, std::nothrow); break;
            }
            made(objects[i]);
        }
        bytes = counted() - before;
        objects[49] = made(std::malloc(GROWTH_ENDS));
    }

    ~Growth() {
        for (void *object : objects) {
            std::free(object);
        }
    }
} growth;

struct alignas(64) Line {
    unsigned char bytes[64];
    explicit Line(std::uint32_t value) { std::memset(bytes, static_cast<int>(value), 64); }
};

std::vector<std::string> made_before_main{"one", "a string that is too long for its object"};

void use_operators() {
    auto line = std::make_unique<Line>(random_below(200));
    made(line.get(), 64);
    std::unique_ptr<Line[]> lines(new (std::nothrow) Line[2]{Line(1), Line(random_below(200))});
    made(lines.get(), 64);
    auto shared = std::make_shared<std::string>(made_before_main[1] + std::to_string(random_state));
    std::unique_ptr<std::uint16_t[]> halves(new std::uint16_t[1 + random_below(90)]());
    add(line->bytes[63] + lines[1].bytes[0] + halves[0]);
    add(shared->c_str());
}

void use_resources() {
    std::pmr::unsynchronized_pool_resource pool;
    std::pmr::monotonic_buffer_resource buffer(256, &pool);
    std::pmr::map<std::uint32_t, std::pmr::string> names(&pool);
    std::pmr::vector<double> numbers(1 + random_below(70), 0.5, &buffer);
    for (unsigned i = 0; i < 20; i++) {
        names[random_below(15)] += made_before_main[i % 2].c_str();
    }
    for (const auto &[number, name] : names) {
        add(number);
        add(name.c_str());
    }
    add(static_cast<std::uint32_t>(numbers.back() * 8));
}

void use_functions_of_c() {
    char text[80];
    std::snprintf(text, sizeof text, "%.17g %f %s", 1.0 / (1 + random_below(99)), 1e20, "text");
    char *copy = made(strdup(text));
    char *printed = nullptr;
    failed_count += asprintf(&printed, "%.9f %s", 1.0 / 3, copy) < 0;
    add(printed);
    copy = static_cast<char *>(made(std::realloc(copy, 80 + random_below(2000))));
    add(copy);
    const std::size_t count = 10 + random_below(50);
    copy = static_cast<char *>(made(reallocarray(copy, count, 9)));
    add(copy);
    const std::size_t alignment = std::size_t{8} << random_below(6);
    void *aligned = made(memalign(alignment, 1 + random_below(500)), alignment);
    void *other = made(aligned_alloc(32, 96), 32);
    failed_count += malloc_usable_size(aligned) == 0;
    std::free(printed);
    std::free(aligned);
    std::free(copy);
    std::free(other);
}

}  // namespace

int main(int count, char **arguments) {
    start(count, arguments);
    std::map<std::uint32_t, std::vector<std::string>> lists;
    const unsigned all_before = counted_in_all();
    unsigned used_bytes = 0, all_bytes = 0;
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 10; i++) {
            auto &list = lists[random_below(20)];
            list.push_back(made_before_main[1] + std::to_string(random_below(1000)));
            add(list.front().c_str());
            if (list.size() > 9) {
                list.clear();
            }
        }
        use_operators();
        use_resources();
        use_functions_of_c();
        if (round == 40) {
            void *mark = made(std::malloc(IN_MAIN));
            used_bytes = counted();
            all_bytes = counted_in_all();
            std::free(mark);
        }
    }
    const auto failed = static_cast<unsigned>(failed_count);
    std::printf("checksum %08x failed %u\n", static_cast<unsigned>(checksum), failed);
    std::printf("grew %u used %u all %u %u\n", growth.bytes, used_bytes, all_before, all_bytes);
    return 0;
}
