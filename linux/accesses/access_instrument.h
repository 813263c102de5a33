// The code that is added to a program: it counts accesses, and calls a function for each access of
// the heap.
//
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef TAU_ACCESS_INSTRUMENT_H
#define TAU_ACCESS_INSTRUMENT_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

// The added code calls this for an access that may be of the heap.
typedef VG_REGPARM(2) void access_seen(Addr address, UWord size_bytes);

struct access_calls {
    access_seen *load, *store;
    const HChar *load_name, *store_name;
};
extern struct access_calls access_calls;

IRSB *access_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                        const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                        IRType host_word);

#endif
