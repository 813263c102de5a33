// The unit of composable virtual memory [P2-8, P2-13]: for fetches and for data, lines that answer
// at once in front of a TLB of 1, 2, 4 or 8 entries, over a hardware page table of 64 entries,
// which one register write loads from table memory 0.
//
// Only the running application's own accesses decide how long they take. A miss takes a constant
// number of cycles. So does a load, which clears the lines, both TLBs and the order of replacement,
// and restarts the rows. Registers and times: hw/composable/doc/composable.md.
`include "tau_assert.svh"
`include "tau_mmu_unused.svh"

module tau_composable #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Entries = 4
) (
`include "tau_mmu_ports.svh"
);

  localparam int unsigned FetchLines = 16;
  localparam int unsigned DataLines = 64;  // at most: entry i of the table clears line i
  localparam int unsigned RowBits = 4;
  localparam int unsigned Columns = 4;
  localparam int unsigned TableBits = 7;  // of the number of a word in a table
  localparam int unsigned EntryBits = PageBits + FrameBits + 11;
  localparam int unsigned RefusedBits = 16;

  localparam logic [7:0] LoadWord = 8'd0;
  localparam logic [7:0] DoubtfulWord = 8'd1;
  localparam logic [7:0] RefusedWord = 8'd2;
  localparam logic [7:0] ShapeWord = 8'd3;

  logic write, start, loading, forget;
  assign write = reg_req_i && reg_write_i;
  assign start = write && reg_addr_i == LoadWord && !loading &&
                 ({reg_wdata_i, TableBits'(0)} >> (PageBits + 1)) == '0;
  assign forget = start || loading;

  logic [6:0]                   doubtful;
  logic                         table_write, is_loaded;
  logic [RowBits+1:0]           table_place;
  logic [RowBits-1:0]           row;
  logic [Columns*EntryBits-1:0] row_entries;
  logic                         table_req;
  assign {table_req_o[3], table_req_o[0]} = {2{table_req}};

  tau_composable_table #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .RowBits  (RowBits),
    .Columns  (Columns)
  ) u_table (
    .clk_i,
    .rst_ni,
    .start_i       (start),
    .first_word_i  ((PageBits + 1)'({reg_wdata_i, TableBits'(0)})),
    .loading_o     (loading),
    .doubtful_o    (doubtful),
    .req_o         (table_req),
    .page_addr_o   (table_addr_o[0]),
    .frame_addr_o  (table_addr_o[3]),
    .page_rvalid_i (table_rvalid_i[0]),
    .page_rdata_i  (table_rdata_i[0]),
    .frame_rvalid_i(table_rvalid_i[3]),
    .frame_rdata_i (table_rdata_i[3]),
    .write_o       (table_write),
    .place_o       (table_place),
    .is_loaded_o   (is_loaded),
    .row_o         (row),
    .row_entries_o (row_entries)
  );

  logic [RefusedBits-1:0] refused_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) refused_q <= '0;
    else if (write && !start && refused_q != '1) refused_q <= refused_q + 1'b1;
  end

  // No reset: an answer, which is looked at only behind a read.
  logic [31:0] reg_rdata_q;
  assign reg_rdata_o = reg_rdata_q;
  always_ff @(posedge clk_i) begin
    if (reg_req_i && !reg_write_i) begin
      unique case (reg_addr_i)
        LoadWord: reg_rdata_q <= {31'd0, loading};
        DoubtfulWord: reg_rdata_q <= {25'd0, doubtful};
        RefusedWord: reg_rdata_q <= {{(32 - RefusedBits) {1'b0}}, refused_q};
        ShapeWord: reg_rdata_q <= 2 ** RowBits * Columns * 256 + Entries;
        default: reg_rdata_q <= '0;
      endcase
    end
  end

  logic                instr_fill, instr_fill_is_one, data_fill, data_fill_is_one;
  logic [PageBits-1:0] instr_fill_page, data_fill_page;
  logic [2:0]          instr_fill_rights, data_fill_rights;

  tau_composable_port #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .Entries  (Entries),
    .RowBits  (RowBits),
    .Columns  (Columns)
  ) u_instr (
    .clk_i,
    .rst_ni,
    .lookup_valid_i (instr_lookup_valid_i),
    .lookup_ready_o (instr_lookup_ready_o),
    .lookup_page_i  (instr_lookup_page_i),
    .lookup_access_i(instr_lookup_access_i),
    .result_valid_o (instr_result_valid_o),
    .result_fault_o (instr_result_fault_o),
    .result_cause_o (instr_result_cause_o),
    .result_frame_o (instr_result_frame_o),
    .fill_o         (instr_fill),
    .fill_page_o    (instr_fill_page),
    .fill_rights_o  (instr_fill_rights),
    .fill_is_one_o  (instr_fill_is_one),
    .row_i          (row),
    .row_entries_i  (row_entries),
    .forget_i       (forget),
    .loading_i      (loading),
    .event_hit_o    (event_hit_o[0]),
    .event_miss_o   (event_miss_o[0])
  );

  tau_composable_lines #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .Lines    (FetchLines)
  ) u_instr_lines (
    .clk_i,
    .rst_ni,
    .may_answer_i (is_loaded && instr_lookup_ready_o),
    .page_i       (instr_lookup_page_i),
    .access_i     (instr_lookup_access_i),
    .hit_o        (instr_last_hit_o),
    .frame_o      (instr_last_frame_o),
    .clear_i      (table_write),
    .clear_line_i (table_place),
    .fill_i       (instr_fill),
    .fill_page_i  (instr_fill_page),
    .fill_rights_i(instr_fill_rights),
    .fill_frame_i (instr_result_frame_o),
    .fill_is_one_i(instr_fill_is_one)
  );

  tau_composable_port #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .Entries  (Entries),
    .RowBits  (RowBits),
    .Columns  (Columns)
  ) u_data (
    .clk_i,
    .rst_ni,
    .lookup_valid_i (data_lookup_valid_i),
    .lookup_ready_o (data_lookup_ready_o),
    .lookup_page_i  (data_lookup_page_i),
    .lookup_access_i(data_lookup_access_i),
    .result_valid_o (data_result_valid_o),
    .result_fault_o (data_result_fault_o),
    .result_cause_o (data_result_cause_o),
    .result_frame_o (data_result_frame_o),
    .fill_o         (data_fill),
    .fill_page_o    (data_fill_page),
    .fill_rights_o  (data_fill_rights),
    .fill_is_one_o  (data_fill_is_one),
    .row_i          (row),
    .row_entries_i  (row_entries),
    .forget_i       (forget),
    .loading_i      (loading),
    .event_hit_o    (event_hit_o[1]),
    .event_miss_o   (event_miss_o[1])
  );

  tau_composable_lines #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .Lines    (DataLines)
  ) u_data_lines (
    .clk_i,
    .rst_ni,
    .may_answer_i (is_loaded && data_lookup_ready_o),
    .page_i       (data_lookup_page_i),
    .access_i     (data_lookup_access_i),
    .hit_o        (data_last_hit_o),
    .frame_o      (data_last_frame_o),
    .clear_i      (table_write),
    .clear_line_i (table_place),
    .fill_i       (data_fill),
    .fill_page_i  (data_fill_page),
    .fill_rights_i(data_fill_rights),
    .fill_frame_i (data_result_frame_o),
    .fill_is_one_i(data_fill_is_one)
  );

  `TAU_MMU_TABLE_UNUSED(1)
  `TAU_MMU_TABLE_UNUSED(2)
  `TAU_MMU_TABLE_UNUSED(4)
  logic unused;
  assign unused = ^{instr_lookup_user_i, data_lookup_user_i};

  `TAU_ASSERT(EntriesExist, Entries == 1 || Entries == 2 || Entries == 4 || Entries == 8)
  `TAU_ASSERT(NumbersFit, FrameBits <= 27 && PageBits >= 6 && PageBits <= 26)
endmodule
