// A Valgrind tool that records which parts of each heap object a program uses, and when.
//
// For the replay of a recording in pages it is enough to know when each 16-byte granule of an
// object was used first: docs/design/accesses.md has the argument. This tool replaces
// malloc and its kin, keeps two bits per granule, and writes a row for each allocation, each free
// and each first use (or, on request, for each access). `tau record --accesses` builds and starts
// it.
//
// SPDX-License-Identifier: GPL-2.0-or-later
#include "access_instrument.h"
#include "access_rows.h"
#include "access_shadow.h"
#include "facts/accesses.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_replacemalloc.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "valgrind.h"

// The flags of a trace that this tool knows.
#define UNKNOWN 1u
#define INHERITED 2u
#define DOUBLE_FREE 4u
// One address each of this many hashes is remembered as freed.
#define FREED_LOG2 16
#define PAGE_BYTES 4096ul

static const HChar *folder;
static Bool is_full;
static ULong events_max = ~0ull;
static Addr freed[1ul << FREED_LOG2];

// ---- touches

// Writes the granules of [address, end) that belong to one object, whose granules they must be: the
// untouched ones, or all of them.
static void touch_object(UInt number, Addr address, Addr end) {
    const struct shadow_object *object = shadow_object(number);
    ThreadId tid = VG_(get_running_tid)();
    Addr run = address;
    for (Addr at = address; at < end; at += GRANULE_BYTES) {
        Bool counts = is_full || shadow_is_untouched(at);
        if (shadow_is_untouched(at)) {
            shadow_set_touched(at);
        }
        if (!counts) {
            if (run < at && object->slot != OBJECT_NONE) {
                rows_touch(tid, object->slot, (run - object->start) >> GRANULE_LOG2,
                           (at - run) >> GRANULE_LOG2);
            }
            run = at + GRANULE_BYTES;
        }
    }
    if (run < end && object->slot != OBJECT_NONE) {
        rows_touch(tid, object->slot, (run - object->start) >> GRANULE_LOG2,
                   (end - run) >> GRANULE_LOG2);
    }
}

// An access that is not inside one granule, or finds it untouched. It belongs to the first object
// that it meets, since the C library's string functions read past the end of theirs. False if it
// meets none.
static __attribute__((noinline)) Bool touch(Addr address, UWord size_bytes) {
    Addr end = VG_ROUNDUP(address + size_bytes, GRANULE_BYTES);
    Addr start = address & ~(GRANULE_BYTES - 1);
    while (start < end && !shadow_is_heap(start)) {
        start += GRANULE_BYTES;
    }
    Addr stop = start;
    while (stop < end && shadow_is_heap(stop)) {
        stop += GRANULE_BYTES;
    }
    if (start == stop) {
        return False;
    }
    UInt number = shadow_owner(start);
    if (shadow_object(number)->size_bytes > 0) {
        touch_object(number, start, stop);
    }
    return True;
}

static inline void see(Addr address, UWord size_bytes, ULong *count) {
    struct shadow_word *word = shadow_word(address);
    if (LIKELY(word != NULL && (address & (GRANULE_BYTES - 1)) + size_bytes <= GRANULE_BYTES)) {
        ULong bit = 1ull << shadow_bit(address);
        if ((word->heap & bit) == 0) {
            return;
        }
        if (UNLIKELY((word->untouched & bit) != 0)) {
            (void)touch(address, size_bytes);
        }
        *count += 1;
    } else if (touch(address, size_bytes)) {
        *count += 1;
    }
}

static VG_REGPARM(2) void seen_load(Addr address, UWord size_bytes) {
    see(address, size_bytes, &access_counts.heap_loads);
}

static VG_REGPARM(2) void seen_store(Addr address, UWord size_bytes) {
    see(address, size_bytes, &access_counts.heap_stores);
}

static VG_REGPARM(2) void every_load(Addr address, UWord size_bytes) {
    access_counts.heap_loads += touch(address, size_bytes) ? 1 : 0;
}

static VG_REGPARM(2) void every_store(Addr address, UWord size_bytes) {
    access_counts.heap_stores += touch(address, size_bytes) ? 1 : 0;
}

// ---- what the kernel reads and writes

static Bool within_heap(Addr address) {
    return address - shadow_low < shadow_span;
}

static void kernel_reads(CorePart part, ThreadId tid, const HChar *what, Addr address,
                         SizeT size_bytes) {
    if (size_bytes > 0 && within_heap(address) && touch(address, size_bytes)) {
        access_counts.heap_loads++;
        access_counts.all_loads++;
    }
}

static void kernel_reads_text(CorePart part, ThreadId tid, const HChar *what, Addr address) {
    Addr end = address;
    while (within_heap(end) && shadow_is_heap(end) && *(const HChar *)end != '\0') {
        end++;
    }
    kernel_reads(part, tid, what, address, end - address + 1);
}

