// Each access gets a call under the condition that its address is within the heap's span, so that
// accesses to the stack and to static data cost a subtraction and a comparison. Counts of all
// accesses are known when the code is translated and added once for each straight piece of it.
//
// An access that is not far above the stack pointer is counted as the stack's: known beforehand if
// its address is a fixed distance from it, else compared. The first kind is compared with the
// heap's span all the same, since a program may run on a stack out of malloc.
//
// SPDX-License-Identifier: GPL-2.0-or-later
#include "access_instrument.h"

#include "access_rows.h"
#include "access_shadow.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"

struct access_calls access_calls;

// One block of code while it is instrumented.
struct block {
    IRSB *out;
    Int stack_pointer;           // Its offset in the guest state.
    Bool is_linker;              // The code is the dynamic linker's.
    Bool *is_stack;              // Temporaries at a fixed distance from the stack pointer.
    UWord loads, stores, stack;  // Since they were added to the counts last.
    IRExpr *more_stack;          // The part of STACK that is known only at run time, or NULL.
};

// Above the stack pointer by less than this is the stack. More than the frames that a program works
// in at a time, less than what usually lies between a stack and other memory.
#define STACK_BYTES (1ul << 18)

static IRExpr *temporary(struct block *block, IRType type, IRExpr *value) {
    IRTemp made = newIRTemp(block->out->tyenv, type);
    addStmtToIRSB(block->out, IRStmt_WrTmp(made, value));
    return IRExpr_RdTmp(made);
}

static IRExpr *word_at(const void *place) {
    return IRExpr_Load(Iend_LE, Ity_I64, mkIRExpr_HWord((HWord)place));
}

static void add_to(struct block *block, ULong *count, IRExpr *amount) {
    IRExpr *before = temporary(block, Ity_I64, word_at(count));
    IRExpr *after = temporary(block, Ity_I64, IRExpr_Binop(Iop_Add64, before, amount));
    addStmtToIRSB(block->out, IRStmt_Store(Iend_LE, mkIRExpr_HWord((HWord)count), after));
}

// Adds the accesses since the last time to the counts, before every way out of the block.
static void add_counts(struct block *block) {
    if (block->loads > 0) {
        add_to(block, &access_counts.all_loads, mkIRExpr_HWord(block->loads));
    }
    if (block->stores > 0) {
        add_to(block, &access_counts.all_stores, mkIRExpr_HWord(block->stores));
    }
    if (block->stack > 0) {
        add_to(block, &access_counts.stack, mkIRExpr_HWord(block->stack));
    }
    if (block->more_stack != NULL) {
        add_to(block, &access_counts.stack, block->more_stack);
    }
    block->loads = block->stores = block->stack = 0;
    block->more_stack = NULL;
}

static Bool is_stack(const struct block *block, const IRExpr *expression) {
    return expression->tag == Iex_RdTmp && block->is_stack[expression->Iex.RdTmp.tmp];
}

// Notes whether a new temporary is a fixed distance from the stack pointer.
static void follow_stack(struct block *block, IRTemp made, const IRExpr *value) {
    Bool found = is_stack(block, value);
    if (value->tag == Iex_Get) {
        found = value->Iex.Get.offset == block->stack_pointer && value->Iex.Get.ty == Ity_I64;
    } else if (value->tag == Iex_Binop && value->Iex.Binop.arg2->tag == Iex_Const) {
        IROp operation = value->Iex.Binop.op;
        found = (operation == Iop_Add64 || operation == Iop_Sub64 || operation == Iop_And64) &&
                is_stack(block, value->Iex.Binop.arg1);
    }
    block->is_stack[made] = found;
}

// Counts an access whose address is compared with the stack pointer.
static void add_stack_test(struct block *block, IRExpr *address) {
    IRExpr *pointer = temporary(block, Ity_I64, IRExpr_Get(block->stack_pointer, Ity_I64));
    IRExpr *above = temporary(block, Ity_I64, IRExpr_Binop(Iop_Sub64, address, pointer));
    IRExpr *near =
        temporary(block, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, above, mkIRExpr_HWord(STACK_BYTES)));
    IRExpr *one = temporary(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, near));
    block->more_stack =
        block->more_stack == NULL
            ? one
            : temporary(block, Ity_I64, IRExpr_Binop(Iop_Add64, block->more_stack, one));
}

