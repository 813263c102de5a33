"""Small wrong changes of the RTMMU and of its TLB of regions, which its tests must notice."""

from __future__ import annotations

from testing.mutants import Group, mutants_of

RTMMU = [
    ("start is page 0", "tau_rtmmu_lookup.sv", "start != '0 && start <=", "start <="),
    (
        "start above the page",
        "tau_rtmmu_lookup.sv",
        "start != '0 && start <= page_q[at0_q];",
        "start != '0;",
    ),
    (
        "start is the page itself refused",
        "tau_rtmmu_lookup.sv",
        "start <= page_q[at0_q];",
        "start < page_q[at0_q];",
    ),
    (
        "start compared with another lookup's page",
        "tau_rtmmu_lookup.sv",
        "start <= page_q[at0_q];",
        "start <= page_q[head_q];",
    ),
    (
        "high bits of the start ignored",
        "tau_rtmmu_lookup.sv",
        "start_ok = (table0_rdata_i >> PageBits) == '0 && start",
        "start_ok = start",
    ),
    (
        "high bits of the place ignored",
        "tau_rtmmu_lookup.sv",
        "place_ok = (table1_rdata_i >> PageBits) == '0;",
        "place_ok = 1'b1;",
    ),
    (
        "place below the start",
        "tau_rtmmu_lookup.sv",
        "start_q[head_q] <= place_q[head_q] &&",
        "1'b1 &&",
    ),
    (
        "place is the start refused",
        "tau_rtmmu_lookup.sv",
        "start_q[head_q] <= place_q[head_q] &&",
        "start_q[head_q] < place_q[head_q] &&",
    ),
    (
        "place above the top",
        "tau_rtmmu_lookup.sv",
        "(place_q[head_q] <= top || top_outside)",
        "1'b1",
    ),
    (
        "place is the top refused",
        "tau_rtmmu_lookup.sv",
        "(place_q[head_q] <= top || top_outside)",
        "(place_q[head_q] < top || top_outside)",
    ),
    (
        "a top beyond all pages is cut",
        "tau_rtmmu_lookup.sv",
        "(place_q[head_q] <= top || top_outside)",
        "(place_q[head_q] <= top)",
    ),
    (
        "state counts as part of the top",
        "tau_rtmmu_lookup.sv",
        ": table3_rdata_i[NumberBits-1:PageBits] != '0;",
        ": table3_rdata_i[31:PageBits] != '0;",
    ),
    (
        "stack not compared",
        "tau_rtmmu_lookup.sv",
        "place_ok_q[head_q] && page_ok &&",
        "place_ok_q[head_q] &&",
    ),
    (
        "only the low bits of the stack compared",
        "tau_rtmmu_lookup.sv",
        ": table4_rdata_i == 32'(page_q[head_q]);",
        ": table4_rdata_i[PageBits-1:0] == page_q[head_q];",
    ),
    (
        "kept comparison with another lookup's page",
        "tau_rtmmu_lookup.sv",
        "page_ok_q[at4_q] <= table4_rdata_i == 32'(page_q[at4_q]);",
        "page_ok_q[at4_q] <= table4_rdata_i == 32'(page_q[head_q]);",
    ),
    (
        "answer before the page table's",
        "tau_rtmmu_lookup.sv",
        "(has_page_q[head_q] || page_now) && (has_data_q[head_q] || data_now);",
        "(has_page_q[head_q] || page_now);",
    ),
    (
        "takes one lookup more than it has slots",
        "tau_rtmmu_lookup.sv",
        "assign lookup_ready_o = !count_q[SlotBits];",
        "assign lookup_ready_o = 1'b1;",
    ),
    (
        "takes one at a time",
        "tau_rtmmu_lookup.sv",
        "assign lookup_ready_o = !count_q[SlotBits];",
        "assign lookup_ready_o = count_q == '0;",
    ),
    (
        "second read of the even word",
        "tau_rtmmu_lookup.sv",
        "assign table4_addr_o = {place, 1'b1};",
        "assign table4_addr_o = {place, 1'b0};",
    ),
    (
        "an answer is left in its slot",
        "tau_rtmmu_lookup.sv",
        "        has_data_q[head_q] <= 1'b0;\n",
        "",
    ),
    (
        "rights off by one",
        "tau_rtmmu.sv",
        "access & ~data[29:27]",
        "access & ~data[28:26]",
    ),
    ("one right of two is enough", "tau_rtmmu.sv", "denied != '0;", "denied == access;"),
    (
        "cause of denied and not mapped swapped",
        "tau_rtmmu.sv",
        "!mapped ? tau_status_pkg::CauseUnmapped\n"
        "                 : (denied != '0 ? tau_status_pkg::CauseRights",
        "denied != '0 ? tau_status_pkg::CauseRights\n"
        "                 : (!mapped ? tau_status_pkg::CauseUnmapped",
    ),
    (
        "ports swapped",
        "tau_rtmmu.sv",
        "assign data_result_valid_o = valid && is_data;",
        "assign data_result_valid_o = valid && !is_data;",
    ),
    (
        "both ports taken at once",
        "tau_rtmmu.sv",
        "assign instr_lookup_ready_o = ready && !data_lookup_valid_i;",
        "assign instr_lookup_ready_o = ready;",
    ),
    (
        "faults counted as hits",
        "tau_rtmmu.sv",
        "data_result_valid_o && !fault,",
        "data_result_valid_o,",
    ),
]

