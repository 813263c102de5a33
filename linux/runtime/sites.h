// Where spilled objects came from: the places in the program that asked for them.
#ifndef TAU_LINUX_RUNTIME_SITES_H
#define TAU_LINUX_RUNTIME_SITES_H

#include <stddef.h>
#include <stdint.h>

#define TAU_SITES_COUNT_MAX 64u

struct tau_site {
    _Atomic uintptr_t address;  // 0: unused
    _Atomic uint64_t objects;
    _Atomic uint64_t bytes;
};

// The last entry counts what comes from all sites beyond the first ones.
extern struct tau_site tau_sites[TAU_SITES_COUNT_MAX + 1];

void tau_sites_note(uintptr_t address, size_t size_bytes);

#endif
