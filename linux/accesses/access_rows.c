// Rows wait in a small buffer that is written when it is full and before each system call, so that
// a process which is killed leaves all but the last few hundred of them.
//
// A touch waits too: the next event may be one of the granules after its own by the same access,
// and then both are one row. Granules of different accesses are not joined: their times differ.
//
// SPDX-License-Identifier: GPL-2.0-or-later
#include "access_rows.h"

#include "facts/accesses.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_xarray.h"

#define BUFFER_BYTES 4096
// The longest row but for the texts of facts and sites.
#define ROW_BYTES_MAX 64
#define TEXT_BYTES_MAX 3500
#define NAME_BYTES 64
#define TOUCH_GRANULES_MAX 255
#define FILES_OF_A_PID_MAX 10000
// Without an event, the counts are written after so many accesses, at a system call.
#define COUNTS_EVERY 100000

// The core keeps its own descriptors where no program looks; tools have no header for it.
extern Int VG_(safe_fd)(Int fd);

struct access_counts access_counts;

// A touch that is not in the buffer yet.
struct waiting_touch {
    ThreadId tid;
    UInt slot;
    UWord first, count;  // none waits while the count is 0
    ULong clock;
};

static struct {
    Int file;
    Bool is_full;     // every access is a row of its own
    Bool is_stopped;  // no event is written any more
    UInt used;
    ULong last_clock;
    UInt last_slot;
    UInt last_thread;
    UInt sites_count;
    ULong events_left;
    ULong counts_written;  // loads and stores when the counts were written last
    struct waiting_touch touch;
    HChar name[NAME_BYTES];
    UChar buffer[BUFFER_BYTES];
} rows = {.file = -1};

static void give_up(const HChar *what, const HChar *path) {
    VG_(umsg)("tau: %s %s\n", what, path);
    VG_(exit)(125);
}

static void write_buffer(void) {
    UInt done = 0;
    while (done < rows.used && rows.file >= 0) {
        Int written = VG_(write)(rows.file, rows.buffer + done, (Int)(rows.used - done));
        if (written <= 0) {
            VG_(umsg)
            ("tau: the recording ends here: %s could not be written (full disk?)\n", rows.name);
            VG_(close)(rows.file);
            rows.file = -1;
            rows.is_stopped = True;
        }
        done += (UInt)written;
    }
    rows.used = 0;
}

static void put_byte(UInt byte) {
    rows.buffer[rows.used++] = (UChar)byte;
}

static void put_number(ULong number) {
    while (number >= 128) {
        put_byte((UInt)(number & 127) | 128);
        number >>= 7;
    }
    put_byte((UInt)number);
}

static void put_bytes(const HChar *bytes, SizeT count) {
    VG_(memcpy)(rows.buffer + rows.used, bytes, count);
    rows.used += (UInt)count;
}

static void make_room(SizeT bytes) {
    if (rows.used + bytes > BUFFER_BYTES) {
        write_buffer();
    }
}

static void put_fact(UInt fact, const HChar *text) {
    SizeT bytes = VG_(strlen)(text);
    bytes = bytes < TEXT_BYTES_MAX ? bytes : TEXT_BYTES_MAX;
    make_room(bytes + ROW_BYTES_MAX);
    put_byte(TAU_ACCESSES_FACT | fact << 4);
    put_number(bytes);
    put_bytes(text, bytes);
}

static void put_facts(Bool is_full, const HChar *parent, ULong parent_clock) {
    struct vki_timeval now;
    HChar numbers[128];
    VG_(gettimeofday)(&now, NULL);
    VG_(sprintf)
    (numbers, "%d %d %llu %d %llu", VG_(getpid)(), VG_(getppid)(),
     (ULong)now.tv_sec * 1000 + (ULong)now.tv_usec / 1000, is_full ? 1 : 0, parent_clock);
    put_fact(TAU_ACCESSES_NUMBERS, numbers);
    if (parent != NULL) {
        put_fact(TAU_ACCESSES_PARENT, parent);
    }
    put_fact(TAU_ACCESSES_PROGRAM, VG_(args_the_exename) == NULL ? "" : VG_(args_the_exename));
    const HChar *folder = VG_(get_startup_wd)();
    put_fact(TAU_ACCESSES_DIRECTORY, folder == NULL ? "" : folder);
    for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_client)); i++) {
        put_fact(TAU_ACCESSES_ARGUMENT, *(HChar **)VG_(indexXA)(VG_(args_for_client), i));
    }
}

void rows_open(const HChar *folder, Bool is_full, ULong events_max, const HChar *parent,
               ULong parent_clock) {
    HChar path[VG_(strlen)(folder) + NAME_BYTES + 2];
    SysRes opened;
    Int number = 0;
    do {  // exec keeps the pid, so that may have a recording already
        VG_(sprintf)(rows.name, "%d-%d", VG_(getpid)(), number);
        VG_(sprintf)(path, "%s/%s.tauaccess", folder, rows.name);
        opened = VG_(open)(path, VKI_O_CREAT | VKI_O_EXCL | VKI_O_WRONLY, 0600);
    } while (sr_isError(opened) && sr_Err(opened) == VKI_EEXIST && ++number < FILES_OF_A_PID_MAX);
    if (sr_isError(opened)) {
        give_up("cannot make the recording", path);
    }
    rows.file = VG_(safe_fd)((Int)sr_Res(opened));
    rows.is_full = is_full;
    rows.is_stopped = False;
    rows.touch.count = 0;
    rows.used = 0;
    rows.last_clock = 0;
    rows.last_slot = 0;
    rows.last_thread = 0;
    rows.sites_count = 0;
    rows.counts_written = 0;
    rows.events_left = events_max;
    put_bytes(TAU_ACCESSES_MAGIC, TAU_ACCESSES_HEADER_BYTES - 1);
    put_byte(TAU_ACCESSES_VERSION);
    put_facts(is_full, parent, parent_clock);
    write_buffer();
}

