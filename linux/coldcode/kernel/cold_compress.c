// SPDX-License-Identifier: GPL-2.0-only
// The store in RAM: a copy of the code as it is after boot, packed or not.
//
// Packed pages begin at multiples of a word. A page that does not get smaller is copied.
#include <linux/lz4.h>
#include <linux/vmalloc.h>

#include "cold_pager.h"
#include "cold_unpack.h"

static_assert(TAU_COLD_PAGE_BYTES == PAGE_SIZE);

struct packer {
    u8 packed[PAGE_SIZE];
    u8 unpacked[PAGE_SIZE];
    u8 work[LZ4_MEM_COMPRESS];
};

// Packs a page and tries it. Returns its bytes; a whole page if it is better copied.
static u32 pack(struct packer *packer, const char *page) {
    const int room = PAGE_SIZE - sizeof(u64);
    const int packed =
        LZ4_compress_default(page, (char *)packer->packed, PAGE_SIZE, room, packer->work);
    if (packed <= 0 || !tau_cold_unpack(packer->packed, packed, packer->unpacked) ||
        memcmp(packer->unpacked, page, PAGE_SIZE) != 0) {
        return PAGE_SIZE;
    }
    return packed;
}

// Two passes, since the sum of sizes is known behind the first. TARGET is NULL in that one.
static u32 pack_all(struct packer *packer, u32 *offsets, u32 pages_count, u8 *target) {
    u32 next = 0;
    for (u32 number = 0; number < pages_count; number++) {
        const char *page = tau_cold_start + (unsigned long)number * PAGE_SIZE;
        const u32 bytes = pack(packer, page);
        offsets[number] = next;
        if (target) {
            memcpy(target + next, bytes == PAGE_SIZE ? (const u8 *)page : packer->packed, bytes);
        }
        next = ALIGN(next + bytes, sizeof(u64));
    }
    offsets[pages_count] = next;
    return next;
}

static bool open_packed(struct tau_cold_store *store, u32 pages_count) {
    struct packer *packer = vmalloc(sizeof(*packer));
    u32 *offsets = vmalloc(array_size(pages_count + 1, sizeof(*offsets)));
    u8 *bytes = NULL;
    u32 packed_bytes = 0;
    if (packer && offsets) {
        packed_bytes = pack_all(packer, offsets, pages_count, NULL);
        bytes = vzalloc(packed_bytes);
    }
    if (bytes) {
        pack_all(packer, offsets, pages_count, bytes);
        store->bytes = bytes;
        store->offsets = offsets;
        store->ram_bytes =
            PAGE_ALIGN(packed_bytes) + PAGE_ALIGN((pages_count + 1) * sizeof(*offsets));
    } else {
        vfree(offsets);
    }
    vfree(packer);
    return bytes != NULL;
}

const char *tau_cold_copy_open(struct tau_cold_store *store, bool is_packed, u32 pages_count) {
    if (is_packed) {
        return open_packed(store, pages_count) ? NULL : "no memory for packed pages";
    }
    u8 *bytes = vmalloc(array_size(pages_count, PAGE_SIZE));
    if (!bytes) {
        return "no memory for a copy of the pages";
    }
    memcpy(bytes, tau_cold_start, (size_t)pages_count * PAGE_SIZE);
    store->bytes = bytes;
    store->ram_bytes = (unsigned long)pages_count * PAGE_SIZE;
    return NULL;
}

void tau_cold_copy_close(struct tau_cold_store *store) {
    vfree(store->bytes);
    vfree(store->offsets);
}