static void kernel_wrote(CorePart part, ThreadId tid, Addr address, SizeT size_bytes) {
    if (size_bytes > 0 && within_heap(address) && touch(address, size_bytes)) {
        access_counts.heap_stores++;
        access_counts.all_stores++;
    }
}

// ---- call sites

struct site {
    struct site *next;
    UWord address;
    UInt number;
};

static VgHashTable *sites;

// The number of the place that called malloc or its kin; 0 if its module is not known.
static UInt site_of_caller(ThreadId tid) {
    Addr frames[2] = {0, 0};
    if (VG_(get_StackTrace)(tid, frames, 2, NULL, NULL, 0) < 2) {
        return 0;
    }
    UWord address = frames[1] + 1;  // the core tells the call's last byte
    struct site *known = VG_(HT_lookup)(sites, address);
    if (known == NULL) {
        const DebugInfo *module = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), frames[1]);
        known = VG_(malloc)("tau.site", sizeof *known);
        known->address = address;
        known->number = 0;
        if (module != NULL) {
            known->number = rows_site(VG_(DebugInfo_get_filename)(module),
                                      address - (UWord)VG_(DebugInfo_get_text_bias)(module));
        }
        VG_(HT_add_node)(sites, known);
    }
    return known->number;
}

// ---- malloc and its kin

static Addr *freed_place(Addr address) {
    return &freed[(address * 0x9e3779b97f4a7c15ull) >> (64 - FREED_LOG2)];
}

static void *allocate(ThreadId tid, UInt kind, SizeT align, SizeT size_bytes) {
    if ((SSizeT)size_bytes < 0) {
        return NULL;
    }
    align = align < GRANULE_BYTES ? GRANULE_BYTES : align;
    void *made = VG_(cli_malloc)(align, size_bytes);
    if (made == NULL) {
        return NULL;
    }
    if (kind == TAU_ACCESSES_CALLOC) {
        VG_(memset)(made, 0, size_bytes);
    }
    UInt site = site_of_caller(tid);
    UInt object = shadow_add((Addr)made, size_bytes);
    rows_allocation(tid, kind, shadow_object(object)->slot, site, size_bytes,
                    63u - (UInt)__builtin_clzll(align));
    return made;
}

// A free or realloc of something that is not alive.
static void misuse(ThreadId tid, Addr address) {
    UInt flag = *freed_place(address) == address ? DOUBLE_FREE : UNKNOWN;
    rows_misuse(tid, flag, site_of_caller(tid));
}

static void forget(UInt object, void *pointer) {
    *freed_place((Addr)pointer) = (Addr)pointer;
    shadow_remove(object);
    VG_(cli_free)(pointer);
}

static void release(ThreadId tid, void *pointer) {
    UInt object = shadow_starting_at((Addr)pointer);
    if (object == OBJECT_NONE) {
        misuse(tid, (Addr)pointer);
        return;
    }
    UInt slot = shadow_object(object)->slot;
    if (slot == OBJECT_NONE) {
        rows_misuse(tid, INHERITED, site_of_caller(tid));
    } else {
        rows_free(tid, slot, site_of_caller(tid));
    }
    forget(object, pointer);
}

static void *on_malloc(ThreadId tid, SizeT size_bytes) {
    return allocate(tid, TAU_ACCESSES_MALLOC, 0, size_bytes);
}

static void *on_new_aligned(ThreadId tid, SizeT size_bytes, SizeT align) {
    return allocate(tid, TAU_ACCESSES_ALIGNED_ALLOC, align, size_bytes);
}

static void *on_memalign(ThreadId tid, SizeT align, SizeT size_bytes) {
    return allocate(tid, TAU_ACCESSES_ALIGNED_ALLOC, align, size_bytes);
}

static void *on_calloc(ThreadId tid, SizeT count, SizeT size_bytes) {
    if (size_bytes != 0 && count > ~0ul / size_bytes) {
        return NULL;
    }
    return allocate(tid, TAU_ACCESSES_CALLOC, 0, count * size_bytes);
}

static void on_free_aligned(ThreadId tid, void *pointer, SizeT align) {
    release(tid, pointer);
}

// realloc of an object of the parent process: that one ends, and a new one of this process starts.
static void *adopt(ThreadId tid, void *pointer, UInt object, SizeT size_bytes) {
    SizeT old_bytes = shadow_object(object)->size_bytes;
    rows_misuse(tid, INHERITED, site_of_caller(tid));
    void *made = allocate(tid, TAU_ACCESSES_MALLOC, 0, size_bytes);
    if (made != NULL) {
        VG_(memcpy)(made, pointer, old_bytes < size_bytes ? old_bytes : size_bytes);
        forget(object, pointer);
    }
    return made;
}

