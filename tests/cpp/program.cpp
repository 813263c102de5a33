// Containers on the heap of a plan: by the allocator and by the resource, before main and in it.
// It takes a seed, and prints its checksum, as the programs of tests/firmware do. On a plan, it
// compares the heap's statistics with its objects, exhausts the heap, and frees objects twice.
// An object of MARK bytes says in a recording when it prints the bytes in use.
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../firmware/programs/random.hpp"
#include "core/ports/cpp/tautochrone.hpp"

#define CHECK(holds)                                                                               \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            std::printf("line %d: %s\n", __LINE__, #holds);                                        \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// In another file, which shares the heap.
void *made_elsewhere(std::size_t size_bytes);

namespace {

using tautochrone::plan;
template <typename Type> using Allocator = tautochrone::allocator<Type>;
using String = std::basic_string<char, std::char_traits<char>, Allocator<char>>;
using Names =
    std::map<std::uint32_t, std::vector<String, Allocator<String>>, std::less<>,
             Allocator<std::pair<const std::uint32_t, std::vector<String, Allocator<String>>>>>;

constexpr std::size_t MARK = 4127;

struct alignas(64) Line {
    std::uint32_t words[16];
};

template <typename Type> bool is_aligned(const Type *object) {
    return reinterpret_cast<std::uintptr_t>(object) % alignof(Type) == 0;
}

#ifdef TAU_RECORD_CPP

// malloc's heap says nothing of itself.
unsigned used_bytes() {
    return 0;
}

unsigned usable(const void *) {
    return 0;
}

void check_misuse() {
}
void check_exhaustion() {
}

#else

[[maybe_unused]] struct tau_tlsf_statistics shared_of(const tau_tlsf *heap) {
    return tau_tlsf_statistics(heap);
}

[[maybe_unused]] struct tau_tlsf_statistics shared_of(const tau_budget *heap) {
    return tau_budget_statistics(heap).shared;
}

[[maybe_unused]] std::size_t dedicated_of(const tau_tlsf *) {
    return 0;
}

[[maybe_unused]] std::size_t dedicated_of(const tau_budget *heap) {
    std::size_t bytes = 0;
    const std::size_t classes_count = tau_budget_statistics(heap).classes_count;
    for (std::size_t i = 0; i < classes_count; i++) {
        const auto pool = tau_budget_class_statistics(heap, i);
        bytes += std::size_t{pool.size_bytes} * pool.used_count;
    }
    return bytes;
}

unsigned used_bytes() {
    const std::size_t shared_bytes = shared_of(plan::heap()).used_bytes;
    return static_cast<unsigned>(shared_bytes + dedicated_of(plan::heap()));
}

unsigned usable(const void *object) {
    return static_cast<unsigned>(tau_plan_usable_size(plan::heap(), object));
}

#ifdef __cpp_exceptions
template <typename Call> bool is_refused(Call call) {
    try {
        call();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}
#else
std::jmp_buf refusal;
bool is_expected;
std::size_t refused_bytes, refused_alignment;

template <typename Call> bool is_refused(Call call) {
    is_expected = true;
    if (setjmp(refusal) == 0) {
        call();
        is_expected = false;
    }
    return std::exchange(is_expected, false);
}
#endif

// Each is refused and counted once, changes nothing, and is told to the port's hook as ever.
void check_misuse() {
    const unsigned before = used_bytes();
    int *const twice = Allocator<int>().allocate(300);
    Allocator<int>().deallocate(twice, 300);
    CHECK(plan::misuse_count() == 0);
    Allocator<int>().deallocate(twice, 300);
    CHECK(plan::misuse_count() == 1);
    int foreign = 0;
    tautochrone::resource()->deallocate(&foreign, sizeof foreign, alignof(int));
    CHECK(plan::misuse_count() == 2);
    CHECK(plan::deallocate(twice) != TAU_OK && plan::misuse_count() == 3);
    CHECK(used_bytes() == before);
}

void check_exhaustion() {
    static Line *lines[100'000];
    static std::size_t count;
    const unsigned before = used_bytes();
    const std::size_t refused_before = shared_of(plan::heap()).out_of_memory_count;
    while (!is_refused([] { lines[count] = Allocator<Line>().allocate(1); })) {
        CHECK(is_aligned(lines[count]));
        lines[count++]->words[15] = 1;
    }
    const struct tau_tlsf_statistics full = shared_of(plan::heap());
    CHECK(full.out_of_memory_count == refused_before + 1);
    CHECK(count * sizeof(Line) > TAU_PLAN_SHARED_BYTES / 4 && full.used_bytes >= before);
    CHECK(plan::allocate(TAU_PLAN_SHARED_BYTES / 2, alignof(int)) == nullptr);
    CHECK(is_refused([] {
        void *const none = tautochrone::resource()->allocate(TAU_PLAN_SHARED_BYTES / 2, 32);
        CHECK(none == nullptr);
    }));
    static volatile std::size_t huge = std::numeric_limits<std::size_t>::max() / 4 + 2;
    CHECK(is_refused([] { CHECK(Allocator<std::uint32_t>().allocate(huge) == nullptr); }));
#ifndef __cpp_exceptions
    CHECK(refused_bytes == std::numeric_limits<std::size_t>::max());
    CHECK(refused_alignment == alignof(std::uint32_t));
#endif
    while (count > 0) {
        tautochrone::resource()->deallocate(lines[--count], sizeof(Line), alignof(Line));
    }
    CHECK(used_bytes() == before && plan::misuse_count() == 3);
}
#endif

// Before main: the heap and the resource are there.
std::vector<int, Allocator<int>> early(100, 7);
std::pmr::vector<std::pmr::string> early_texts({"a text that is too long for its object"},
                                               tautochrone::resource());

void use_allocator(Names &names) {
    auto &list = names[random_below(20)];
    const std::size_t length = 1 + random_below(60);
    list.emplace_back(length, static_cast<char>('a' + random_below(26)));
    add_text(list.front());
    if (list.size() > 9) {
        std::vector<String, Allocator<String>>().swap(list);  // without exceptions too
    }
    std::vector<Line, Allocator<Line>> lines(1 + random_below(3));
    CHECK(is_aligned(lines.data()));
    Names taken = std::move(names);
    names = std::move(taken);
}

void use_resource(std::pmr::memory_resource *resource) {
    std::pmr::map<std::uint32_t, std::pmr::string> texts(resource);
    std::pmr::set<double> numbers(resource);
    std::pmr::vector<Line> lines(1 + random_below(3), resource);
    CHECK(is_aligned(lines.data()));
    for (unsigned i = 0; i < 20; i++) {
        texts[random_below(15)] += early_texts[0];
        numbers.insert(random_below(30) / 2.0);
    }
    std::pmr::monotonic_buffer_resource buffer(256, resource);
    std::pmr::vector<std::uint16_t> halves(1 + random_below(400), std::uint16_t{5}, &buffer);
    add(halves.back() + static_cast<std::uint32_t>(*numbers.begin() * 2));
    for (const auto &[number, text] : texts) {
        add(number);
        add_text(text);
    }
}

// The heap counts this object as its plan does: a pool's bucket, or a block with its header.
void check_counted() {
    const unsigned before = used_bytes();
    auto *const mark = static_cast<unsigned char *>(made_elsewhere(MARK));
    CHECK(mark != nullptr);
    mark[MARK - 1] = 1;
    const unsigned in_use = used_bytes();
    if (in_use != 0) {
        const unsigned usable_bytes = usable(mark);
        CHECK(usable_bytes >= MARK);
        CHECK(in_use == before + usable_bytes ||
              in_use == before + usable_bytes + sizeof(tau_word));
    }
    Allocator<unsigned char>().deallocate(mark, MARK);
    CHECK(used_bytes() == before);
    std::printf("used %u\n", in_use);
}

void check_resource() {
    std::pmr::memory_resource *const resource = tautochrone::resource();
    std::pmr::unsynchronized_pool_resource other(resource);
    CHECK(resource == tautochrone::resource() && resource->is_equal(*resource));
    CHECK(!resource->is_equal(other) && *resource != *std::pmr::null_memory_resource());
    CHECK(Allocator<int>() == Allocator<Line>() && !(Allocator<int>() != Allocator<Line>()));
    void *const nothing = resource->allocate(0, 1);
    void *const more = resource->allocate(0, 1);
    CHECK(nothing != nullptr && more != nullptr && nothing != more);
    resource->deallocate(nothing, 0, 1);
    resource->deallocate(more, 0, 1);
    CHECK(plan::deallocate(nullptr) == TAU_OK);
}

}  // namespace

#ifndef __cpp_exceptions
void tautochrone::refused(std::size_t size_bytes, std::size_t alignment) noexcept {
#ifndef TAU_RECORD_CPP
    if (is_expected) {
        refused_bytes = size_bytes;
        refused_alignment = alignment;
        std::longjmp(refusal, 1);
    }
#endif
    std::printf("no memory for %u bytes, aligned to %u\n", static_cast<unsigned>(size_bytes),
                static_cast<unsigned>(alignment));
    std::exit(1);
}
#endif

int main(int count, char **arguments) {
    start(count, arguments);
    Names names;
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned i = 0; i < 10; i++) {
            use_allocator(names);
        }
        use_resource(tautochrone::resource());
        if (round == 40) {
            check_counted();
        }
    }
    names.clear();
    check_resource();
    check_misuse();
    check_exhaustion();
    add(static_cast<std::uint32_t>(early[99]));
    std::printf("checksum %08x failed 0\n", static_cast<unsigned>(checksum));
    return 0;
}