const HChar *rows_name(void) {
    return rows.name;
}

void rows_forget(void) {
    if (rows.file >= 0) {
        VG_(close)(rows.file);
    }
    rows.file = -1;
    rows.used = 0;
}

// Starts a row of an event: its tag, thread and time. False if no event is written any more.
static Bool start_event(ThreadId tid, UInt tag, ULong clock) {
    if (rows.is_stopped) {
        return False;
    }
    make_room(ROW_BYTES_MAX);
    if (rows.events_left == 0) {
        put_byte(TAU_ACCESSES_STOPPED | 1 << 4);
        rows.is_stopped = True;
        return False;
    }
    rows.events_left--;
    if (tid - 1 != rows.last_thread) {
        rows.last_thread = tid - 1;
        put_byte(TAU_ACCESSES_THREAD);
        put_number(rows.last_thread);
    }
    put_byte(tag);
    put_number(clock - rows.last_clock);
    rows.last_clock = clock;
    return True;
}

static void put_slot(UInt slot) {
    Int step = (Int)(slot - rows.last_slot);
    put_number(((UInt)step << 1) ^ (UInt)(step >> 31));
    rows.last_slot = slot;
}

// Writes the touch that waits.
static void put_touch(void) {
    struct waiting_touch *touch = &rows.touch;
    UInt small = touch->count < 16 ? (UInt)touch->count : 0;
    if (touch->count > 0 &&
        start_event(touch->tid, TAU_ACCESSES_TOUCH | small << 4, touch->clock)) {
        put_slot(touch->slot);
        put_number(touch->first);
        if (small == 0) {
            put_number(touch->count);
        }
    }
    touch->count = 0;
}

// Starts the row of an event that is not a touch.
static Bool start_other(ThreadId tid, UInt tag) {
    put_touch();
    return start_event(tid, tag, access_clock());
}

void rows_touch(ThreadId tid, UInt slot, UWord first, UWord count) {
    struct waiting_touch *touch = &rows.touch;
    ULong clock = access_clock();
    while (count > 0) {
        Bool joins = touch->count > 0 && touch->count < TOUCH_GRANULES_MAX && !rows.is_full &&
                     touch->slot == slot && touch->first + touch->count == first &&
                     touch->tid == tid && clock == touch->clock;
        if (!joins) {
            put_touch();
            *touch = (struct waiting_touch){tid, slot, first, 0, clock};
        }
        UWord part = TOUCH_GRANULES_MAX - touch->count;
        part = count < part ? count : part;
        touch->count += part;
        first += part;
        count -= part;
    }
}

void rows_allocation(ThreadId tid, UInt kind, UInt slot, UInt site, SizeT size_bytes,
                     UInt align_log2) {
    if (start_other(tid, kind)) {
        put_slot(slot);
        put_number(site);
        put_number(size_bytes);
        if (kind == TAU_ACCESSES_ALIGNED_ALLOC) {
            put_number(align_log2);
        }
    }
}

void rows_free(ThreadId tid, UInt slot, UInt site) {
    if (start_other(tid, TAU_ACCESSES_FREE)) {
        put_slot(slot);
        put_number(site);
    }
}

void rows_misuse(ThreadId tid, UInt flag, UInt site) {
    if (start_other(tid, TAU_ACCESSES_MISUSE | flag << 4)) {
        put_number(site);
    }
}

UInt rows_site(const HChar *module, ULong offset) {
    SizeT bytes = VG_(strlen)(module);
    bytes = bytes < TEXT_BYTES_MAX ? bytes : TEXT_BYTES_MAX;
    make_room(bytes + ROW_BYTES_MAX);
    put_byte(TAU_ACCESSES_SITE);
    put_number(bytes);
    put_bytes(module, bytes);
    put_number(offset);
    return ++rows.sites_count;
}

static void write_counts(void) {
    put_touch();
    rows.counts_written = access_counts.all_loads + access_counts.all_stores;
    make_room(ROW_BYTES_MAX);
    put_byte(TAU_ACCESSES_TOTALS);
    put_number(access_counts.heap_loads);
    put_number(access_counts.heap_stores);
    put_number(access_counts.all_loads);
    put_number(access_counts.all_stores);
    put_number(access_counts.stack);
    write_buffer();
}

void rows_flush(void) {
    ULong all = access_counts.all_loads + access_counts.all_stores;
    if (rows.used > 0 || rows.touch.count > 0 || all - rows.counts_written >= COUNTS_EVERY) {
        write_counts();
    }
}

void rows_end(Int status) {
    write_counts();
    put_byte(TAU_ACCESSES_END);
    put_number((ULong)(status & 255));
    write_buffer();
}
