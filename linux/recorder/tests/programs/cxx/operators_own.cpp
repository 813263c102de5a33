// Replaces operator new and delete in the executable: 16 bytes before each object.
#include <cstddef>
#include <cstdlib>

void *operator new(std::size_t size) {
    return static_cast<char *>(std::malloc(size + 16)) + 16;
}

void operator delete(void *pointer) noexcept {
    if (pointer != nullptr) {
        std::free(static_cast<char *>(pointer) - 16);
    }
}

void operator delete(void *pointer, std::size_t) noexcept {
    operator delete(pointer);
}

static void *volatile kept;

int main() {
    kept = ::operator new(1000003);
    ::operator delete(kept);
    return 7;
}
