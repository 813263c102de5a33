// A plugin of QEMU that records which code of a kernel is executed.
//
//     qemu-system-riscv64 … -plugin libtau_code_profile.so,recording=FILE
//
// FILE was prepared by `tau`. The kernel is unmodified. docs/design/code_recording.md has the
// reasons.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/coldcode/profile/block_table.h"
#include "linux/coldcode/profile/checksum.h"
#include "linux/coldcode/profile/code_recording.h"
#include "linux/coldcode/profile/function_table.h"
#include "linux/coldcode/profile/qemu_plugin.h"

#define ARGUMENT "recording="
#define MESSAGE_BYTES_MAX 4352

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

// One processor executes and translates, so nothing is shared.
static struct {
    struct tau_code_recording recording;
    struct tau_block_table blocks;
    char *path;
    uint64_t time;         // instructions of the kernel executed so far
    uint64_t marker_time;  // TAU_CODE_ABSENT until the marker is executed
    bool is_steady;        // the marker was executed, or there is none
    uint32_t latest;       // function of the latest touch
    uint64_t *touches;     // rows of each function
} profile;

static void report(const char *path, const struct tau_code_recording *recording) {
    const int number = recording->failure_errno;
    char text[MESSAGE_BYTES_MAX];
    snprintf(text, sizeof text, "tau: %s: %s%s%s\n", path, recording->failure,
             number == 0 ? "" : ": ", number == 0 ? "" : strerror(number));
    fputs(text, stderr);
}

// ---- When code is executed

static void marker_executed(unsigned int vcpu, void *data) {
    (void)vcpu;
    (void)data;
    if (profile.marker_time == TAU_CODE_ABSENT) {
        profile.marker_time = profile.time;
        profile.is_steady = true;
        tau_block_table_end_boot(&profile.blocks);
    }
}

static void block_executed(unsigned int vcpu, void *data) {
    struct tau_block_counter *block = data;
    (void)vcpu;
    block->count++;
    if (profile.is_steady && block->function != profile.latest &&
        profile.touches[block->function] < profile.recording.touches_max) {
        profile.touches[block->function]++;
        profile.latest = block->function;
        tau_code_recording_touch(&profile.recording, block->function, profile.time);
    }
    profile.time += block->instructions;
}

// ---- When code is translated

// Whether an instruction starts a block although the one before it goes on to it.
static bool is_border(uint64_t address, uint32_t function, uint32_t function_before) {
    return function != function_before || address == profile.recording.marker;
}

// Counts the instructions FIRST … LAST: a block, if FUNCTION is one.
static void instrument(struct qemu_plugin_tb *tb, size_t first, size_t last, uint32_t function) {
    if (function == TAU_FUNCTION_NONE) {
        return;  // programs and firmware run as without the plugin
    }
    struct qemu_plugin_insn *start = qemu_plugin_tb_get_insn(tb, first);
    struct tau_block_counter counter = {
        .instructions = (uint32_t)(last - first + 1),
        .function = function,
    };
    struct tau_block wanted = {
        .counter = &counter,
        .start = qemu_plugin_insn_vaddr(start),
    };
    if (wanted.start == profile.recording.marker) {
        qemu_plugin_register_vcpu_insn_exec_cb(start, marker_executed, QEMU_PLUGIN_CB_NO_REGS,
                                               NULL);
    }
    for (size_t index = first; index <= last; index++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, index);
        const size_t bytes = qemu_plugin_insn_size(insn);
        wanted.bytes += (uint32_t)bytes;
        wanted.code_checksum =
            tau_checksum_add(wanted.code_checksum, qemu_plugin_insn_data(insn), bytes);
    }
    struct tau_block *block = tau_block_table_get(&profile.blocks, &wanted);
    if (block == NULL) {
        fputs("tau: memory is short: the recording stops QEMU\n", stderr);
        abort();
    }
    qemu_plugin_register_vcpu_insn_exec_cb(start, block_executed, QEMU_PLUGIN_CB_NO_REGS,
                                           block->counter);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    const size_t count = qemu_plugin_tb_n_insns(tb);
    uint32_t function = TAU_FUNCTION_NONE;
    size_t first = 0;
    (void)id;
    for (size_t index = 0; index < count; index++) {
        const uint64_t address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, index));
        const uint32_t next = tau_function_table_find(&profile.recording.functions, address);
        if (index > first && is_border(address, next, function)) {
            instrument(tb, first, index - 1, function);
            first = index;
        }
        function = next;
    }
    instrument(tb, first, count - 1, function);
}

// ---- Start and end

static void ended(qemu_plugin_id_t id, void *data) {
    (void)id;
    (void)data;
    if (!profile.is_steady) {
        tau_block_table_end_boot(&profile.blocks);  // all of it was boot
    }
    if (!tau_code_recording_close(&profile.recording, &profile.blocks, profile.marker_time,
                                  profile.time)) {
        report(profile.path, &profile.recording);
    }
}

// Whether QEMU runs what can be recorded; if not, says why.
static bool can_record(const qemu_info_t *info) {
    if (!info->system_emulation) {
        fputs("tau: QEMU must emulate a whole machine: use qemu-system-…\n", stderr);
        return false;
    }
    if (info->system.max_vcpus != 1) {
        fputs("tau: only one processor can be recorded: run QEMU with -smp 1\n", stderr);
        return false;
    }
    return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    if (!can_record(info)) {
        return -1;
    }
    if (argc != 1 || strncmp(argv[0], ARGUMENT, strlen(ARGUMENT)) != 0) {
        fputs("tau: the plugin's only argument is recording=FILE\n", stderr);
        return -1;
    }
    profile.path = strdup(argv[0] + strlen(ARGUMENT));
    if (profile.path == NULL) {
        return -1;
    }
    if (!tau_code_recording_open(&profile.recording, profile.path)) {
        report(profile.path, &profile.recording);
        return -1;
    }
    profile.touches = calloc((size_t)profile.recording.functions.count + 1, sizeof(uint64_t));
    if (profile.touches == NULL) {
        return -1;
    }
    profile.marker_time = TAU_CODE_ABSENT;
    profile.is_steady = profile.recording.marker == TAU_CODE_ABSENT;
    profile.latest = TAU_FUNCTION_NONE;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
