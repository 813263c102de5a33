// The heap of a plan for C++17: a memory resource, an allocator for containers, and the plan as a
// type that owns the heap's memory. With and without exceptions, with and without RTTI.
//
//   std::vector<int, tautochrone::allocator<int>> numbers;
//   std::pmr::map<int, std::pmr::string> names(tautochrone::resource());
//
// Build core/tlsf.c and core/budget.c with it, and core/pools.c after `tau plan --guarantee`, as C
// and with the plan's optimization (-Os). heap_plan.h (`tau plan --header`) is on the path of
// includes, or included before.
//
// To record what the plan is made from, compile the program and core/ports/record_wrap.c with
// -DTAU_RECORD_CPP, and link without record_wrap.flags. Objects then come from malloc, and the
// calls of this header are recorded, no others.
//
// - A program has one plan and one heap. core/ports/newlib/heap.c is another heap of that plan.
// - All files of a program are compiled alike: with exceptions or without, recorded or not.
// - The heap is made at the first use, at the latest when the constructors of the first file that
//   includes this one run. It is never destroyed.
// - With threads or interrupts, define the two lock hooks of core/port.h, for C and C++ files.
#ifndef TAU_CORE_PORTS_CPP_TAUTOCHRONE_HPP
#define TAU_CORE_PORTS_CPP_TAUTOCHRONE_HPP

#if __cplusplus < 201703L
#error "tautochrone.hpp needs C++17: compile with -std=c++17 or later"
#elif !defined(TAU_RECORD_CPP) && !defined(TAU_PLAN_H) && !__has_include("heap_plan.h")
#error "heap_plan.h is missing: write it with `tau plan … --header heap_plan.h`, and add -I"
#else

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

#include "core/port.h"
#include "core/status.h"

#ifdef TAU_RECORD_CPP

#include "core/config.h"

extern "C" {
void *tau_record_wrap_malloc(std::size_t size, const void *caller);
void *tau_record_wrap_aligned_alloc(std::size_t alignment, std::size_t size, const void *caller);
void tau_record_wrap_free(void *object);
}

// So that the recorded call site is the program's, without optimization too.
#define TAU_RECORD_INLINE __attribute__((always_inline)) inline

#else

#define TAU_RECORD_INLINE

#ifndef TAU_PLAN_H
#include "heap_plan.h"
#endif
#ifndef TAU_PLAN_HEAP_BYTES
#error "heap_plan.h has no heap: write it with `tau plan`, from a recording"
#endif

struct tau_pools;                     // no plan but a guaranteed one includes core/pools.h

#endif

namespace tautochrone {

#ifndef __cpp_exceptions
// The program defines it, if it is compiled without exceptions. It is called for a request that the
// heap refuses, where std::bad_alloc would be thrown, and must not return.
// SIZE_BYTES is SIZE_MAX if the size of an array wrapped around.
[[noreturn]] void refused(std::size_t size_bytes, std::size_t alignment) noexcept;
#endif

class plan {
  public:
    plan() = delete;

#ifdef TAU_RECORD_CPP
    // CALLER is the recorded call site; NULL: where this is inlined.
    [[nodiscard]] TAU_RECORD_INLINE static void *
    allocate(std::size_t size_bytes, std::size_t alignment, const void *caller = nullptr) noexcept {
        return alignment <= TAU_ALIGNMENT
                   ? tau_record_wrap_malloc(size_bytes, caller)
                   : tau_record_wrap_aligned_alloc(alignment, size_bytes, caller);
    }

    static tau_status deallocate(void *object) noexcept {
        tau_record_wrap_free(object);
        return TAU_OK;
    }

    template <typename Type> static constexpr bool serves = true;
#else
    using heap_type = tau_plan_heap;  // tau_tlsf, tau_budget or tau_pools
    static constexpr std::size_t heap_bytes = TAU_PLAN_HEAP_BYTES;
    static constexpr std::size_t shared_bytes = TAU_PLAN_SHARED_BYTES;
    static constexpr std::size_t alignment_bytes = TAU_PLAN_ALIGNMENT;

    // Pools for bands have the plan's alignment, so no limit holds for a type that needs more.
    template <typename Type>
    static constexpr bool serves =
        !std::is_same_v<heap_type, tau_pools> || alignof(Type) <= alignment_bytes;

    // For the calls of core/tlsf.h, core/budget.h and core/pools.h, such as statistics.
    // Never NULL. Cost: O(1), but the first call makes the heap (tau_plan_init).
    static heap_type *heap() noexcept {
        if (made == nullptr) {
            made = tau_plan_init(memory);
        }
        return made;
    }

