// The composable unit with the two ports of the tile in front of it, or alone: what holds of it at
// all times, by induction. The cores ask for anything in any cycle, table memory 0 answers in one
// cycle, and all else waits for as long as it likes.
// - QuietAtLoad: a store to the unit by code in a bank finds no lookup on its way, no access of the
//   window in a port, and none asked for. Code is in a bank if a fetch there was granted, and no
//   fetch of the window was asked for since.
// - Forgotten: if such a store loads the chosen table, neither TLBs nor lines nor ports have
//   anything until the window is asked for.
// - TableIsItsWords: the hardware table then has the entries of the chosen table, of which each
//   counts if composable.md calls it sound. Any one entry stands for all.
// - FindsTheLowest: a search has found the lowest entry among the rows that went by, wherever it
//   began. Any one row stands for all: what the RTL says of its entries and the page is a function
//   of these, whose value is chosen.
// - OneOnItsWay, PortsWait, BanksWait: who waits for a result, and who owes one, agree.
// - LoadsBehindStart, EachIsRead, ReadsItsTable, AnswersItsTable: a load reads each entry of its
//   table once, in order, and nothing else.
// The assertions of the RTL are proved with them. tau_composable_proof.sv assumes all of it.
module tau_composable_copy #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Entries = 4,
  parameter bit Ports = 1'b1,
  // What holds at all times is assumed, not shown.
  parameter bit Proved = 1'b0,
  parameter bit OnlyTable = 1'b0,  // of that what the table needs
  localparam int unsigned InputBits = 2 * 102 + 38,
  localparam int unsigned EntryBits = PageBits + FrameBits + 11
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [InputBits-1:0]     in_i,
  input  logic [63:0]              words_i,  // of an entry, which table memory 0 answers
  // FindsTheLowest is assumed of two rows for each port: whether they have the page, and its entry.
  input  logic [1:0]               is_alike_i,
  input  logic [3:0][3:0]          row_i,
  input  logic [3:0]               has_i,
  input  logic [3:0][EntryBits-2:0] first_i,

  // The table of that number is loaded since nothing is on its way, and nothing was asked since.
  output logic [PageBits-7:0]      number_o,
  output logic [PageBits-1:0]      any_page_o,
  output logic                     is_switched_o,

  // A load begins, or goes on; of which table; entries that arrived.
  output logic                     start_o,
  output logic                     loading_o,
  output logic [PageBits-7:0]      loads_o,
  output logic [5:0]               read_o,

  // What all see of the unit, and what later answers follow from.
  output logic [1:0][255:0]        answers_o,
  output logic [33:0]              registers_o,
  output logic [1:0][1023:0]       unit_state_o,
  output logic [1:0][1023:0]       port_state_o,
  output logic [127:0]             load_state_o,
  output logic [6:0]               doubtful_o,
  output logic [1:0][63:0]         any_line_o,
  output logic [1:0][63:0]         line_o,
  output logic [64*EntryBits-1:0]  entries_o,
  output logic [1:0][3:0]          row_found_o,
  output logic [1:0][PageBits-1:0] wanted_o
);

  localparam int unsigned WordBits = FrameBits + 8;

  // Bit 0 fetches.
  logic [1:0]       req, user, local_gnt, frame_gnt, local_err;
  logic [1:0][31:0] addr, local_rdata, frame_rdata;
  logic             we, to_unit;
  logic [3:0]       be;
  logic [31:0]      wdata;
  assign {req, user, local_gnt, frame_gnt, local_err, addr, local_rdata, frame_rdata, we, to_unit,
          be, wdata} = in_i;

  logic [1:0]                valid, ready, result, fault, last, hit, miss, window_req;
  logic [1:0]                local_req, outside;
  logic [1:0][PageBits-1:0]  page;
  logic [1:0][2:0]           access;
  logic [1:0][1:0]           cause;
  logic [1:0][FrameBits-1:0] frame, last_frame;
  logic [4:0]                table_req;
  logic [4:0][PageBits:0]    table_addr;
  logic                      reg_req, is_banked_q;
  logic [31:0]               reg_rdata;
  logic                      rvalid_q = 1'b0;
  logic [PageBits-1:0]       place_q;  // of the entry that is answered

  tau_composable #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .Entries  (Entries)
  ) u_unit (
    .clk_i,
    .rst_ni,
    .instr_lookup_valid_i (valid[0]),
    .instr_lookup_ready_o (ready[0]),
    .instr_lookup_page_i  (page[0]),
    .instr_lookup_access_i(access[0]),
    .instr_lookup_user_i  (user[0]),
    .instr_result_valid_o (result[0]),
    .instr_result_fault_o (fault[0]),
    .instr_result_cause_o (cause[0]),
    .instr_result_frame_o (frame[0]),
    .instr_last_hit_o     (last[0]),
    .instr_last_frame_o   (last_frame[0]),
    .data_lookup_valid_i  (valid[1]),
    .data_lookup_ready_o  (ready[1]),
    .data_lookup_page_i   (page[1]),
    .data_lookup_access_i (access[1]),
    .data_lookup_user_i   (user[1]),
    .data_result_valid_o  (result[1]),
    .data_result_fault_o  (fault[1]),
    .data_result_cause_o  (cause[1]),
    .data_result_frame_o  (frame[1]),
    .data_last_hit_o      (last[1]),
    .data_last_frame_o    (last_frame[1]),
    .table_req_o          (table_req),
    .table_addr_o         (table_addr),
    .table_rvalid_i       ({1'b0, rvalid_q, 2'b00, rvalid_q}),
    .table_rdata_i        ({32'd0, words_i[31:0], 64'd0, words_i[63:32]}),
    .reg_req_i            (reg_req),
    .reg_write_i          (we),
    .reg_addr_i           (addr[1][9:2]),
    .reg_wdata_i          (wdata),
    .reg_rdata_o          (reg_rdata),
    .event_hit_o          (hit),
    .event_miss_o         (miss)
  );

  // Inside the unit.
  (* hierconn *) wire [1023:0] \u_unit.u_instr.proof_state ;
  (* hierconn *) wire [1023:0] \u_unit.u_data.proof_state ;
  (* hierconn *) wire \u_unit.u_instr.is_busy ;
  (* hierconn *) wire \u_unit.u_data.is_busy ;
  (* hierconn *) wire \u_unit.u_instr.searching_q ;
  (* hierconn *) wire \u_unit.u_data.searching_q ;
  (* hierconn *) wire \u_unit.u_instr.found_q ;
  (* hierconn *) wire \u_unit.u_data.found_q ;
  (* hierconn *) wire [3:0] \u_unit.u_instr.rows_q ;
  (* hierconn *) wire [3:0] \u_unit.u_data.rows_q ;
  (* hierconn *) wire [3:0] \u_unit.u_instr.proof_row_found ;
  (* hierconn *) wire [3:0] \u_unit.u_data.proof_row_found ;
  (* hierconn *) wire [PageBits-1:0] \u_unit.u_instr.wanted_q ;
  (* hierconn *) wire [PageBits-1:0] \u_unit.u_data.wanted_q ;
  (* hierconn *) wire [EntryBits-2:0] \u_unit.u_instr.proof_result ;
  (* hierconn *) wire [EntryBits-2:0] \u_unit.u_data.proof_result ;
  (* hierconn *) wire [64*EntryBits-1:0] \u_unit.u_table.proof_entries ;
  (* hierconn *) wire [127:0] \u_unit.u_table.u_load.proof_state ;
  (* hierconn *) wire \u_unit.u_table.u_load.asking_q ;
  (* hierconn *) wire [5:0] \u_unit.u_table.u_load.asked_q ;
  (* hierconn *) wire [5:0] \u_unit.u_table.u_load.read_q ;
  (* hierconn *) wire [3:0] \u_unit.row ;
  (* hierconn *) wire [6:0] \u_unit.doubtful ;
  (* hierconn *) wire \u_unit.loading ;
  (* hierconn *) wire \u_unit.start ;
  (* hierconn *) wire [4*EntryBits-1:0] \u_unit.row_entries ;
  (* hierconn *) wire [3:0] \u_unit.u_instr.row_match ;
  (* hierconn *) wire [3:0] \u_unit.u_data.row_match ;
  (* hierconn *) wire [EntryBits-2:0] \u_unit.u_instr.row_entry ;
  (* hierconn *) wire [EntryBits-2:0] \u_unit.u_data.row_entry ;
  (* hierconn *) wire \u_unit.is_loaded ;
  (* hierconn *) wire [PageBits-1:0] \u_unit.u_instr_lines.proof_page ;
  (* hierconn *) wire [PageBits-1:0] \u_unit.u_data_lines.proof_page ;
  (* hierconn *) wire [31:0] \u_unit.u_instr_lines.proof_number ;
  (* hierconn *) wire [31:0] \u_unit.u_data_lines.proof_number ;
  (* hierconn *) wire [63:0] \u_unit.u_instr_lines.proof_kept ;
  (* hierconn *) wire [63:0] \u_unit.u_data_lines.proof_kept ;
  (* hierconn *) wire [63:0] \u_unit.u_instr_lines.proof_read ;
  (* hierconn *) wire [63:0] \u_unit.u_data_lines.proof_read ;
  (* hierconn *) wire \u_unit.u_instr.filling_q ;
  (* hierconn *) wire \u_unit.u_data.filling_q ;
  logic                     is_asking, loading;
  logic [1:0]               is_busy, searching, filling, found;
  logic [1:0][3:0]          rows;
  logic [1:0][PageBits-1:0] wanted;
  logic [1:0][EntryBits-2:0] found_entry;
  logic [1:0]               row_has;
  logic [1:0][EntryBits-2:0] row_entry;
  logic [4*EntryBits-1:0]   row_entries;
  logic [3:0]               row;
  assign row_has = {\u_unit.u_data.row_match != '0, \u_unit.u_instr.row_match != '0};
  assign row_entry = {\u_unit.u_data.row_entry , \u_unit.u_instr.row_entry };
  assign row_entries = \u_unit.row_entries ;
  assign wanted_o = wanted;
  logic [6:0]               asked, read;
  assign unit_state_o = {\u_unit.u_data.proof_state , \u_unit.u_instr.proof_state };
  assign is_busy = {\u_unit.u_data.is_busy , \u_unit.u_instr.is_busy };
  assign searching = {\u_unit.u_data.searching_q , \u_unit.u_instr.searching_q };
  assign filling = {\u_unit.u_data.filling_q , \u_unit.u_instr.filling_q };
  assign found = {\u_unit.u_data.found_q , \u_unit.u_instr.found_q };
  assign rows = {\u_unit.u_data.rows_q , \u_unit.u_instr.rows_q };
  assign row_found_o = {\u_unit.u_data.proof_row_found , \u_unit.u_instr.proof_row_found };
  assign wanted = {\u_unit.u_data.wanted_q , \u_unit.u_instr.wanted_q };
  assign found_entry = {\u_unit.u_data.proof_result , \u_unit.u_instr.proof_result };
  assign entries_o = \u_unit.u_table.proof_entries ;
  assign load_state_o = {\u_unit.is_loaded , \u_unit.u_table.u_load.proof_state [126:0]};
  assign row = \u_unit.row ;
  // A line that the load has not cleared yet does not count.
  logic [PageBits-1:0] any_page_q;
  always @(posedge clk_i) any_page_q <= any_page_q;
  assign any_page_o = any_page_q;
  assign \u_unit.u_instr_lines.proof_page = any_page_q;
  assign \u_unit.u_data_lines.proof_page = any_page_q;
  assign any_line_o[0] = loading && 32'(read_o) <= \u_unit.u_instr_lines.proof_number ? '0 :
                         \u_unit.u_instr_lines.proof_kept ;
  assign any_line_o[1] = loading && 32'(read_o) <= \u_unit.u_data_lines.proof_number ? '0 :
                         \u_unit.u_data_lines.proof_kept ;
  assign line_o = {\u_unit.u_data_lines.proof_read , \u_unit.u_instr_lines.proof_read };
  assign doubtful_o = \u_unit.doubtful ;
  assign loading = \u_unit.loading ;
  assign loading_o = loading;
  assign start_o = \u_unit.start ;
  assign is_asking = \u_unit.u_table.u_load.asking_q ;
  assign asked = {1'b0, \u_unit.u_table.u_load.asked_q };
  assign read = {1'b0, \u_unit.u_table.u_load.read_q };
  assign read_o = read[5:0];

  // Its table memory takes a cycle.
  always @(posedge clk_i) begin
    {rvalid_q, place_q} <= {rst_ni && table_req[0], table_addr[0][PageBits:1]};
  end

  logic [1:0][1:0] port_valid, port_answered;
  if (Ports) begin : gen_ports
    for (genvar i = 0; i < 2; i++) begin : gen_port
      logic                gnt, rvalid, err, frame_req, frame_we, lookup_user, at_once;
      logic                answer_window;
      logic [1:0]          answer_cause;
      logic [3:0]          frame_be;
      logic [31:0]         rdata, frame_wdata;
      logic [WordBits-1:0] frame_word;
      tau_tile_port #(
        .PageBits   (PageBits),
        .FrameBits  (FrameBits),
        .GranuleBits(10)
      ) u_port (
        .clk_i,
        .rst_ni,
        .fetch_i        (i == 0),
        .user_i         (user[i]),
        .core_req_i     (req[i]),
        .core_gnt_o     (gnt),
        .core_addr_i    (addr[i]),
        .core_we_i      (i == 1 && we),
        .core_be_i      (i == 1 ? be : 4'hF),
        .core_wdata_i   (i == 1 ? wdata : 32'd0),
        .core_rvalid_o  (rvalid),
        .core_rdata_o   (rdata),
        .core_err_o     (err),
        .local_req_o    (local_req[i]),
        .local_outside_o(outside[i]),
        .local_gnt_i    (local_gnt[i]),
        .local_rdata_i  (local_rdata[i]),
        .local_err_i    (local_err[i]),
        .lookup_valid_o (valid[i]),
        .lookup_ready_i (ready[i]),
        .lookup_page_o  (page[i]),
        .lookup_access_o(access[i]),
        .lookup_user_o  (lookup_user),
        .result_valid_i (result[i]),
        .result_fault_i (fault[i]),
        .result_cause_i (cause[i]),
        .result_frame_i (frame[i]),
        .last_hit_i     (last[i]),
        .last_frame_i   (last_frame[i]),
        .frame_req_o    (frame_req),
        .frame_gnt_i    (frame_gnt[i]),
        .frame_word_o   (frame_word),
        .frame_we_o     (frame_we),
        .frame_be_o     (frame_be),
        .frame_wdata_o  (frame_wdata),
        .frame_rdata_i  (frame_rdata[i]),
        .window_req_o   (window_req[i]),
        .at_once_o      (at_once),
        .answer_window_o(answer_window),
        .answer_cause_o (answer_cause)
      );
      assign answers_o[i] = {gnt, local_req[i], outside[i], at_once, hit[i], miss[i], rvalid,
                             rvalid ? {err, answer_cause, answer_window, rdata} : '0,
                             frame_req ? {1'b1, frame_word, frame_we, frame_be, frame_wdata} : '0};
    end
    (* hierconn *) wire [1023:0] \gen_port[0].u_port.proof_state ;
    (* hierconn *) wire [1023:0] \gen_port[1].u_port.proof_state ;
    (* hierconn *) wire [1:0] \gen_port[0].u_port.valid_q ;
    (* hierconn *) wire [1:0] \gen_port[1].u_port.valid_q ;
    (* hierconn *) wire [1:0] \gen_port[0].u_port.answered_q ;
    (* hierconn *) wire [1:0] \gen_port[1].u_port.answered_q ;
    assign port_state_o = {\gen_port[1].u_port.proof_state , \gen_port[0].u_port.proof_state };
    assign port_valid = {\gen_port[1].u_port.valid_q , \gen_port[0].u_port.valid_q };
    assign port_answered = {\gen_port[1].u_port.answered_q , \gen_port[0].u_port.answered_q };
    assign reg_req = local_req[1] && local_gnt[1] && to_unit;
    always @(posedge clk_i) begin
      is_banked_q <= rst_ni && ((local_req[0] && local_gnt[0]) || (is_banked_q && !window_req[0]));
    end
  end else begin : gen_alone
    assign valid = req;
    assign window_req = req;
    assign reg_req = to_unit;
    for (genvar i = 0; i < 2; i++) begin : gen_lookup
      assign page[i] = addr[i][27:10];
      assign access[i] = addr[i][2:0];
      assign answers_o[i] = {ready[i], hit[i], miss[i],
                             result[i] ? {1'b1, fault[i], cause[i], fault[i] ? '0 : frame[i]} : '0,
                             last[i] ? {1'b1, last_frame[i]} : '0};
    end
    assign is_banked_q = 1'b0;
    assign port_state_o = '0;
    assign port_valid = '0;
    assign port_answered = '0;
  end

  // Lookups on their way; whether software is in a bank, and nothing is asked in the window.
  logic [1:0]          on_way_q = 2'b00;
  logic                started_q = 1'b0, is_switched_q = 1'b0, is_quiet, is_store;
  logic [PageBits-7:0] number_q, loads_q;
  assign is_store = reg_req && we;
  assign is_quiet = window_req == '0 && (Ports ? is_banked_q : on_way_q == '0);
  assign number_o = number_q;
  assign loads_o = loads_q;
  assign is_switched_o = is_switched_q;
  always @(posedge clk_i) begin
    number_q <= number_q;
    on_way_q <= {2{rst_ni}} & ((valid & ready) | (on_way_q & ~result));
    started_q <= rst_ni && start_o;
    if (start_o) loads_q <= wdata[PageBits-7:0];
    is_switched_q <= rst_ni && is_quiet &&
                     (start_o ? wdata[PageBits-7:0] == number_q : is_switched_q);
  end

  // Answers of registers count in the cycle after the read. Number 2 counts since reset.
  logic       reads_q;
  logic [7:0] reg_q;
  always @(posedge clk_i) {reads_q, reg_q} <= {reg_req && !we, addr[1][9:2]};
  assign registers_o = reads_q && reg_q != 8'd2 ? {1'b1, reg_q == 8'd1, reg_rdata} : '0;

  // Any row, and any entry of the table, whose words do not change.
  logic [3:0]           any_row_q;
  logic [5:0]           any_place_q;
  logic [63:0]          any_words_q;
  logic                 is_answered;
  logic [EntryBits-1:0] any_entry;
  always @(posedge clk_i) begin
    {any_row_q, any_place_q, any_words_q} <= {any_row_q, any_place_q, any_words_q};
  end
  assign is_answered = place_q == {number_q, any_place_q};
  always_comb begin
    any_entry = '0;
    for (int unsigned i = 0; i < 64; i++) begin
      if (any_place_q == i) any_entry = entries_o[EntryBits*i+:EntryBits];
    end
  end

  // The entry of two words, as composable.md defines it.
  function automatic logic [EntryBits-1:0] entry_of(input logic [31:0] page_word,
                                                    input logic [31:0] frame_word);
    logic [6:0]  pairs;
    logic [26:0] mask;
    logic        is_sound;
    for (int unsigned i = 0; i < 7; i++) pairs[i] = page_word[28:26] > i;
    mask = 27'((32'd1 << {page_word[28:26], 1'b0}) - 32'd1);
    is_sound = page_word[31:29] == 3'b100 && frame_word[31:30] == '0 && page_word[25:0] != '0 &&
               (page_word[25:0] >> PageBits) == '0 && (frame_word[26:0] >> FrameBits) == '0 &&
               (page_word[25:0] & mask[25:0]) == '0 && (frame_word[26:0] & mask) == '0 &&
               (mask >> FrameBits) == '0;
    entry_of = {is_sound, page_word[PageBits-1:0], pairs, frame_word[29:27],
                frame_word[FrameBits-1:0]};
  endfunction

  // What a search of port i has found, from the view of a row.
  logic [PageBits-1:0]    any_wanted_q;
  logic [4*EntryBits-1:0] any_there_q, any_there;
  logic                   any_has_q;
  logic [EntryBits-2:0]   any_first_q;
  always @(posedge clk_i) begin
    {any_wanted_q, any_there_q, any_has_q, any_first_q} <=
        {any_wanted_q, any_there_q, any_has_q, any_first_q};
  end
  always_comb begin
    any_there = '0;
    for (int unsigned r = 0; r < 16; r++) begin
      if (any_row_q == r) any_there = entries_o[4*EntryBits*r+:4*EntryBits];
    end
  end
  logic [1:0] is_function;
  logic [3:0] finds_lowest;
  for (genvar i = 0; i < 2; i++) begin : gen_function
    assign is_function[i] = wanted[i] != any_wanted_q || row_entries != any_there_q ||
                            (row_has[i] == any_has_q && row_entry[i] == any_first_q);
  end
  for (genvar i = 0; i < 4; i++) begin : gen_view
    localparam int unsigned Port = i % 2;
    logic [3:0]           at, ago, found_at;
    logic                 is_view, is_seen;
    logic [EntryBits-2:0] first;
    assign at = Proved ? row_i[i] : any_row_q;
    assign is_view = Proved ? is_alike_i[Port]
                            : wanted[Port] == any_wanted_q && any_there == any_there_q;
    assign first = Proved ? first_i[i] : any_first_q;
    assign found_at = row_found_o[Port];
    assign ago = row - 4'd1 - at;
    assign is_seen = (Proved ? has_i[i] : any_has_q) && (filling[Port] || ago < rows[Port]);
    assign finds_lowest[i] = !(searching[Port] || filling[Port]) ||
        (loading ? rows[Port] == '0 && !found[Port] :
         !is_view || ((!is_seen || (found[Port] && found_at <= at)) &&
                      (!found[Port] || found_at != at ||
                       (is_seen && found_entry[Port] == first))));
  end

  logic [3:0] waits;
  logic [10:0] holds;
  assign waits = port_valid & ~port_answered;
  assign holds[0] = on_way_q == is_busy;
  assign holds[1] = !started_q || loading;
  assign holds[2] = is_asking ? loading && read + rvalid_q == asked :
                    loading == rvalid_q && (!loading || read == 7'd63);
  assign holds[3] = !is_asking || table_addr[0] == {loads_q, asked[5:0], 1'b0};
  assign holds[4] = !rvalid_q || place_q == {loads_q, read[5:0]};
  assign holds[5] = !is_switched_q || (unit_state_o == '0 && any_line_o == '0 && port_valid == '0 &&
                                      loads_q == number_q && load_state_o[127]);
  assign holds[6] = !is_switched_q ||
      any_entry == (loading && read[5:0] <= any_place_q ? '0 :
                    entry_of(any_words_q[63:32], any_words_q[31:0]));
  assign holds[7] = &finds_lowest;
  assign holds[8] = !Ports || {&waits[3:2], |waits[3:2], &waits[1:0], |waits[1:0]} ==
                              {1'b0, on_way_q[1], 1'b0, on_way_q[0]};
  assign holds[9] = !Ports || !is_banked_q || port_valid[0] == '0;
  assign holds[10] = !Ports || !(is_store && is_quiet) || (on_way_q == '0 && port_valid == '0);
  if (Proved) begin : gen_proved
    always_comb assume (!rst_ni || (OnlyTable ? &holds[4:1] : &holds));
  end else begin : gen_proof
    logic is_behind_q = 1'b0;
    always @(posedge clk_i) is_behind_q <= 1'b1;
    always_comb begin
      assume (rst_ni == is_behind_q);
      assume (!is_answered || words_i == any_words_q);
      assume (&is_function);
      if (rst_ni) begin
        OneOnItsWay: assert (holds[0]);
        LoadsBehindStart: assert (holds[1]);
        EachIsRead: assert (holds[2]);
        ReadsItsTable: assert (holds[3]);
        AnswersItsTable: assert (holds[4]);
        Forgotten: assert (holds[5]);
        TableIsItsWords: assert (holds[6]);
        FindsTheLowest: assert (holds[7]);
        PortsWait: assert (holds[8]);
        BanksWait: assert (holds[9]);
        QuietAtLoad: assert (holds[10]);
      end
    end
  end
endmodule
