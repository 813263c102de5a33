"""Small wrong changes of the hardware: (what goes wrong, file under hw/, old text, new text).

test_mutants.py applies each to a copy of hw/ and runs the tests of the file's module there: they
must fail. EQUIVALENT are changes that no test can notice, with why.
"""

from __future__ import annotations

Mutant = tuple[str, str, str, str]

RTMMU: list[Mutant] = [
    ("start is page 0", "rtmmu/rtl/tau_rtmmu_lookup.sv", "start != '0 && start <=", "start <="),
    (
        "start above the page",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "start != '0 && start <= page_q[at0_q];",
        "start != '0;",
    ),
    (
        "start is the page itself refused",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "start <= page_q[at0_q];",
        "start < page_q[at0_q];",
    ),
    (
        "start compared with another lookup's page",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "start <= page_q[at0_q];",
        "start <= page_q[head_q];",
    ),
    (
        "high bits of the start ignored",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "start_ok = (table0_rdata_i >> PageBits) == '0 && start",
        "start_ok = start",
    ),
    (
        "high bits of the place ignored",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "place_ok = (table1_rdata_i >> PageBits) == '0;",
        "place_ok = 1'b1;",
    ),
    (
        "place below the start",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "start_q[head_q] <= place_q[head_q] &&",
        "1'b1 &&",
    ),
    (
        "place is the start refused",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "start_q[head_q] <= place_q[head_q] &&",
        "start_q[head_q] < place_q[head_q] &&",
    ),
    (
        "place above the top",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "(place_q[head_q] <= top || top_outside)",
        "1'b1",
    ),
    (
        "place is the top refused",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "(place_q[head_q] <= top || top_outside)",
        "(place_q[head_q] < top || top_outside)",
    ),
    (
        "a top beyond all pages is cut",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "(place_q[head_q] <= top || top_outside)",
        "(place_q[head_q] <= top)",
    ),
    (
        "state counts as part of the top",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        ": table3_rdata_i[NumberBits-1:PageBits] != '0;",
        ": table3_rdata_i[31:PageBits] != '0;",
    ),
    (
        "stack not compared",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "place_ok_q[head_q] && page_ok &&",
        "place_ok_q[head_q] &&",
    ),
    (
        "only the low bits of the stack compared",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        ": table4_rdata_i == 32'(page_q[head_q]);",
        ": table4_rdata_i[PageBits-1:0] == page_q[head_q];",
    ),
    (
        "kept comparison with another lookup's page",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "page_ok_q[at4_q] <= table4_rdata_i == 32'(page_q[at4_q]);",
        "page_ok_q[at4_q] <= table4_rdata_i == 32'(page_q[head_q]);",
    ),
    (
        "answer before the page table's",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "(has_page_q[head_q] || page_now) && (has_data_q[head_q] || data_now);",
        "(has_page_q[head_q] || page_now);",
    ),
    (
        "takes one lookup more than it has slots",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "assign lookup_ready_o = !count_q[SlotBits];",
        "assign lookup_ready_o = 1'b1;",
    ),
    (
        "takes one at a time",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "assign lookup_ready_o = !count_q[SlotBits];",
        "assign lookup_ready_o = count_q == '0;",
    ),
    (
        "second read of the even word",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "assign table4_addr_o = {place, 1'b1};",
        "assign table4_addr_o = {place, 1'b0};",
    ),
    (
        "an answer is left in its slot",
        "rtmmu/rtl/tau_rtmmu_lookup.sv",
        "        has_data_q[head_q] <= 1'b0;\n",
        "",
    ),
    (
        "rights off by one",
        "rtmmu/rtl/tau_rtmmu.sv",
        "access & ~data[29:27]",
        "access & ~data[28:26]",
    ),
    ("one right of two is enough", "rtmmu/rtl/tau_rtmmu.sv", "denied != '0;", "denied == access;"),
    (
        "cause of denied and not mapped swapped",
        "rtmmu/rtl/tau_rtmmu.sv",
        "!mapped ? 2'd1 : (denied != '0 ? 2'd2 : 2'd0)",
        "denied != '0 ? 2'd2 : (!mapped ? 2'd1 : 2'd0)",
    ),
    (
        "ports swapped",
        "rtmmu/rtl/tau_rtmmu.sv",
        "assign data_result_valid_o = valid && is_data;",
        "assign data_result_valid_o = valid && !is_data;",
    ),
    (
        "both ports taken at once",
        "rtmmu/rtl/tau_rtmmu.sv",
        "assign instr_lookup_ready_o = ready && !data_lookup_valid_i;",
        "assign instr_lookup_ready_o = ready;",
    ),
    (
        "faults counted as hits",
        "rtmmu/rtl/tau_rtmmu.sv",
        "data_result_valid_o && !fault,",
        "data_result_valid_o,",
    ),
]

