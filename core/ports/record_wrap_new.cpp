// The operators new and delete of a C++ firmware that record_wrap.c records, with the call sites of
// the program. The library's own would be the call site of every new. Add this file to the build
// next to record_wrap.c; not with TAU_RECORD_FREERTOS or TAU_RECORD_CPP, and not if the firmware
// has operators of its own.
//
// They do what the C++ library's do: a request of 0 bytes becomes one of 1, the new-handler is
// called until there is memory, and without one std::bad_alloc is thrown, or the firmware aborts if
// it is compiled without exceptions.
#include <cstddef>
#include <cstdlib>
#include <new>

extern "C" void *tau_record_wrap_new(std::size_t size, std::size_t alignment, const void *caller);
extern "C" void tau_record_wrap_delete(void *object, const void *caller);

#define RECORD_CALLER __builtin_return_address(0)

// nullptr if there is no memory and no new-handler.
static void *record_try(std::size_t size, std::size_t alignment, const void *caller) {
    for (;;) {  // bound: the new-handler makes memory available or does not return
        void *const object = tau_record_wrap_new(size == 0 ? 1 : size, alignment, caller);
        const std::new_handler handler = object != nullptr ? nullptr : std::get_new_handler();
        if (handler == nullptr) {
            return object;
        }
        handler();
    }
}

static void *record_new(std::size_t size, std::size_t alignment, const void *caller) {
    void *const object = record_try(size, alignment, caller);
    if (object == nullptr) {
#ifdef __cpp_exceptions
        throw std::bad_alloc();
#else
        std::abort();
#endif
    }
    return object;
}

static void *record_new_nothrow(std::size_t size, std::size_t alignment,
                                const void *caller) noexcept {
#ifdef __cpp_exceptions
    try {
        return record_try(size, alignment, caller);
    } catch (...) {
        return nullptr;
    }
#else
    return record_try(size, alignment, caller);
#endif
}

// Both forms of an operator with their parameters, and what is passed on.
#define RECORD_NEW(PARAMETERS, ALIGNMENT)                                                          \
    void *operator new PARAMETERS {                                                                \
        return record_new(size, ALIGNMENT, RECORD_CALLER);                                         \
    }                                                                                              \
    void *operator new[] PARAMETERS {                                                              \
        return record_new(size, ALIGNMENT, RECORD_CALLER);                                         \
    }
#define RECORD_NEW_NOTHROW(PARAMETERS, ALIGNMENT)                                                  \
    void *operator new PARAMETERS noexcept {                                                       \
        return record_new_nothrow(size, ALIGNMENT, RECORD_CALLER);                                 \
    }                                                                                              \
    void *operator new[] PARAMETERS noexcept {                                                     \
        return record_new_nothrow(size, ALIGNMENT, RECORD_CALLER);                                 \
    }
#define RECORD_DELETE(PARAMETERS)                                                                  \
    void operator delete PARAMETERS noexcept {                                                     \
        tau_record_wrap_delete(object, RECORD_CALLER);                                             \
    }                                                                                              \
    void operator delete[] PARAMETERS noexcept {                                                   \
        tau_record_wrap_delete(object, RECORD_CALLER);                                             \
    }

RECORD_NEW((std::size_t size), 0)
RECORD_NEW_NOTHROW((std::size_t size, const std::nothrow_t &), 0)
RECORD_DELETE((void *object))
RECORD_DELETE((void *object, std::size_t))

#ifdef __cpp_aligned_new
#define RECORD_ALIGNMENT static_cast<std::size_t>(alignment)
RECORD_NEW((std::size_t size, std::align_val_t alignment), RECORD_ALIGNMENT)
RECORD_NEW_NOTHROW((std::size_t size, std::align_val_t alignment, const std::nothrow_t &),
                   RECORD_ALIGNMENT)
RECORD_DELETE((void *object, std::align_val_t))
RECORD_DELETE((void *object, std::size_t, std::align_val_t))
#endif
