// SPDX-License-Identifier: GPL-2.0-only
// The kernel has no standard headers: what the core takes from this one.
#ifndef TAU_KERNEL_STDINT_H
#define TAU_KERNEL_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

#define UINT16_MAX U16_MAX
#define UINT32_MAX U32_MAX
#define UINT32_C(value) value##U
#define UINT64_C(value) value##ULL

#endif