REGION_TLB: list[Mutant] = [
    (
        "forget ignored",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "if (forget_all || (forget_region && reg_wdata_i == 32'(start_q[i])))",
        "if (forget_all)",
    ),
    (
        "forgets a page instead of its region",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "reg_wdata_i == 32'(start_q[i])",
        "reg_wdata_i == 32'(page_q[i])",
    ),
    (
        "forgets everything",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "(forget_region && reg_wdata_i == 32'(start_q[i]))",
        "forget_region",
    ),
    (
        "an old miss is kept",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "result_match == '0 && old_q == '0 &&",
        "result_match == '0 &&",
    ),
    (
        "kept in the cycle of the write",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "!forget_region && !forget_all;",
        "1'b1;",
    ),
    (
        "kept twice",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "result_mapped && result_match == '0 &&",
        "result_mapped &&",
    ),
    (
        "what is not mapped is kept",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "keep = result_valid && result_mapped &&",
        "keep = result_valid &&",
    ),
    (
        "a hit overtakes a miss",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "data_leave = data_held_q && data_misses_q == '0;",
        "data_leave = data_held_q;",
    ),
    (
        "a hit needs no right",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "instr_held_denied_q <= (instr_lookup_access_i & ~instr_rights) != '0;",
        "instr_held_denied_q <= 1'b0;",
    ),
    (
        "the other port's frame",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "instr_held_frame_q <= instr_frame;",
        "instr_held_frame_q <= data_frame;",
    ),
    (
        "one entry is replaced all the time",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "next_q <= next_q == EntryBits'(Entries - 1) ? '0 : next_q + 1'b1;",
        "next_q <= '0;",
    ),
    (
        "misses counted as hits",
        "rtmmu/rtl/tau_rtmmu_tlb.sv",
        "assign event_hit_o = {data_leave, instr_leave};",
        "assign event_hit_o = {data_leave || data_result, instr_leave};",
    ),
]

PAGETABLE: list[Mutant] = [
    (
        "zero maps",
        "pagetable/rtl/tau_pagetable.sv",
        "absent = table2_rdata_i == '0;",
        "absent = 1'b0;",
    ),
    (
        "only the frame tells that nothing is there",
        "pagetable/rtl/tau_pagetable.sv",
        "absent = table2_rdata_i == '0;",
        "absent = table2_rdata_i[26:0] == '0;",
    ),
    (
        "data waits for instructions",
        "pagetable/rtl/tau_pagetable.sv",
        "port_q[tail_q] <= data_lookup_valid_i;",
        "port_q[tail_q] <= !instr_lookup_valid_i;",
    ),
    (
        "results out of order",
        "pagetable/rtl/tau_pagetable.sv",
        "assign is_data = port_q[head_q];",
        "assign is_data = port_q[tail_q];",
    ),
    (
        "never full",
        "pagetable/rtl/tau_pagetable.sv",
        "assign is_full = count_q[SlotBits];",
        "assign is_full = 1'b0;",
    ),
    (
        "rights of another lookup",
        "pagetable/rtl/tau_pagetable.sv",
        "denied = access_q[head_q] &",
        "denied = access_q[0] &",
    ),
]

COMPOSABLE: list[Mutant] = [
    (
        "invalidation ignored",
        "composable/rtl/tau_composable.sv",
        "invalidate = write && reg_addr_i == InvalidateWord;",
        "invalidate = write && reg_addr_i == InvalidateWord && reg_wdata_i[0];",
    ),
    (
        "half of an entry counts",
        "composable/rtl/tau_composable.sv",
        "frame_valid_q &&\n                  frame_entry_q == entry;",
        "frame_valid_q;",
    ),
    (
        "page 0 is a page",
        "composable/rtl/tau_composable.sv",
        "page_fits = reg_wdata_i[PageBits-1:0] != '0 && (",
        "page_fits = (",
    ),
    (
        "refused writes not counted",
        "composable/rtl/tau_composable.sv",
        "if (refuse && refused_q != '1) refused_q <= refused_q + 1'b1;",
        "",
    ),
    (
        "a search ends when it has found",
        "composable/rtl/tau_composable_port.sv",
        "last = searching_q && !table_written_i && rows_q == RowBits'(Rows - 1);",
        "last = searching_q && !table_written_i && (rows_q == RowBits'(Rows - 1) || found_q);",
    ),
    (
        "a search one row too short",
        "composable/rtl/tau_composable_port.sv",
        "rows_q == RowBits'(Rows - 1);",
        "rows_q == RowBits'(Rows - 2);",
    ),
    (
        "the last of two entries counts",
        "composable/rtl/tau_composable_port.sv",
        "(!found_q || place < place_q);",
        "1'b1;",
    ),
    (
        "a write during a search unnoticed",
        "composable/rtl/tau_composable_port.sv",
        "end else if (searching_q && table_written_i) begin",
        "end else if (1'b0) begin",
    ),
    (
        "odd entry's frame",
        "composable/rtl/tau_composable_port.sv",
        "result_q <= even_match ? even_data_i : odd_data_i;",
        "result_q <= even_match && !odd_match ? even_data_i : odd_data_i;",
    ),
]

