// The end of a tile that cannot keep its promise: a late slot, a broken system file, our own bug.
#ifndef TAU_KERNEL_STOP_H
#define TAU_KERNEL_STOP_H

#include "targets/tile/tile.h"

_Noreturn static inline void tau_stop(const char *why) {
    tau_tile_print("kernel: ");
    tau_tile_print(why);
    tau_tile_print("\n");
    tau_tile_exit(1);
}

#define TAU_KERNEL_ASSERT(condition)                                                               \
    ((condition) ? (void)0 : tau_stop("assertion failed: " #condition))

#endif