    // An object of SIZE_BYTES, or of 1 byte for 0, at a multiple of ALIGNMENT, a power of two.
    // Returns NULL if and only if the heap refuses it.
    // Cost: tau_plan_malloc's, or tau_plan_aligned_alloc's above TAU_ALIGNMENT; and O(1).
    [[nodiscard]] static void *allocate(std::size_t size_bytes, std::size_t alignment,
                                        const void * = nullptr) noexcept {
        const std::size_t at_least_one = size_bytes == 0 ? 1 : size_bytes;
        return alignment <= TAU_ALIGNMENT ? tau_plan_malloc(heap(), at_least_one)
                                          : tau_plan_aligned_alloc(heap(), alignment, at_least_one);
    }

    // Frees the object. NULL is allowed. What core/tlsf.h calls misuse, such as a second free,
    // changes nothing but misuse_count, and the reason is returned. Check level 0 detects nothing.
    // Cost: tau_plan_free's, and O(1).
    static tau_status deallocate(void *object) noexcept {
        const tau_status status = tau_plan_free(heap(), object);
        if (status != TAU_OK) {
            TAU_PORT_LOCK(made);
            misused++;
            TAU_PORT_UNLOCK(made);
        }
        return status;
    }

    // Refused deallocations: of allocators and the resource too, which cannot return a reason.
    // Wraps around at SIZE_MAX.
    static std::size_t misuse_count() noexcept {
        return misused;
    }
#endif

    // As allocate, but never returns NULL: instead it throws std::bad_alloc, whose memory is the
    // C++ library's, or calls refused.
    [[nodiscard]] TAU_RECORD_INLINE static void *
    demand(std::size_t size_bytes, std::size_t alignment, const void *caller = nullptr) {
        void *const object = allocate(size_bytes, alignment, caller);
        if (object == nullptr) {
#ifdef __cpp_exceptions
            throw std::bad_alloc();
#else
            refused(size_bytes, alignment);
#endif
        }
        return object;
    }

#ifndef TAU_RECORD_CPP
  private:
    alignas(TAU_PLAN_ALIGNMENT) static inline unsigned char memory[heap_bytes];
    static inline heap_type *made = nullptr;
    static inline std::size_t misused = 0;
#endif
};

#ifndef TAU_RECORD_CPP
// Before main, so before a second thread.
inline const bool plan_is_made = plan::heap() != nullptr;
#endif

// An allocator of the standard library's containers, without state: all are equal.
// Refuses at compile time a type whose alignment the plan cannot serve.
template <typename Type> class allocator {
  public:
    using value_type = Type;
    using is_always_equal = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;

    allocator() = default;
    template <typename Other> allocator(const allocator<Other> &) noexcept {
    }

    // COUNT objects. Fails and costs as plan::demand.
    [[nodiscard]] TAU_RECORD_INLINE Type *allocate(std::size_t count) {
        static_assert(plan::serves<Type>,
                      "the plan guarantees no object with this type's alignment: record one");
        constexpr std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
        const bool wraps = count > bytes_max / sizeof(Type);
        const std::size_t size_bytes = wraps ? bytes_max : count * sizeof(Type);
        return static_cast<Type *>(plan::demand(size_bytes, alignof(Type)));
    }

    // As plan::deallocate. The heap knows the size.
    void deallocate(Type *object, std::size_t) noexcept {
        plan::deallocate(object);
    }
};

template <typename Type, typename Other>
constexpr bool operator==(const allocator<Type> &, const allocator<Other> &) noexcept {
    return true;
}

template <typename Type, typename Other>
constexpr bool operator!=(const allocator<Type> &, const allocator<Other> &) noexcept {
    return false;
}

#if __has_include(<memory_resource>)

class plan_resource final : public std::pmr::memory_resource {
  public:
    constexpr plan_resource() noexcept {
    }

  private:
    void *do_allocate(std::size_t size_bytes, std::size_t alignment) override {
        return plan::demand(size_bytes, alignment, __builtin_return_address(0));
    }

    void do_deallocate(void *object, std::size_t, std::size_t) noexcept override {
        plan::deallocate(object);
    }

    // There is one object of this type, so no RTTI is needed.
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
        return this == &other;
    }
};

// Initialized by a constant, and its destructor does nothing: it also serves containers that are
// made before main or destroyed after it.
inline union plan_resource_place {
    constexpr plan_resource_place() noexcept : resource() {
    }
    ~plan_resource_place() {
    }
    plan_resource resource;
} the_plan_resource;

// The heap as a resource: allocate fails and costs as plan::demand, deallocate as plan::deallocate.
// It equals itself only. The same pointer at each call.
inline std::pmr::memory_resource *resource() noexcept {
    return &the_plan_resource.resource;
}

#endif

}  // namespace tautochrone

#endif
#endif