TLB: list[Mutant] = [
    (
        "page invalidation ignored",
        "tlb/rtl/tau_tlb.sv",
        "invalidate_page = write && reg_addr_i == InvalidatePageWord && page_fits;",
        "invalidate_page = 1'b0 && write && reg_addr_i == InvalidatePageWord && page_fits;",
    ),
    (
        "filled although invalidated meanwhile",
        "tlb/rtl/tau_tlb.sv",
        "fill = finish && mapped && !killed_q && !kill;",
        "fill = finish && mapped;",
    ),
    (
        "instruction misses first",
        "tlb/rtl/tau_tlb.sv",
        "assign port = busy_q ? port_q : data_waiting;",
        "assign port = busy_q ? port_q : !instr_waiting;",
    ),
    (
        "not mapped is kept",
        "tlb/rtl/tau_tlb.sv",
        "fill = finish && mapped && !killed_q",
        "fill = finish && !killed_q",
    ),
    (
        "hits counted as misses",
        "tlb/rtl/tau_tlb_port.sv",
        ".event_index_i({!hit_q, owner_q}),",
        ".event_index_i({hit_q, owner_q}),",
    ),
    (
        "evictor and victim swapped",
        "tlb/rtl/tau_tlb_port.sv",
        ".event_index_i({owner_q, victim_owner_q}),",
        ".event_index_i({victim_owner_q, owner_q}),",
    ),
    (
        "counters are not cleared",
        "tlb/rtl/tau_tlb_counters.sv",
        "    else if (clear_i) used_q <= '0;\n",
        "",
    ),
    (
        "evictions without a victim counted",
        "tlb/rtl/tau_tlb_port.sv",
        "evict_q <= fill_i && evicts;",
        "evict_q <= fill_i;",
    ),
    (
        "a hit is no use",
        "tlb/rtl/tau_tlb_port.sv",
        ".touch_i      (take && hit),",
        ".touch_i      (1'b0),",
    ),
    (
        "the highest empty way first",
        "tlb/rtl/tau_tlb_level.sv",
        "for (int unsigned i = Ways; i > 0; i--) begin\n      if (!taken[i-1])",
        "for (int unsigned i = 1; i <= Ways; i++) begin\n      if (!taken[i-1])",
    ),
    (
        "miss takes a lookup meanwhile",
        "tlb/rtl/tau_tlb_port.sv",
        "assign lookup_ready_o = !waiting_q;",
        "assign lookup_ready_o = 1'b1;",
    ),
]

PORT: list[Mutant] = [
    (
        "page 0 is in the window",
        "tile/rtl/tau_tile_port.sv",
        "(page_field >> PageBits) == '0 && page_field != '0;",
        "(page_field >> PageBits) == '0;",
    ),
    (
        "the window has no end",
        "tile/rtl/tau_tile_port.sv",
        "core_addr_i[31] && (page_field >> PageBits) == '0 &&",
        "core_addr_i[31] &&",
    ),
    (
        "user mode sees everything",
        "tile/rtl/tau_tile_port.sv",
        "assign local_outside_o = user_i;",
        "assign local_outside_o = 1'b0;",
    ),
    (
        "a third access is taken",
        "tile/rtl/tau_tile_port.sv",
        "in_window && (!valid_q[1] || leave);",
        "in_window;",
    ),
    (
        "a local access overtakes",
        "tile/rtl/tau_tile_port.sv",
        "!in_window && !valid_q[0];",
        "!in_window;",
    ),
    (
        "loads need the right to write",
        "tile/rtl/tau_tile_port.sv",
        "{1'b0, core_we_i, !core_we_i};",
        "{1'b0, !core_we_i, core_we_i};",
    ),
    (
        "a store that is refused is written",
        "tile/rtl/tau_tile_port.sv",
        "assign frame_req_o = head_answered && !head_fault;",
        "assign frame_req_o = head_answered;",
    ),
    (
        "bytes of the younger access",
        "tile/rtl/tau_tile_port.sv",
        "      be0_q <= be1_q;\n",
        "",
    ),
    (
        "an answer is lost while the frames wait",
        "tile/rtl/tau_tile_port.sv",
        "if (result_valid_i) answered_q <= {!result_to_head || answered_q[1], 1'b1};",
        "if (result_valid_i) answered_q <= {1'b0, 1'b1};",
    ),
]