// Adds the call for one access of SIZE_BYTES. GUARD (or NULL) is a condition of the program's own.
static void add_access(struct block *block, IRExpr *address, UWord size_bytes, Bool is_store,
                       IRExpr *guard) {
    UWord *count = is_store ? &block->stores : &block->loads;
    if (guard == NULL) {
        *count += 1;
        if (block->is_linker || is_stack(block, address)) {
            block->stack++;
        } else if (address->tag == Iex_RdTmp) {
            add_stack_test(block, address);
        }
    } else {
        IRExpr *one = temporary(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, guard));
        add_to(block, is_store ? &access_counts.all_stores : &access_counts.all_loads, one);
    }
    IRExpr *low = temporary(block, Ity_I64, word_at(&shadow_low));
    IRExpr *span = temporary(block, Ity_I64, word_at(&shadow_span));
    IRExpr *distance = temporary(block, Ity_I64, IRExpr_Binop(Iop_Sub64, address, low));
    IRExpr *within = temporary(block, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, distance, span));
    if (guard != NULL) {
        IRExpr *both = temporary(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, within));
        IRExpr *mask = temporary(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, guard));
        IRExpr *bits = temporary(block, Ity_I64, IRExpr_Binop(Iop_And64, both, mask));
        within = temporary(block, Ity_I1, IRExpr_Unop(Iop_64to1, bits));
    }
    const HChar *name = is_store ? access_calls.store_name : access_calls.load_name;
    void *function = is_store ? access_calls.store : access_calls.load;
    IRDirty *call = unsafeIRDirty_0_N(2, name, VG_(fnptr_to_fnentry)(function),
                                      mkIRExprVec_2(address, mkIRExpr_HWord(size_bytes)));
    call->guard = within;
    addStmtToIRSB(block->out, IRStmt_Dirty(call));
}

static void add_for_dirty(struct block *block, const IRDirty *dirty) {
    if (dirty->mFx == Ifx_None) {
        return;
    }
    IRExpr *guard = dirty->guard->tag == Iex_Const ? NULL : dirty->guard;
    if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify) {
        add_access(block, dirty->mAddr, (UWord)dirty->mSize, False, guard);
    }
    if (dirty->mFx == Ifx_Write || dirty->mFx == Ifx_Modify) {
        add_access(block, dirty->mAddr, (UWord)dirty->mSize, True, guard);
    }
}

static UWord size_of(const struct block *block, const IRExpr *value) {
    return (UWord)sizeofIRType(typeOfIRExpr(block->out->tyenv, value));
}

static void add_for_cas(struct block *block, const IRCAS *cas) {
    UWord size_bytes = size_of(block, cas->dataLo) * (cas->dataHi == NULL ? 1 : 2);
    add_access(block, cas->addr, size_bytes, False, NULL);
    add_access(block, cas->addr, size_bytes, True, NULL);
}

static void add_for_linked(struct block *block, const IRStmt *statement) {
    const IRExpr *stored = statement->Ist.LLSC.storedata;
    if (stored != NULL) {
        add_access(block, statement->Ist.LLSC.addr, size_of(block, stored), True, NULL);
        return;
    }
    IRType type = typeOfIRTemp(block->out->tyenv, statement->Ist.LLSC.result);
    add_access(block, statement->Ist.LLSC.addr, (UWord)sizeofIRType(type), False, NULL);
}

static void add_for_guarded_load(struct block *block, const IRLoadG *load) {
    IRType wide, type;
    typeOfIRLoadGOp(load->cvt, &wide, &type);
    add_access(block, load->addr, (UWord)sizeofIRType(type), False, load->guard);
}

// The code in front of one statement.
static void add_before(struct block *block, const IRStmt *statement) {
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *value = statement->Ist.WrTmp.data;
        if (value->tag == Iex_Load) {
            add_access(block, value->Iex.Load.addr, (UWord)sizeofIRType(value->Iex.Load.ty), False,
                       NULL);
        }
        follow_stack(block, statement->Ist.WrTmp.tmp, value);
        break;
    }
    case Ist_Store:
        add_access(block, statement->Ist.Store.addr, size_of(block, statement->Ist.Store.data),
                   True, NULL);
        break;
    case Ist_StoreG:
        add_access(block, statement->Ist.StoreG.details->addr,
                   size_of(block, statement->Ist.StoreG.details->data), True,
                   statement->Ist.StoreG.details->guard);
        break;
    case Ist_LoadG:
        add_for_guarded_load(block, statement->Ist.LoadG.details);
        break;
    case Ist_CAS:
        add_for_cas(block, statement->Ist.CAS.details);
        break;
    case Ist_LLSC:
        add_for_linked(block, statement);
        break;
    case Ist_Dirty:
        add_for_dirty(block, statement->Ist.Dirty.details);
        break;
    case Ist_Exit:
        add_counts(block);
        break;
    default:
        break;
    }
}

static Bool is_linker(Addr code) {
    const DebugInfo *module = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), code);
    const HChar *name = module == NULL ? NULL : VG_(DebugInfo_get_soname)(module);
    return name != NULL && VG_(strncmp)(name, "ld-linux", 8) == 0;
}

IRSB *access_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                        const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                        IRType host_word) {
    tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
    struct block block = {.out = deepCopyIRSBExceptStmts(in),
                          .stack_pointer = layout->offset_SP,
                          .is_linker = is_linker(closure->readdr)};
    // Temporaries that are made here are never asked about.
    block.is_stack = VG_(calloc)("tau.stack", (SizeT)in->tyenv->types_used, sizeof(Bool));
    for (Int i = 0; i < in->stmts_used; i++) {
        if (in->stmts[i] != NULL && in->stmts[i]->tag != Ist_NoOp) {
            add_before(&block, in->stmts[i]);
            addStmtToIRSB(block.out, in->stmts[i]);
        }
    }
    add_counts(&block);
    VG_(free)(block.is_stack);
    return block.out;
}
