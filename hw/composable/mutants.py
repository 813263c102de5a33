"""Small wrong changes of the composable unit, which its tests must notice."""

from __future__ import annotations

from testing.mutants import Group, mutants_of

COMPOSABLE = [
    (
        "invalidation ignored",
        "tau_composable.sv",
        "invalidate = write && reg_addr_i == InvalidateWord;",
        "invalidate = write && reg_addr_i == InvalidateWord && reg_wdata_i[0];",
    ),
    (
        "half of an entry counts",
        "tau_composable.sv",
        "frame_valid_q &&\n                  frame_entry_q == entry;",
        "frame_valid_q;",
    ),
    (
        "page 0 is a page",
        "tau_composable.sv",
        "page_fits = reg_wdata_i[PageBits-1:0] != '0 && (",
        "page_fits = (",
    ),
    (
        "refused writes not counted",
        "tau_composable.sv",
        "if (refuse && refused_q != '1) refused_q <= refused_q + 1'b1;",
        "",
    ),
    (
        "a search ends when it has found",
        "tau_composable_port.sv",
        "last = searching_q && !table_written_i && rows_q == RowBits'(Rows - 1);",
        "last = searching_q && !table_written_i && (rows_q == RowBits'(Rows - 1) || found_q);",
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
        "(!found_q || place < place_q);",
        "1'b1;",
    ),
    (
        "a write during a search unnoticed",
        "tau_composable_port.sv",
        "end else if (searching_q && table_written_i) begin",
        "end else if (1'b0) begin",
    ),
    (
        "odd entry's frame",
        "tau_composable_port.sv",
        "result_q <= even_match ? even_data_i : odd_data_i;",
        "result_q <= even_match && !odd_match ? even_data_i : odd_data_i;",
    ),
]

# No test can notice this: entries are filled and replaced in turn, and after an invalidation all
# are empty. Where the turn begins then changes nothing but which of them holds what.
EQUIVALENT = mutants_of(
    "hw/composable/rtl",
    [
        (
            "order of replacement outlives an invalidation",
            "tau_composable_port.sv",
            "    end else if (invalidate_i) begin\n      valid_q <= '0;\n      next_q <= '0;\n",
            "    end else if (invalidate_i) begin\n      valid_q <= '0;\n",
        ),
    ],
)

GROUPS = [
    Group(
        "composable",
        ["hw/composable/tb/test_composable.py::test_sizes_are_their_model"],
        mutants_of("hw/composable/rtl", COMPOSABLE),
    ),
]
