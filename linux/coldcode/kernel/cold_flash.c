// SPDX-License-Identifier: GPL-2.0-only
// The page file in memory-mapped flash: docs/spec/code_pager.md.
#include <asm/sections.h>
#include <linux/build_bug.h>
#include <linux/buildid.h>
#include <linux/io.h>
#include <linux/uaccess.h>

#include "cold_pager.h"

struct header {
    char magic[8];
    u32 version;
    u32 pages_count;
    u8 build_id[BUILD_ID_SIZE_MAX];
    u32 reserved;
};
static_assert(sizeof(struct header) == 40);

static const char magic[] = "TAUPAGES";
#define VERSION 1u

// The linker puts the notes there. The build ID is a hash of the linked kernel.
extern const char __start_notes[], __stop_notes[];

static const char *check(const struct header *header, u32 pages_count) {
    u8 build_id[BUILD_ID_SIZE_MAX] = {};
    if (memcmp(header->magic, magic, sizeof(header->magic)) != 0) {
        return "the flash holds no page file";
    }
    if (header->version != VERSION) {
        return "the page file has another version";
    }
    if (build_id_parse_buf(__start_notes, build_id, __stop_notes - __start_notes)) {
        return "this kernel has no build ID";
    }
    if (memcmp(header->build_id, build_id, sizeof(build_id)) != 0 ||
        header->pages_count != pages_count) {
        return "the page file is of another build";
    }
    return NULL;
}

// The bus may answer for only part of the mapping, or for none of it.
static bool is_readable(const u8 *bytes, u32 pages_count) {
    for (u32 page = 0; page <= pages_count; page++) {
        u64 word;
        if (get_kernel_nofault(word, (const u64 *)(bytes + (unsigned long)page * PAGE_SIZE))) {
            return false;
        }
    }
    return true;
}

const char *tau_cold_flash_open(struct tau_cold_store *store, phys_addr_t address,
                                u32 pages_count) {
    const char *cause;
    struct header header;
    if (!PAGE_ALIGNED(address)) {
        return "the flash's address is not that of a page";
    }
    const u8 *bytes = ioremap(address, (1 + (size_t)pages_count) * PAGE_SIZE);
    if (!bytes) {
        return "the flash cannot be mapped";
    }
    store->bytes = bytes + PAGE_SIZE;
    if (!is_readable(bytes, pages_count)) {
        cause = "the flash cannot be read";
    } else {
        memcpy_fromio(&header, bytes, sizeof(header));
        cause = check(&header, pages_count);
    }
    if (cause) {
        tau_cold_flash_close(store);
    }
    return cause;
}

void tau_cold_flash_close(struct tau_cold_store *store) {
    iounmap((void __iomem *)(store->bytes - PAGE_SIZE));
}
