// SPDX-License-Identifier: GPL-2.0-only
// Takes the cold code out of RAM when the kernel has booted, or says on the console why it stays.
//
// Until then it is ordinary code. This code may be cold too: from the moment that faults are
// served, any part of it may be loaded again.
#include <asm/sections.h>
#include <asm/tlbflush.h>
#include <linux/delay.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "cold_code.h"
#include "cold_pager.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "coldcode."

static bool off;
static char *policy = "round-robin";
static char *store = "flash";
static unsigned int frames = 16;
static unsigned int frames_least = TAU_COLD_FRAMES_LEAST;
static unsigned int delay_us;
static unsigned int seed = 1;
static unsigned int wait_us;
static ulong flash = CONFIG_COLD_CODE_FLASH_ADDRESS;
module_param(off, bool, 0444);
module_param(policy, charp, 0444);
module_param(store, charp, 0444);
module_param(frames, uint, 0444);
module_param(frames_least, uint, 0444);
module_param(delay_us, uint, 0444);
module_param(seed, uint, 0444);
module_param(wait_us, uint, 0444);
module_param(flash, ulong, 0444);

static const char *const policies[] = {
    [TAU_CODE_CACHE_ROUND_ROBIN] = "round-robin",
    [TAU_CODE_CACHE_RANDOM] = "random",
    [TAU_CODE_CACHE_NRU] = "nru",
    [TAU_CODE_CACHE_AGING] = "aging",
};

static u32 pages_count(void) {
    return (tau_cold_end - tau_cold_start) / PAGE_SIZE;
}

// ---- Parts, in the order in which they are opened

static bool is_flash(void) {
    return strcmp(store, "flash") == 0;
}

static const char *open_store(void) {
    struct tau_cold_store *opened = &tau_cold_pager.store;
    const bool is_packed = strcmp(store, "compressed") == 0;
    if (is_flash()) {
        return tau_cold_flash_open(opened, flash, pages_count());
    }
    return is_packed || strcmp(store, "ram") == 0
               ? tau_cold_copy_open(opened, is_packed, pages_count())
               : "coldcode.store is not flash, compressed or ram";
}

static void close_store(void) {
    if (is_flash()) {
        tau_cold_flash_close(&tau_cold_pager.store);
    } else {
        tau_cold_copy_close(&tau_cold_pager.store);
    }
}

static const char *check_settings(void) {
    if (match_string(policies, ARRAY_SIZE(policies), policy) < 0) {
        return "coldcode.policy is not round-robin, random, nru or aging";
    }
    if (frames_least < TAU_COLD_FRAMES_LEAST) {
        return "coldcode.frames_least is too small";
    }
    if (frames < frames_least || frames > TAU_CODE_CACHE_FRAMES_MAX) {
        return "coldcode.frames is too small or too large";
    }
    return pages_count() > TAU_CODE_CACHE_PAGES_MAX ? "too many cold pages" : NULL;
}

static void close_frames(void) {
    for (u32 frame = 0; frame < frames; frame++) {
        free_page((unsigned long)tau_cold_pager.frames[frame].memory);
    }
}

static const char *open_frames(void) {
    for (u32 number = 0; number < frames; number++) {
        struct tau_sv39_code_frame *frame = &tau_cold_pager.frames[number];
        frame->memory = (u64 *)__get_free_page(GFP_KERNEL);
        if (!frame->memory) {
            close_frames();
            return "no memory for the frames";
        }
        frame->number = virt_to_pfn(frame->memory);
    }
    return NULL;
}

// The last part, since nothing takes it back: from here on faults are served.
static const char *open_cache(u8 *page_frames) {
    const struct tau_code_cache_settings settings = {
        .pages_count = pages_count(),
        .frames_count = frames,
        .frames_least = frames_least,
        .policy = match_string(policies, ARRAY_SIZE(policies), policy),
        .seed = seed,
    };
    struct tau_sv39_code_place place = {
        .first = (uintptr_t)tau_cold_start,
        .store = tau_cold_pager.store.offsets ? NULL : (const u64 *)tau_cold_pager.store.bytes,
        .frames = tau_cold_pager.frames,
    };
    u64 **tables;
    const char *cause = tau_cold_map_split(&tables);
    if (cause) {
        return cause;
    }
    place.tables = tables;
    tau_cold_pager.is_aging =
        settings.policy == TAU_CODE_CACHE_NRU || settings.policy == TAU_CODE_CACHE_AGING;
    tau_cold_pager.delay_ticks = (u64)delay_us * riscv_timebase / USEC_PER_SEC;
    const enum tau_status status =
        tau_sv39_code_init(&tau_cold_pager.code, &settings, &place, page_frames);
    return status == TAU_OK ? NULL : "the core refuses its settings";
}

// Opens all or nothing.
static const char *open_all(void) {
    u8 *page_frames = kmalloc(pages_count(), GFP_KERNEL);
    const char *cause = page_frames ? open_store() : "no memory for the table of pages";
    if (!cause) {
        cause = open_frames();
        if (!cause) {
            cause = open_cache(page_frames);
            if (cause) {
                close_frames();
            }
        }
        if (cause) {
            close_store();
        }
    }
    if (cause) {
        kfree(page_frames);
    }
    return cause;
}

// ---- From resident to absent

// Gives the frame of a page to the page allocator, unless the page differs from the store: the
// kernel patches itself while it boots, and flash can have errors. Copies were made after boot.
static void release(u32 number) {
    const size_t place = (size_t)number * PAGE_SIZE;
    const u64 *page = (const u64 *)(tau_cold_start + place);
    const u64 *stored = is_flash() ? (const u64 *)(tau_cold_pager.store.bytes + place) : page;
    unsigned long flags;
    local_irq_save(flags);
    const enum tau_status status =
        tau_sv39_code_release_page(&tau_cold_pager.code, (struct tau_page){number}, stored);
    local_irq_restore(flags);
    if (status == TAU_OK) {
        free_reserved_page(virt_to_page(lm_alias(page)));
    }
}

void tau_cold_activate(void) {
    const char *cause = "no code was placed on cold pages";
    // Moves all that follows against the ticks of the timer.
    udelay(wait_us);
    if (off) {
        cause = "switched off";
    } else if (pages_count() > 0) {
        cause = check_settings();
        if (!cause) {
            cause = open_all();
        }
    }
    tau_cold_counters_show(policy, store);
    if (cause) {
        pr_warn("coldcode: all code stays in RAM: %s\n", cause);
        return;
    }
    // This code may be on a page that it releases: then the next instruction loads the page.
    for (u32 number = 0; number < pages_count(); number++) {
        release(number);
    }
    const u32 pinned = tau_cold_pager.code.cache.counts.pinned;
    if (pinned == pages_count()) {
        close_frames();
        close_store();
        pr_warn("coldcode: all code stays in RAM: every page differs from the store\n");
        return;
    }
    pr_info("coldcode: %u pages, %u pinned, %u frames, %s, store %s\n", pages_count(), pinned,
            frames, policy, store);
}
