// An allocator for LD_PRELOAD that checks its callers: what new made must go to delete, what malloc
// made to free. Its operators call neither malloc nor free.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" void *__libc_malloc(std::size_t size);
extern "C" void __libc_free(void *pointer);

struct alignas(16) front {
    std::uint64_t magic;
    std::uint64_t kind;
};

static const std::uint64_t magic = 0x6d61646568657265;

static void *make(std::size_t size, char kind) {
    front *made = static_cast<front *>(__libc_malloc(size + sizeof(front)));
    *made = {magic, static_cast<std::uint64_t>(kind)};
    return made + 1;
}

// An object without a front, such as an aligned one, is the C library's.
static void give_up(void *pointer, char kind) {
    front *made = static_cast<front *>(pointer) - 1;
    if (pointer == nullptr) {
        return;
    }
    if (made->magic != magic) {
        __libc_free(pointer);
        return;
    }
    if (made->kind != static_cast<std::uint64_t>(kind)) {
        std::abort();
    }
    made->magic = 0;
    __libc_free(made);
}

extern "C" void *malloc(std::size_t size) {
    return make(size, 'm');
}

extern "C" void *calloc(std::size_t count, std::size_t size) {
    return std::memset(make(count * size, 'm'), 0, count * size);
}

extern "C" void *realloc(void *pointer, std::size_t size) {
    void *moved = make(size, 'm');
    if (pointer != nullptr) {
        std::memcpy(moved, pointer, size);
        give_up(pointer, 'm');
    }
    return moved;
}

extern "C" void free(void *pointer) {
    give_up(pointer, 'm');
}

void *operator new(std::size_t size) {
    return make(size, 'n');
}

void *operator new[](std::size_t size) {
    return make(size, 'a');
}

void operator delete(void *pointer) noexcept {
    give_up(pointer, 'n');
}

void operator delete[](void *pointer) noexcept {
    give_up(pointer, 'a');
}

void operator delete(void *pointer, std::size_t) noexcept {
    give_up(pointer, 'n');
}

void operator delete[](void *pointer, std::size_t) noexcept {
    give_up(pointer, 'a');
}
