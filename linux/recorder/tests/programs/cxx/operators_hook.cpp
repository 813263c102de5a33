// An allocator for LD_PRELOAD whose operator new calls its own malloc through its exported name.
#include <cstddef>
#include <new>

extern "C" void *__libc_malloc(std::size_t size);
extern "C" void __libc_free(void *pointer);

extern "C" void *malloc(std::size_t size) {
    return __libc_malloc(size);
}

extern "C" void free(void *pointer) {
    __libc_free(pointer);
}

void *operator new(std::size_t size) {
    return malloc(size);
}

void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return malloc(size);
}

void operator delete(void *pointer) noexcept {
    free(pointer);
}

void operator delete(void *pointer, const std::nothrow_t &) noexcept {
    free(pointer);
}
