"""Small wrong changes of the plain page table, which its tests must notice."""

from __future__ import annotations

from testing.mutants import Group, mutants_of

PAGETABLE = [
    (
        "zero maps",
        "tau_pagetable.sv",
        "absent = table2_rdata_i == '0;",
        "absent = 1'b0;",
    ),
    (
        "only the frame tells that nothing is there",
        "tau_pagetable.sv",
        "absent = table2_rdata_i == '0;",
        "absent = table2_rdata_i[26:0] == '0;",
    ),
    (
        "data waits for instructions",
        "tau_pagetable.sv",
        "port_q[tail_q] <= data_lookup_valid_i;",
        "port_q[tail_q] <= !instr_lookup_valid_i;",
    ),
    (
        "results out of order",
        "tau_pagetable.sv",
        "assign is_data = port_q[head_q];",
        "assign is_data = port_q[tail_q];",
    ),
    (
        "never full",
        "tau_pagetable.sv",
        "assign is_full = count_q[SlotBits];",
        "assign is_full = 1'b0;",
    ),
    (
        "rights of another lookup",
        "tau_pagetable.sv",
        "denied = access_q[head_q] &",
        "denied = access_q[0] &",
    ),
]

GROUPS = [
    Group(
        "pagetable",
        ["hw/pagetable/tb/test_pagetable_unit.py"],
        mutants_of("hw/pagetable/rtl", PAGETABLE),
        quick=1,
    ),
]
