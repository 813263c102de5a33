#include "linux/runtime/sites.h"

#include <stdatomic.h>

struct tau_site tau_sites[TAU_SITES_COUNT_MAX + 1];

void tau_sites_note(uintptr_t address, size_t size_bytes) {
    unsigned index = 0;
    while (index < TAU_SITES_COUNT_MAX) {  // bound: TAU_SITES_COUNT_MAX
        uintptr_t found = 0;
        if (atomic_compare_exchange_strong(&tau_sites[index].address, &found, address) ||
            found == address) {
            break;
        }
        index++;
    }
    atomic_fetch_add(&tau_sites[index].objects, 1);
    atomic_fetch_add(&tau_sites[index].bytes, size_bytes);
}
