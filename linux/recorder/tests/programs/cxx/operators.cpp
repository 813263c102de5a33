// Every operator new and delete of C++17; with "fail" failing ones too. Sizes from 1000003 on are
// its own.
#include <cstddef>
#include <new>

struct alignas(64) wide {
    char bytes[1000128];
};

static char *reserve;
static int handled;

// Gives its reserve back, then says that nothing is left.
static void out_of_memory() {
    handled++;
    if (reserve == nullptr) {
        throw std::bad_alloc();
    }
    delete[] reserve;
    reserve = nullptr;
}

// Through a pointer, so that no pair is optimized away.
static void *volatile kept;

// Failures: without a handler, with one, and one that throws.
static int fail() {
    const std::size_t huge = ~std::size_t{0} / 4 * 3;
    bool thrown = false;
    try {
        kept = ::operator new(huge);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    if (!thrown || ::operator new(huge, std::nothrow) != nullptr) {
        return 1;
    }
    reserve = new char[1002003];
    std::set_new_handler(out_of_memory);
    thrown = false;
    try {
        kept = ::operator new(huge);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    if (!thrown || handled != 2 || reserve != nullptr) {
        return 2;
    }
    return 0;
}

int main(int count, char **) {
    const std::align_val_t aligned{256};
    kept = ::operator new(1000003);
    ::operator delete(kept);
    kept = ::operator new[](1000013);
    ::operator delete[](kept);
    kept = ::operator new(1000023, std::nothrow);
    ::operator delete(kept, std::nothrow);
    kept = ::operator new[](1000033, std::nothrow);
    ::operator delete[](kept, std::nothrow);
    kept = ::operator new(1000192, aligned);
    ::operator delete(kept, aligned);
    kept = ::operator new[](1000448, aligned);
    ::operator delete[](kept, aligned);
    kept = ::operator new(1000704, aligned, std::nothrow);
    ::operator delete(kept, aligned, std::nothrow);
    kept = ::operator new[](1000960, aligned, std::nothrow);
    ::operator delete[](kept, aligned, std::nothrow);
    kept = ::operator new(1001003);
    ::operator delete(kept, std::size_t{1001003});
    kept = ::operator new[](1001013);
    ::operator delete[](kept, std::size_t{1001013});
    kept = new wide;
    delete static_cast<wide *>(kept);
    kept = ::operator new[](1001472, aligned);
    ::operator delete[](kept, std::size_t{1001472}, aligned);
    ::operator delete(nullptr);

    if (count > 1) {
        const int wrong = fail();
        if (wrong != 0) {
            return wrong;
        }
    }
    kept = new char[1002013];
    delete[] static_cast<char *>(kept);
    return 0;
}
