"""Small wrong changes of the port and of the rest of the tile, which its tests must notice."""

from __future__ import annotations

from testing.mutants import Group, mutants_of

PORT = [
    (
        "page 0 is in the window",
        "tau_tile_port.sv",
        "(page_field >> PageBits) == '0 && page_field != '0;",
        "(page_field >> PageBits) == '0;",
    ),
    (
        "the window has no end",
        "tau_tile_port.sv",
        "core_addr_i[31] && (page_field >> PageBits) == '0 &&",
        "core_addr_i[31] &&",
    ),
    (
        "user mode sees everything",
        "tau_tile_port.sv",
        "assign local_outside_o = user_i;",
        "assign local_outside_o = 1'b0;",
    ),
    (
        "a third access is taken",
        "tau_tile_port.sv",
        "in_window && (!valid_q[1] || leave);",
        "in_window;",
    ),
    (
        "a local access overtakes",
        "tau_tile_port.sv",
        "!in_window && !valid_q[0];",
        "!in_window;",
    ),
    (
        "loads need the right to write",
        "tau_tile_port.sv",
        "{1'b0, core_we_i, !core_we_i};",
        "{1'b0, !core_we_i, core_we_i};",
    ),
    (
        "a store that is refused is written",
        "tau_tile_port.sv",
        "assign frame_req_o = (head_answered && !head_fault) || is_last;",
        "assign frame_req_o = head_answered || is_last;",
    ),
    (
        "the last frame for any page",
        "tau_tile_port.sv",
        "assign is_last = offered && !valid_q[0] && last_hit_i;",
        "assign is_last = offered && !valid_q[0] && lookup_ready_i;",
    ),
    (
        "at once past an older access",
        "tau_tile_port.sv",
        "assign is_last = offered && !valid_q[0] && last_hit_i;",
        "assign is_last = offered && last_hit_i;",
    ),
    (
        "at once, and looked up too",
        "tau_tile_port.sv",
        "assign lookup_valid_o = offered && !at_once;",
        "assign lookup_valid_o = offered;",
    ),
    (
        "at once without its frame",
        "tau_tile_port.sv",
        "assign at_once = is_last && frame_gnt_i;",
        "assign at_once = is_last;",
    ),
    (
        "bytes of the younger access",
        "tau_tile_port.sv",
        "      be0_q <= be1_q;\n",
        "",
    ),
    (
        "an answer is lost while the frames wait",
        "tau_tile_port.sv",
        "if (result_valid_i) answered_q <= {!result_to_head || answered_q[1], 1'b1};",
        "if (result_valid_i) answered_q <= {1'b0, 1'b1};",
    ),
]

TILE = [
    (
        "the cause is the second half's",
        "tau_tile_causes.sv",
        "data_err_i && !data_is_second_q)",
        "data_err_i)",
    ),
    (
        "the cause is the next word's",
        "tau_tile_causes.sv",
        "instr_err_i && !(instr_was_refused_q && instr_follows_q[0])) begin",
        "instr_err_i) begin",
    ),
    (
        "a jump's target has the cause of what lies behind the jump",
        "tau_tile_causes.sv",
        "!(instr_was_refused_q && instr_follows_q[0])",
        "!instr_was_refused_q",
    ),
    (
        "a table's last word is missing",
        "tau_tile.sv",
        "assign data_local_err = part_q == PartNone;",
        "assign data_local_err = part_q == PartNone || part_q == PartTable1;",
    ),
    (
        "errors without an error",
        "tau_tile.sv",
        "assign data_local_err = part_q == PartNone;",
        "assign data_local_err = 1'b0;",
    ),
    (
        "code runs from the data bank",
        "tau_tile.sv",
        "instr_addr[31:19] == AddressInstr[31:19] && !instr_local_outside;",
        "instr_addr[31:20] == AddressInstr[31:20] && !instr_local_outside;",
    ),
    (
        "user fetches by the mode before the trap",
        "tau_tile.sv",
        "cs_registers_i.priv_lvl_d == ibex_pkg::PRIV_LVL_U",
        "cs_registers_i.priv_lvl_q == ibex_pkg::PRIV_LVL_U",
    ),
    (
        "stores into the frames have no byte enables",
        "tau_tile.sv",
        ".data_be_i    (frames_take ? data_be : data_frame_be),",
        ".data_be_i    (4'hF),",
    ),
    (
        "a double fault is not seen",
        "tau_tile.sv",
        "end else if (double_fault) begin",
        "end else if (1'b0) begin",
    ),
    (
        "the second half of a fault is one of its own",
        "tau_tile_monitor.sv",
        "if (!fault_q ||",
        "if (1'b1 ||",
    ),
    (
        "cycles of a load from its grant on",
        "tau_tile_monitor.sv",
        "waited_q <= window_req_i && !gnt_i ? waited_q + 32'd1 : '0;",
        "waited_q <= '0;",
    ),
    (
        "no interrupt",
        "tau_tile_devices.sv",
        "timer_irq_o <= cycle_q >= timer_compare_q;",
        "timer_irq_o <= 1'b0;",
    ),
    (
        "the second tile waits for the first",
        "tau_sim.sv",
        "      .stall_threshold_i,\n",
        "      .stall_threshold_i(i == 0 ? stall_threshold_i :\n"
        "                         {1'b0, gen_tile[0].u_tile.data_req, 6'd0}),\n",
    ),
]