static void *on_realloc(ThreadId tid, void *pointer, SizeT size_bytes) {
    UInt object = shadow_starting_at((Addr)pointer);
    if ((SSizeT)size_bytes < 0) {
        return NULL;
    }
    if (object == OBJECT_NONE) {
        misuse(tid, (Addr)pointer);
        return NULL;
    }
    if (shadow_object(object)->slot == OBJECT_NONE) {
        return adopt(tid, pointer, object, size_bytes);
    }
    SizeT old_bytes = shadow_object(object)->size_bytes;
    void *moved = pointer;
    if (size_bytes > VG_(cli_malloc_usable_size)(pointer)) {
        moved = VG_(cli_malloc)(GRANULE_BYTES, size_bytes);
        if (moved == NULL) {
            return NULL;
        }
        VG_(memcpy)(moved, pointer, old_bytes);
    }
    shadow_resize(object, (Addr)moved, size_bytes);
    rows_allocation(tid, TAU_ACCESSES_REALLOC, shadow_object(object)->slot, site_of_caller(tid),
                    size_bytes, 0);
    if (moved != pointer) {
        *freed_place((Addr)pointer) = (Addr)pointer;
        VG_(cli_free)(pointer);
    }
    return moved;
}

static SizeT on_usable_size(ThreadId tid, void *pointer) {
    UInt object = shadow_starting_at((Addr)pointer);
    return object == OBJECT_NONE ? 0 : shadow_object(object)->size_bytes;
}

// ---- the process

static void before_syscall(ThreadId tid, UInt number, UWord *arguments, UInt count) {
    rows_flush();
}

static void after_syscall(ThreadId tid, UInt number, UWord *arguments, UInt count, SysRes result) {
}

// The parent wrote everything before the system call, so the child has nothing of it to write.
static void in_forked_child(ThreadId tid) {
    HChar parent[64];
    VG_(strcpy)(parent, rows_name());
    ULong clock = access_clock();
    rows_forget();
    VG_(memset)(&access_counts, 0, sizeof access_counts);
    shadow_inherit();
    VG_(HT_destruct)(sites, VG_(free));
    sites = VG_(HT_construct)("tau.sites");
    rows_open(folder, is_full, events_max, parent, clock);
}

static Bool take_option(const HChar *option) {
    const HChar *text = NULL;
    if (VG_STR_CLO(option, "--folder", folder)) {
        return True;
    }
    if (VG_STR_CLO(option, "--events-max", text)) {
        events_max = (ULong)VG_(strtoll10)(text, NULL);
        return True;
    }
    if (VG_BOOL_CLO(option, "--full", is_full)) {
        return True;
    }
    return VG_(replacement_malloc_process_cmd_line_option)(option);
}

static void print_usage(void) {
    VG_(printf)
    ("    --folder=PATH        where the recordings go (needed)\n"
     "    --full=no|yes        write every access, not only first ones [no]\n"
     "    --events-max=N       stop writing after N events [no limit]\n");
}

static void print_debug_usage(void) {
    VG_(printf)("    (none)\n");
}

static void start(void) {
    if (folder == NULL) {
        VG_(fmsg_bad_option)("--folder", "a folder is needed: use tau record --accesses\n");
    }
    access_calls = is_full
                       ? (struct access_calls){every_load, every_store, "every_load", "every_store"}
                       : (struct access_calls){seen_load, seen_store, "seen_load", "seen_store"};
    sites = VG_(HT_construct)("tau.sites");
    rows_open(folder, is_full, events_max, NULL, 0);
}

static void pre_clo_init(void) {
    VG_(details_name)("tauaccess");
    VG_(details_version)(NULL);
    VG_(details_description)("the recorder of heap accesses of tautochrone");
    VG_(details_copyright_author)("Copyright (C) 2026, the Tautochrone founders, GPL'd");
    VG_(details_bug_reports_to)("the tautochrone project");
    VG_(basic_tool_funcs)(start, access_instrument, rows_end);
    VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
    VG_(needs_malloc_replacement)
    (on_malloc, on_malloc, on_new_aligned, on_malloc, on_new_aligned, on_memalign, on_calloc,
     release, release, on_free_aligned, release, on_free_aligned, on_realloc, on_usable_size,
     GRANULE_BYTES);
    VG_(needs_syscall_wrapper)(before_syscall, after_syscall);
    VG_(track_pre_mem_read)(kernel_reads);
    VG_(track_pre_mem_read_asciiz)(kernel_reads_text);
    VG_(track_post_mem_write)(kernel_wrote);
    VG_(atfork)(NULL, NULL, in_forked_child);
}

VG_DETERMINE_INTERFACE_VERSION(pre_clo_init)
