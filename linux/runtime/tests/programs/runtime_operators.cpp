// operator new and delete in all forms: alignment, what nothrow returns, what throws, and a
// new-handler that is asked before either.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

static int failures, asked;

#define EXPECT(condition)                                                                          \
    ((condition) ? (void)0 : (void)(std::printf("line %d: %s\n", __LINE__, #condition), failures++))

static volatile std::size_t huge = PTRDIFF_MAX;
static constexpr std::align_val_t wide{256};

static bool is_wide(void *pointer) {
    return pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % 256 == 0;
}

template <typename Make> static bool throws(Make make) {
    try {
        make();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

static void give_up() {
    asked++;
    if (asked == 3) {
        std::set_new_handler(nullptr);
    }
}

int main() {
    ::operator delete(::operator new(10));
    ::operator delete[](::operator new[](10));
    ::operator delete(::operator new(10), std::size_t{10});
    ::operator delete[](::operator new[](10), std::size_t{10});
    ::operator delete(::operator new(10, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](10, std::nothrow), std::nothrow);
    void *pointer = ::operator new(10, wide);
    EXPECT(is_wide(pointer));
    ::operator delete(pointer, wide);
    pointer = ::operator new[](10, wide);
    EXPECT(is_wide(pointer));
    ::operator delete[](pointer, std::size_t{10}, wide);
    pointer = ::operator new(10, wide, std::nothrow);
    EXPECT(is_wide(pointer));
    ::operator delete(pointer, std::size_t{10}, wide);
    pointer = ::operator new[](10, wide, std::nothrow);
    EXPECT(is_wide(pointer));
    ::operator delete[](pointer, wide, std::nothrow);
    ::operator delete(::operator new(10, wide), wide, std::nothrow);
    ::operator delete[](::operator new[](0, wide), wide);
    EXPECT(::operator new(huge, std::nothrow) == nullptr);
    EXPECT(::operator new(huge, wide, std::nothrow) == nullptr);
    EXPECT(::operator new[](huge, std::nothrow) == nullptr);
    EXPECT(::operator new[](huge, wide, std::nothrow) == nullptr);
    EXPECT(throws([] { return ::operator new(huge); }));
    EXPECT(throws([] { return ::operator new[](huge); }));
    EXPECT(throws([] { return ::operator new(huge, wide); }));
    EXPECT(throws([] { return ::operator new[](huge, wide); }));
    std::set_new_handler(give_up);
    EXPECT(throws([] { return ::operator new(huge); }));
    EXPECT(asked == 3);
    delete new int;
    delete[] new int[3];
    return failures != 0;
}
