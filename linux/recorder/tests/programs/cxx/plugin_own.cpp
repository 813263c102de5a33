// A plugin with operators of its own, for a program that has none: 16 bytes before each
// object, so that an operator of another plugin breaks the heap. -DPLAIN leaves them out.
#include <cstddef>
#include <cstdlib>

#ifndef PLAIN
void *operator new[](std::size_t size) {
    return static_cast<char *>(std::malloc(size + 16)) + 16;
}

void operator delete[](void *pointer) noexcept {
    if (pointer != nullptr) {
        std::free(static_cast<char *>(pointer) - 16);
    }
}

void operator delete[](void *pointer, std::size_t) noexcept {
    operator delete[](pointer);
}
#endif

extern "C" void *plugin_allocate(void);

void *plugin_allocate(void) {
    static char *volatile kept;
    for (int i = 0; i < 3; i++) {
        kept = new char[1000013];
        delete[] kept;
    }
    return std::malloc(1000003);
}