TILE: list[Mutant] = [
    (
        "the cause is the second half's",
        "tile/rtl/tau_tile_causes.sv",
        "data_err_i && !data_is_second_q)",
        "data_err_i)",
    ),
    (
        "the cause is the next word's",
        "tile/rtl/tau_tile_causes.sv",
        "instr_err_i && !(instr_was_refused_q && instr_follows_q[0])) begin",
        "instr_err_i) begin",
    ),
    (
        "a jump's target has the cause of what lies behind the jump",
        "tile/rtl/tau_tile_causes.sv",
        "!(instr_was_refused_q && instr_follows_q[0])",
        "!instr_was_refused_q",
    ),
    (
        "a table's last word is missing",
        "tile/rtl/tau_tile.sv",
        "assign data_local_err = part_q == PartNone;",
        "assign data_local_err = part_q == PartNone || part_q == PartTable1;",
    ),
    (
        "errors without an error",
        "tile/rtl/tau_tile.sv",
        "assign data_local_err = part_q == PartNone;",
        "assign data_local_err = 1'b0;",
    ),
    (
        "code runs from the data bank",
        "tile/rtl/tau_tile.sv",
        "instr_addr[31:19] == AddressInstr[31:19] && !instr_local_outside;",
        "instr_addr[31:20] == AddressInstr[31:20] && !instr_local_outside;",
    ),
    (
        "user fetches by the mode before the trap",
        "tile/rtl/tau_tile.sv",
        "cs_registers_i.priv_lvl_d == ibex_pkg::PRIV_LVL_U",
        "cs_registers_i.priv_lvl_q == ibex_pkg::PRIV_LVL_U",
    ),
    (
        "stores into the frames have no byte enables",
        "tile/rtl/tau_tile.sv",
        ".data_be_i    (frames_take ? data_be : data_frame_be),",
        ".data_be_i    (4'hF),",
    ),
    (
        "a double fault is not seen",
        "tile/rtl/tau_tile.sv",
        "end else if (double_fault) begin",
        "end else if (1'b0) begin",
    ),
    (
        "the second half of a fault is one of its own",
        "tile/rtl/tau_tile_monitor.sv",
        "if (!fault_q ||",
        "if (1'b1 ||",
    ),
    (
        "cycles of a load from its grant on",
        "tile/rtl/tau_tile_monitor.sv",
        "waited_q <= window_req_i && !gnt_i ? waited_q + 32'd1 : '0;",
        "waited_q <= '0;",
    ),
    (
        "no interrupt",
        "tile/rtl/tau_tile_devices.sv",
        "timer_irq_o <= cycle_q >= timer_compare_q;",
        "timer_irq_o <= 1'b0;",
    ),
    (
        "the second tile waits for the first",
        "tile/rtl/tau_sim.sv",
        "      .stall_threshold_i,\n",
        "      .stall_threshold_i(i == 0 ? stall_threshold_i :\n"
        "                         {1'b0, gen_tile[0].u_tile.data_req, 6'd0}),\n",
    ),
]

# No test can notice these:
# - Entries are filled and replaced in turn, and after an invalidation all are empty: where the turn
#   begins then changes nothing but which of them holds what.
# - A refused access leaves the port in the cycle in which it becomes the oldest and its result is
#   there. If its result came before, it has just moved up, and both registers hold the same cause.
EQUIVALENT: list[Mutant] = [
    (
        "order of replacement outlives an invalidation",
        "composable/rtl/tau_composable_port.sv",
        "    end else if (invalidate_i) begin\n      valid_q <= '0;\n      next_q <= '0;\n",
        "    end else if (invalidate_i) begin\n      valid_q <= '0;\n",
    ),
    (
        "cause of the younger access",
        "tile/rtl/tau_tile_port.sv",
        "answered_q[0] ? cause0_q : result_cause_i;",
        "answered_q[0] ? cause1_q : result_cause_i;",
    ),
]

GROUPS = {
    "rtmmu": RTMMU,
    "region-tlb": REGION_TLB,
    "pagetable": PAGETABLE,
    "composable": COMPOSABLE,
    "tlb": TLB,
    "port": PORT,
    "tile": TILE,
}