SPECIAL = [
    (
        "loads over the link",
        "tau_tile_special.sv",
        "link_valid_o <= req_i && we_i && is_link;",
        "link_valid_o <= req_i && is_link;",
    ),
    (
        "any frame over the link",
        "tau_tile_special.sv",
        "assign is_link = kind == 2'(SpecialLink) && (number >> CommunicationBits) == '0;",
        "assign is_link = kind == 2'(SpecialLink);",
    ),
    ("whole words over the link", "tau_tile_special.sv", "link_be_o <= be_i;", "link_be_o <= '1;"),
    (
        "the clock's low word twice",
        "tau_tile_special.sv",
        "rdata = cycle_i[63:32];",
        "rdata = cycle_i[31:0];",
    ),
    (
        "no application's number",
        "tau_tile_special.sv",
        "SystemPageApplication[4:2]: rdata = 32'(number);",
        "SystemPageApplication[4:2]: rdata = 32'(kind);",
    ),
    (
        "marks at the console",
        "tau_tile_special.sv",
        "if (offset[2:0] == SystemPageMark[4:2]) begin",
        "if (offset[2:0] == SystemPageConsole[4:2]) begin",
    ),
    (
        "a channel's words cannot be read",
        "tau_tile_special.sv",
        "if (is_dma && offset[2:0] == DmaPageWords[4:2]) rdata = dma_words_i;",
        "if (is_dma && offset[2:0] == DmaPageWords[4:2]) rdata = '0;",
    ),
    (
        "all registers are the same channel's",
        "tau_tile_special.sv",
        "assign dma_channel_o = 3'(number);",
        "assign dma_channel_o = '0;",
    ),
]

DMA = [
    ("no turns", "tau_tile_dma.sv", "if (!turns_q) begin", "if (1'b1) begin"),
    (
        "a turn in four cycles",
        "tau_tile_dma.sv",
        "turn = cycle_i[2:0];",
        "turn = 3'(cycle_i[1:0]);",
    ),
    (
        "a turn's frame is another's",
        "tau_tile_dma.sv",
        "move_source_o <= {source_frame_q[turn], OffsetBits'(0)}",
        "move_source_o <= {source_frame_q[0], OffsetBits'(0)}",
    ),
    (
        "one word beyond the source",
        "tau_tile_dma.sv",
        "source_q[turn] <= bytes_q[turn] - BytesBits'(4) &&",
        "source_q[turn] <= bytes_q[turn] &&",
    ),
    (
        "any destination",
        "tau_tile_dma.sv",
        " &&\n                  destination_q[turn] <= bytes_q[turn] - BytesBits'(4);",
        ";",
    ),
    (
        "between words of the source",
        "tau_tile_dma.sv",
        "bytes_q[turn] >= BytesBits'(4) && source_q[turn][1:0] == '0 &&",
        "bytes_q[turn] >= BytesBits'(4) &&",
    ),
    (
        "between words of the destination",
        "tau_tile_dma.sv",
        "destination_q[turn][1:0] == '0 &&",
        "1'b1 &&",
    ),
    (
        "a channel without bytes",
        "tau_tile_dma.sv",
        "bytes_q[turn] >= BytesBits'(4) && source_q",
        "source_q",
    ),
    (
        "outside, and goes on",
        "tau_tile_dma.sv",
        "words_q[turn] <= in_page ? words_q[turn] - BytesBits'(1) : '0;",
        "words_q[turn] <= words_q[turn] - BytesBits'(1);",
    ),
    (
        "goes on with another owner",
        "tau_tile_dma.sv",
        "words_q[kernel_channel_i] <= '0;",
        "",
    ),
    (
        "the source stands still",
        "tau_tile_dma.sv",
        "source_q[turn] <= source_q[turn] + BytesBits'(4);",
        "",
    ),
    (
        "the destination stands still",
        "tau_tile_dma.sv",
        "destination_q[turn] <= destination_q[turn] + BytesBits'(4);",
        "",
    ),
    (
        "words outside are moved",
        "tau_tile_dma.sv",
        "move_valid_o <= busy && in_page;",
        "move_valid_o <= busy;",
    ),
]

