// SPDX-License-Identifier: GPL-2.0-only
#ifndef TAU_KERNEL_STDDEF_H
#define TAU_KERNEL_STDDEF_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif
