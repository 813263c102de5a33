"""Small wrong changes of the TLB, which its tests must notice."""

from __future__ import annotations

from testing.mutants import Group, mutants_of

TLB = [
    (
        "page invalidation ignored",
        "tau_tlb.sv",
        "invalidate_page = write && reg_addr_i == InvalidatePageWord && page_fits;",
        "invalidate_page = 1'b0 && write && reg_addr_i == InvalidatePageWord && page_fits;",
    ),
    (
        "filled although invalidated meanwhile",
        "tau_tlb.sv",
        "fill = finish && mapped && !killed_q && !kill;",
        "fill = finish && mapped;",
    ),
    (
        "instruction misses first",
        "tau_tlb.sv",
        "assign port = busy_q ? port_q : data_waiting;",
        "assign port = busy_q ? port_q : !instr_waiting;",
    ),
    (
        "not mapped is kept",
        "tau_tlb.sv",
        "fill = finish && mapped && !killed_q",
        "fill = finish && !killed_q",
    ),
    (
        "hits counted as misses",
        "tau_tlb_port.sv",
        ".event_index_i({!hit_q, owner_q}),",
        ".event_index_i({hit_q, owner_q}),",
    ),
    (
        "evictor and victim swapped",
        "tau_tlb_port.sv",
        ".event_index_i({owner_q, victim_owner_q}),",
        ".event_index_i({victim_owner_q, owner_q}),",
    ),
    (
        "counters are not cleared",
        "tau_tlb_counters.sv",
        "    else if (clear_i) used_q <= '0;\n",
        "",
    ),
    (
        "evictions without a victim counted",
        "tau_tlb_port.sv",
        "evict_q <= fill_i && evicts;",
        "evict_q <= fill_i;",
    ),
    (
        "a hit is no use",
        "tau_tlb_port.sv",
        ".touch_i      (take && hit),",
        ".touch_i      (1'b0),",
    ),
    (
        "the highest empty way first",
        "tau_tlb_level.sv",
        "for (int unsigned i = Ways; i > 0; i--) begin\n      if (!taken[i-1])",
        "for (int unsigned i = 1; i <= Ways; i++) begin\n      if (!taken[i-1])",
    ),
    (
        "miss takes a lookup meanwhile",
        "tau_tlb_port.sv",
        "assign lookup_ready_o = !waiting_q;",
        "assign lookup_ready_o = 1'b1;",
    ),
]

GROUPS = [
    Group(
        "tlb",
        ["hw/tlb/tb/test_tlb.py::test_shape"],
        mutants_of("hw/tlb/rtl", TLB),
        slow=True,
    ),
]