LINK = [
    (
        "a cycle early",
        "tau_tile_link.sv",
        "localparam int unsigned Stages = SizeLinkCycles - 1;",
        "localparam int unsigned Stages = SizeLinkCycles - 2;",
    ),
    (
        "to the tile itself",
        "tau_tile_link.sv",
        "if (store_valid_q[i][Stages-1]) write(i ^ 1, store_q[i][place_q]);",
        "if (store_valid_q[i][Stages-1]) write(i, store_q[i][place_q]);",
    ),
    (
        "words of a channel in a store's lane",
        "tau_tile_link.sv",
        "if (move_valid_q[i][Stages-1]) write(i ^ 1, move_q[i][place_q]);",
        "if (move_valid_q[i][Stages-1]) write(i ^ 1, store_q[i][place_q]);",
    ),
    (
        "words of the other tile's frames",
        "tau_tile_link.sv",
        "tau_host_pkg::tau_host_frame_read(i, 32'(move_source_i[i]))",
        "tau_host_pkg::tau_host_frame_read(i ^ 1, 32'(move_source_i[i]))",
    ),
]

# No test can notice this: a refused access leaves the port in the cycle in which it becomes the
# oldest and its result is there. If its result came before, it has just moved up, and both
# registers hold the same cause.
EQUIVALENT = mutants_of(
    "hw/tile/rtl",
    [
        (
            "cause of the younger access",
            "tau_tile_port.sv",
            "answered_q[0] ? cause0_q : result_cause_i;",
            "answered_q[0] ? cause1_q : result_cause_i;",
        ),
    ],
)

GROUPS = [
    Group(
        "port",
        ["hw/tile/tb/test_port.py::test_port_answers_in_order"],
        mutants_of("hw/tile/rtl", PORT),
        slow=True,
    ),
    Group(
        "tile",
        [
            "hw/tile/tb/test_bad_input.py::test_the_sides_of_the_window[large]",
            "hw/tile/tb/test_bad_input.py::test_handlers_that_fault",
            "hw/tile/tb/test_tile.py::test_faults_are_precise_and_restartable",
            "hw/tile/tb/test_tile.py::test_random_accesses_with_interrupts_and_stalls",
            "hw/tile/tb/test_tile.py::test_a_fault_costs_six_cycles_and_its_lookup",
            "hw/tile/tb/test_units.py::test_two_tiles_side_by_side",
        ],
        mutants_of("hw/tile/rtl", TILE),
    ),
    Group(
        "special",
        [
            f"hw/tile/tb/test_special.py::{test}"
            for test in (
                "test_a_word_arrives_a_constant_time_later",
                "test_stores_of_bytes_arrive_and_others_do_not",
                "test_a_channel_moves_its_words_in_its_turns",
                "test_a_channel_stays_in_its_frames",
                "test_the_system_page_has_clock_number_mark_and_console",
            )
        ],
        mutants_of("hw/tile/rtl", [*SPECIAL, *DMA, *LINK]),
    ),
]
