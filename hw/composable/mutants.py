"""Small wrong changes of the composable unit, which its tests must notice."""

from __future__ import annotations

from testing.mutants import Group, mutants_of

LOAD = [
    ("page 0 is a page", "tau_composable_load.sv", "page != '0 && (page >>", "(page >>"),
    (
        "a page that is not aligned",
        "tau_composable_load.sv",
        "(page >> PageBits) == '0 &&\n                      (page[13:0] & mask) == '0;",
        "(page >> PageBits) == '0;",
    ),
    (
        "a frame that is not aligned",
        "tau_composable_load.sv",
        "(frame[13:0] & mask) == '0 && (mask",
        "(mask",
    ),
    (
        "larger than all frames",
        "tau_composable_load.sv",
        " && (mask >> FrameBits) == '0;",
        ";",
    ),
    (
        "reserved bits of a page",
        "tau_composable_load.sv",
        "page_rdata_i[30:29] == '0 &&",
        "page_rdata_i[30] == '0 &&",
    ),
    (
        "reserved bits of a frame",
        "tau_composable_load.sv",
        "frame_rdata_i[31:30] == '0 &&",
        "frame_rdata_i[31] == '0 &&",
    ),
    (
        "empty ones are doubtful",
        "tau_composable_load.sv",
        "if (page_rvalid_i && wanted && !sound)",
        "if (page_rvalid_i && !sound)",
    ),
    (
        "a load ends with the last request",
        "tau_composable_load.sv",
        "if (page_rvalid_i && read_q == 6'(Last)) loading_q",
        "if (asked_q == 6'(Last)) loading_q",
    ),
    (
        "doubtful ones of all loads",
        "tau_composable_load.sv",
        "      asking_q <= 1'b1;\n      doubtful_q <= '0;\n",
        "      asking_q <= 1'b1;\n",
    ),
]

TABLE = [
    (
        "full before the first load",
        "tau_composable_table.sv",
        "{row_entry[EntryBits-1] && is_loaded_q,",
        "{row_entry[EntryBits-1],",
    ),
    (
        "a load during a load",
        "tau_composable.sv",
        "reg_addr_i == LoadWord && !loading &&",
        "reg_addr_i == LoadWord &&",
    ),
    (
        "a table that does not exist",
        "tau_composable.sv",
        "({reg_wdata_i, TableBits'(0)} >> (PageBits + 1)) == '0;",
        "reg_wdata_i[31:12] == '0;",
    ),
    (
        "refused writes not counted",
        "tau_composable.sv",
        "else if (write && !start && refused_q != '1)",
        "else if (write && start && refused_q != '1)",
    ),
]

FORGETS = (
    "end else if (forget_i) begin\n      valid_q <= '0;\n      next_q <= '0;\n      last_q <= '0;\n"
)
PORT = [
    (
        "a search ends when it has found",
        "tau_composable_port.sv",
        "last_row = searching_q && !forget_i && rows_q == RowBits'(Rows - 1);",
        "last_row = searching_q && !forget_i && (rows_q == RowBits'(Rows - 1) || found_q);",
    ),
    (
        "a search one row too short",
        "tau_composable_port.sv",
        "rows_q == RowBits'(Rows - 1);",
        "rows_q == RowBits'(Rows - 2);",
    ),
    (
        "the last of two entries counts",
        "tau_composable_port.sv",
        "(!found_q || row_i < row_found_q);",
        "1'b1;",
    ),
    (
        "the highest of a row counts",
        "tau_composable_port.sv",
        "for (int unsigned i = Columns; i > 0; i--) begin\n      if (row_match[i-1]) row_entry ="
        " row_entries_i[EntryBits*(i-1)+:KeptBits];",
        "for (int unsigned i = 0; i < Columns; i++) begin\n      if (row_match[i]) row_entry ="
        " row_entries_i[EntryBits*i+:KeptBits];",
    ),
    (
        "a load during a search unnoticed",
        "tau_composable_port.sv",
        "end else if (searching_q && forget_i) begin",
        "end else if (1'b0) begin",
    ),
    (
        "the place after an unfinished search",
        "tau_composable_port.sv",
        "      found_q <= 1'b0;\n      place_q <= '0;\n",
        "      found_q <= 1'b0;\n",
    ),
    (
        "a mixture of two entries",
        "tau_composable_port.sv",
        "assign first = match & (~match + 1'b1);",
        "assign first = match;",
    ),
    (
        "a search that takes no place",
        "tau_composable_port.sv",
        "valid_q[next_q] <= 1'b0;",
        "",
    ),
    (
        "a place taken for nothing is skipped",
        "tau_composable_port.sv",
        "end else if (answer_q && found_q) begin",
        "end else if (answer_q && !found_q) begin\n"
        "      if (Entries > 1) next_q <= next_q + 1'b1;\n"
        "    end else if (answer_q && found_q) begin",
    ),
    (
        "the last of any access",
        "tau_composable_port.sv",
        " &&\n                      (lookup_access_i & ~last[FrameBits+:3]) == '0;",
        ";",
    ),
    (
        "the last while the port is busy",
        "tau_composable_port.sv",
        "assign last_hit_o = lookup_ready_o && valid_q[last_place] &&",
        "assign last_hit_o = valid_q[last_place] &&",
    ),
    (
        "the first page of a large one",
        "tau_composable_port.sv",
        "FrameBits'(wanted_q & mask_of(result_pairs));",
        "FrameBits'(wanted_q & '0);",
    ),
    (
        "the last's first page",
        "tau_composable_port.sv",
        "FrameBits'(lookup_page_i & mask_of(last_tag[6:0]));",
        "FrameBits'(lookup_page_i & '0);",
    ),
    (
        "the largest pages are smaller",
        "tau_composable_port.sv",
        "mask_of = PageBits'({{2{pairs[6]}},",
        "mask_of = PageBits'({{2{1'b0}},",
    ),
    (
        "an empty place is the last",
        "tau_composable_port.sv",
        "assign last_hit_o = lookup_ready_o && valid_q[last_place] &&",
        "assign last_hit_o = lookup_ready_o &&",
    ),
    (
        "only misses are the last",
        "tau_composable_port.sv",
        "last_q[access_q[WriteBit]] <= place_q;",
        "if (filling_q) last_q[access_q[WriteBit]] <= place_q;",
    ),
    (
        "one last for all",
        "tau_composable_port.sv",
        "assign last_place = last_q[lookup_access_i[WriteBit]];",
        "assign last_place = last_q[0];",
    ),
    (
        "the last of the other kind",
        "tau_composable_port.sv",
        "assign last_place = last_q[lookup_access_i[WriteBit]];",
        "assign last_place = last_q[!lookup_access_i[WriteBit]];",
    ),
    (
        "the other last is replaced",
        "tau_composable_port.sv",
        "last_q[access_q[WriteBit]] <= place_q;",
        "last_q[!access_q[WriteBit]] <= place_q;",
    ),
    (
        "the TLB is not forgotten",
        "tau_composable_port.sv",
        FORGETS,
        FORGETS.replace("valid_q <= '0;", ""),
    ),
]

GROUPS = [
    Group(
        "composable",
        ["hw/composable/tb/test_composable.py::test_sizes_are_their_model"],
        mutants_of("hw/composable/rtl", [*LOAD, *TABLE, *PORT]),
        slow=True,
    ),
]
