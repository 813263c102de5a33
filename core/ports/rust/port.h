// The lock of the core in a Rust program: two functions that the type parameter of the heap gives
// (core/ports/rust/lib.rs). build.rs names this header as TAU_PORT_HEADER.
#ifndef TAU_CORE_PORTS_RUST_PORT_H
#define TAU_CORE_PORTS_RUST_PORT_H

// The first field of a heap or recorder in lib.rs, which keeps the state of the lock behind it.
struct tau_rust_lock {
    void (*acquire)(const struct tau_rust_lock *lock);
    void (*release)(const struct tau_rust_lock *lock);
};

// The heap's. It is set before the heap is made.
extern const struct tau_rust_lock *tau_rust_heap_lock;

#define TAU_PORT_LOCK(heap) ((void)(heap), tau_rust_heap_lock->acquire(tau_rust_heap_lock))
#define TAU_PORT_UNLOCK(heap) ((void)(heap), tau_rust_heap_lock->release(tau_rust_heap_lock))

#endif
