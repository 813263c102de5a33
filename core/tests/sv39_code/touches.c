// A plugin of QEMU that writes which cold pages each instruction of the firmware needs.
//
//     -plugin libtouches.so,first=A,pages=N,marks=A,period=A,start=A,out=PATH
//
// Nothing is written before the instruction at START is executed.
// One line per event:
// - "t" and the pages in the order of need, if they differ from the line before
// - "f" and the page of a fault, when its handler reads a byte at MARKS
// - "p" at the end of a period, which is a call at PERIOD
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/coldcode/profile/qemu_plugin.h"

#define PAGES_MAX 64u
#define NEEDED_MAX 4u
#define PAGE_LOG2 12u
#define NUMBERS 5

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct needed {
    unsigned count;
    uint64_t pages[NEEDED_MAX];
};

static struct {
    uint64_t first;
    uint64_t pages;
    uint64_t marks;
    uint64_t period;
    uint64_t start;
    bool is_started;
    FILE *file;
    struct needed now;      // for the instruction that is executed
    struct needed written;  // in the last line
} touches;

static bool is_cold(uint64_t address) {
    return address - touches.first < touches.pages << PAGE_LOG2;
}

static void need(uint64_t address, uint64_t bytes) {
    const uint64_t last = (address + bytes - 1 - touches.first) >> PAGE_LOG2;
    for (uint64_t page = (address - touches.first) >> PAGE_LOG2; page <= last; page++) {
        bool is_known = false;
        for (unsigned i = 0; i < touches.now.count; i++) {
            is_known = is_known || touches.now.pages[i] == page;
        }
        if (!is_known && touches.now.count < NEEDED_MAX) {
            touches.now.pages[touches.now.count++] = page;
        }
    }
}

static bool is_written(void) {
    return touches.now.count == touches.written.count &&
           memcmp(touches.now.pages, touches.written.pages, touches.now.count * sizeof(uint64_t)) ==
               0;
}

static void end_instruction(void) {
    if (touches.now.count != 0 && !is_written()) {
        fputs("t", touches.file);
        for (unsigned i = 0; i < touches.now.count; i++) {
            fprintf(touches.file, " %u", (unsigned)touches.now.pages[i]);
        }
        fputs("\n", touches.file);
        touches.written = touches.now;
    }
    touches.now.count = 0;
}

static void write_event(const char *line) {
    end_instruction();
    touches.written.count = 0;
    fputs(line, touches.file);
}

static void cold_executed(unsigned int vcpu, void *data) {
    const uint64_t address = (uintptr_t)data >> 3;
    (void)vcpu;
    end_instruction();
    if (touches.is_started) {
        need(address, (uintptr_t)data & 7u);
    }
}

static void started(unsigned int vcpu, void *data) {
    (void)vcpu;
    (void)data;
    touches.is_started = true;
}

static void period_ended(unsigned int vcpu, void *data) {
    (void)vcpu;
    (void)data;
    write_event("p\n");
}

// DATA is NULL if the instruction is resident: then it needs nothing but its operand.
static void accessed(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)vcpu;
    if (!touches.is_started) {
        return;
    }
    if (address - touches.marks < PAGES_MAX) {
        char line[16];
        snprintf(line, sizeof line, "f %u\n", (unsigned)(address - touches.marks));
        write_event(line);
    } else if (is_cold(address)) {
        if (data == NULL) {
            end_instruction();
        }
        need(address, UINT64_C(1) << qemu_plugin_mem_size_shift(info));
    }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    const size_t count = qemu_plugin_tb_n_insns(tb);
    (void)id;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t address = qemu_plugin_insn_vaddr(insn);
        void *data = NULL;
        if (is_cold(address)) {
            data = (void *)((uintptr_t)address << 3 | qemu_plugin_insn_size(insn));
            qemu_plugin_register_vcpu_insn_exec_cb(insn, cold_executed, QEMU_PLUGIN_CB_NO_REGS,
                                                   data);
        } else if (address == touches.period) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, period_ended, QEMU_PLUGIN_CB_NO_REGS,
                                                   NULL);
        } else if (address == touches.start) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, started, QEMU_PLUGIN_CB_NO_REGS, NULL);
        }
        // The filter of QEMU 7.2 takes loads for stores. Nobody stores here, so it does not matter.
        qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                         data);
    }
}

static void ended(qemu_plugin_id_t id, void *data) {
    (void)id;
    (void)data;
    end_instruction();
    fclose(touches.file);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    uint64_t *const numbers[NUMBERS] = {&touches.first, &touches.pages, &touches.marks,
                                        &touches.period, &touches.start};
    const char *const names[NUMBERS] = {"first=", "pages=", "marks=", "period=", "start="};
    (void)info;
    if (argc != NUMBERS + 1 || strncmp(argv[NUMBERS], "out=", 4) != 0) {
        return -1;
    }
    for (int i = 0; i < NUMBERS; i++) {
        if (strncmp(argv[i], names[i], strlen(names[i])) != 0) {
            return -1;
        }
        *numbers[i] = strtoull(argv[i] + strlen(names[i]), NULL, 0);
    }
    touches.file = fopen(argv[NUMBERS] + 4, "w");
    if (touches.file == NULL) {
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
