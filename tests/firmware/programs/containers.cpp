// C++'s containers: a map of lists of strings, shared objects, and orders kept in a set.
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "random.hpp"

namespace {

struct Part {
    std::string name;
    std::vector<std::uint16_t> sizes;
};

struct alignas(32) Block {
    std::uint32_t words[16];
};

std::vector<std::string> made_before_main{"one", "a name that is too long for the string object"};

std::string name_of(std::uint32_t number) {
    std::string name = made_before_main[number % 2];
    for (std::uint32_t i = 0; i < number % 11; i++) {
        name += static_cast<char>('a' + (number + i) % 26);
    }
    return name;
}

void fill(std::map<std::uint32_t, std::list<std::shared_ptr<Part>>> &orders) {
    auto &list = orders[random_below(60)];
    const std::uint32_t number = random_below(5000);
    auto part = std::make_shared<Part>();
    part->name = name_of(number);
    for (std::uint32_t i = 0; i < number % 9; i++) {
        part->sizes.push_back(static_cast<std::uint16_t>(number + i));
    }
    list.push_back(part);
    if (list.size() > 4) {
        for (const auto &one : list) {
            add(static_cast<std::uint32_t>(one->name.size() + one->sizes.size()));
        }
        list.clear();
    }
}

void print() {
    char line[] = "checksum 00000000 failed 0\n";
    for (unsigned i = 0; i < 8; i++) {
        line[9 + i] = "0123456789abcdef"[checksum >> (28 - 4 * i) & 15];
    }
    if (write(1, line, sizeof line - 1) < 0) {
        std::_Exit(1);
    }
}

}  // namespace

int main(int count, char **arguments) {
    random_state = (count > 1 ? static_cast<std::uint32_t>(std::strtoul(arguments[1], nullptr, 10))
                              : 1u) * 2654435761u | 1u;
    std::map<std::uint32_t, std::list<std::shared_ptr<Part>>> orders;
    std::set<std::string> names;
    std::deque<std::unique_ptr<Block>> blocks;
    for (std::uint32_t step = 0; step < 2500; step++) {
        fill(orders);
        if (step % 5 == 0) {
            names.insert(name_of(random_below(300)));
        }
        if (step % 7 == 0) {
            blocks.push_back(std::make_unique<Block>());
            blocks.back()->words[15] = step;
        }
        if (blocks.size() > 40) {
            add(blocks.front()->words[15]);
            blocks.pop_front();
        }
        if (names.size() > 60) {
            add(static_cast<std::uint32_t>(names.begin()->size()));
            names.clear();
        }
    }
    print();
    return 0;
}
