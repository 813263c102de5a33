// The few parts of the emulator unicorn (version 2) that are used: prototypes written here by hand,
// so that its headers are not needed to build; the library is the one in the Python package.
#ifndef TAU_UNICORN_H
#define TAU_UNICORN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The few parts of unicorn's C interface (version 2) that are used; its headers are not needed to
// build.
typedef struct uc_struct uc_engine;
typedef size_t uc_hook;
#define UC_ARCH_ARM 1
#define UC_ARCH_RISCV 8
#define UC_MODE_RISCV32 4
#define UC_MODE_THUMB_MCLASS (16 | 32)
#define UC_HOOK_CODE 4
#define UC_HOOK_BLOCK 8
#define UC_PROT_READ_WRITE 3u
#define UC_PROT_ALL 7u
#define UC_ARM_REG_SP 12
#define UC_ARM_REG_PC 11
#define UC_ARM_REG_R0 66
#define UC_RISCV_REG_SP 3
#define UC_RISCV_REG_GP 4
#define UC_RISCV_REG_A0 11
#define UC_RISCV_REG_PC 190
#define UC_CPU_ARM_CORTEX_M4 9
#define UC_CTL_SET_CPU_MODEL ((7u) | (1u << 26) | (1u << 30))

struct tau_unicorn {
    void *library;
    int (*open)(int arch, int mode, uc_engine **engine);
    int (*close)(uc_engine *engine);
    int (*mem_map_ptr)(uc_engine *engine, uint64_t address, size_t size, uint32_t permissions,
                       void *memory);
    int (*hook_add)(uc_engine *engine, uc_hook *hook, int type, void *callback, void *context,
                    uint64_t begin, uint64_t end, ...);
    int (*emu_start)(uc_engine *engine, uint64_t begin, uint64_t until, uint64_t timeout,
                     size_t count);
    int (*emu_stop)(uc_engine *engine);
    int (*reg_write)(uc_engine *engine, int reg, const void *value);
    int (*reg_read)(uc_engine *engine, int reg, void *value);
    int (*ctl)(uc_engine *engine, uint32_t control, ...);
};

// Loads the library at PATH; false if it is not there or lacks a function. It is never unloaded,
// which it does not support.
bool tau_unicorn_load(struct tau_unicorn *unicorn, const char *path);

#endif
