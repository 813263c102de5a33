// C++'s containers, before main and in it, on the heap of the tutorial.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tautochrone.h"

#include "heap_plan.h"

namespace {

struct alignas(64) Line {
    unsigned char bytes[64];
};

std::vector<std::string> made_before_main{"one", "a string that is too long for its object"};

int failed(int line) {
    std::printf("line %d\n", line);
    return 1;
}

}  // namespace

int main() {
    std::map<int, std::vector<std::string>> lists;
    for (int i = 0; i < 500; i++) {
        lists[i % 7].push_back(made_before_main[1] + std::to_string(i));
    }
    for (int i = 0; i < 500; i++) {
        if (lists[i % 7][i / 7] != made_before_main[1] + std::to_string(i)) {
            return failed(__LINE__);
        }
    }
    auto line = std::make_unique<Line>();
    if (reinterpret_cast<std::uintptr_t>(line.get()) % 64 != 0) {
        return failed(__LINE__);
    }
    const auto distance = reinterpret_cast<std::uintptr_t>(line.get()) -
                          reinterpret_cast<std::uintptr_t>(made_before_main.data());
    if (distance + TAU_PLAN_HEAP_BYTES > 2 * TAU_PLAN_HEAP_BYTES) {
        return failed(__LINE__);
    }
    lists.clear();
    std::puts("all holds");
    return 0;
}
