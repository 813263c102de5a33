// Containers of C++ in two threads: every allocation is operator new's. Prints the size of a
// sample and how many were made with new; one is aligned.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct sample {
    std::string name;
    std::vector<int *> places;
    std::uint64_t time;
    virtual ~sample() = default;
};

struct alignas(64) line {
    char bytes[64];
};

constexpr unsigned samples_each = 90;
std::uint64_t sums[2];

void work(std::uint64_t *sum) {
    std::map<std::string, std::unique_ptr<sample>> found;
    std::unique_ptr<line> aligned(new line());
    for (unsigned i = 0; i < samples_each; i++) {
        std::unique_ptr<sample> one(new sample());
        one->name = std::string(i % 50, 'x');
        one->places.resize(i % 17);
        one->time = i;
        found[std::to_string(i % 60)] = std::move(one);
    }
    for (const auto &each : found) {
        *sum += each.second->time + each.second->places.size() + each.second->name.size();
    }
}

}  // namespace

int main() {
    std::thread other(work, &sums[0]);
    other.join();
    work(&sums[1]);
    std::printf("%zu %u\n", sizeof(sample), 2 * samples_each);
    std::fprintf(stderr, "sum %llu\n", static_cast<unsigned long long>(sums[0] + sums[1]));
    return 7;
}