REGION_TLB = [
    (
        "forget ignored",
        "tau_rtmmu_tlb.sv",
        "if (forget_all || (forget_region && reg_wdata_i == 32'(start_q[i])))",
        "if (forget_all)",
    ),
    (
        "forgets a page instead of its region",
        "tau_rtmmu_tlb.sv",
        "reg_wdata_i == 32'(start_q[i])",
        "reg_wdata_i == 32'(page_q[i])",
    ),
    (
        "forgets everything",
        "tau_rtmmu_tlb.sv",
        "(forget_region && reg_wdata_i == 32'(start_q[i]))",
        "forget_region",
    ),
    (
        "an old miss is kept",
        "tau_rtmmu_tlb.sv",
        "result_match == '0 && old_q == '0 &&",
        "result_match == '0 &&",
    ),
    (
        "kept in the cycle of the write",
        "tau_rtmmu_tlb.sv",
        "!forget_region && !forget_all;",
        "1'b1;",
    ),
    (
        "kept twice",
        "tau_rtmmu_tlb.sv",
        "result_mapped && result_match == '0 &&",
        "result_mapped &&",
    ),
    (
        "what is not mapped is kept",
        "tau_rtmmu_tlb.sv",
        "keep = result_valid && result_mapped &&",
        "keep = result_valid &&",
    ),
    (
        "a hit overtakes a miss",
        "tau_rtmmu_tlb.sv",
        "data_leave = data_held_q && data_misses_q == '0;",
        "data_leave = data_held_q;",
    ),
    (
        "a hit needs no right",
        "tau_rtmmu_tlb.sv",
        "instr_held_denied_q <= (instr_lookup_access_i & ~instr_rights) != '0;",
        "instr_held_denied_q <= 1'b0;",
    ),
    (
        "the other port's frame",
        "tau_rtmmu_tlb.sv",
        "instr_held_frame_q <= instr_frame;",
        "instr_held_frame_q <= data_frame;",
    ),
    (
        "one entry is replaced all the time",
        "tau_rtmmu_tlb.sv",
        "next_q <= next_q == EntryBits'(Entries - 1) ? '0 : next_q + 1'b1;",
        "next_q <= '0;",
    ),
    (
        "misses counted as hits",
        "tau_rtmmu_tlb.sv",
        "assign event_hit_o = {data_leave, instr_leave};",
        "assign event_hit_o = {data_leave || data_result, instr_leave};",
    ),
]

GROUPS = [
    Group(
        "rtmmu",
        [
            "hw/rtmmu/tb/test_rtmmu.py::test_rtmmu",
            "hw/rtmmu/tb/test_proofs.py::test_definition_and_cycles",
        ],
        mutants_of("hw/rtmmu/rtl", RTMMU),
        quick=1,
    ),
    Group(
        "region-tlb",
        ["hw/rtmmu/tb/test_rtmmu.py::test_rtmmu_tlb"],
        mutants_of("hw/rtmmu/rtl", REGION_TLB),
        quick=1,
    ),
]
