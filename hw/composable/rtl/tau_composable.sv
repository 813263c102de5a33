// The unit of composable virtual memory [P2-8, P2-13]: an instruction and a data TLB of 1, 2, 4 or
// 8 entries over a hardware page table of 64 entries, which software writes through the registers.
//
// Nothing but the running application's own accesses decides how long they take: no table in memory
// is read, a miss takes a constant number of cycles, and one write forgets both TLBs together with
// the order of replacement. Registers and times: hw/composable/doc/composable.md.
`include "tau_assert.svh"
`include "tau_mmu_unused.svh"

module tau_composable #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Entries = 4
) (
`include "tau_mmu_ports.svh"
);

  localparam int unsigned RowBits = 5;
  localparam int unsigned Rows = 2 ** RowBits;
  localparam int unsigned DataBits = FrameBits + 3;
  localparam int unsigned RefusedBits = 16;

  // Register bus. Words 128 + 2 i and 129 + 2 i are entry i.
  localparam logic [7:0] InvalidateWord = 8'd0;
  localparam logic [7:0] ClearWord = 8'd1;
  localparam logic [7:0] RefusedWord = 8'd2;
  localparam logic [7:0] ShapeWord = 8'd3;
  localparam logic [7:0] ValidLowWord = 8'd4;
  localparam logic [7:0] ValidHighWord = 8'd5;
  localparam logic [7:0] TableWord = 8'd128;  // and all above

  logic write, write_entry, write_frame, write_page, invalidate, clear;
  assign write = reg_req_i && reg_write_i;
  assign write_entry = write && reg_addr_i[$clog2(TableWord)];
  assign write_page = write_entry && !reg_addr_i[0];
  assign write_frame = write_entry && reg_addr_i[0];
  assign invalidate = write && reg_addr_i == InvalidateWord;
  assign clear = write && reg_addr_i == ClearWord;

  // An entry comes to life whole or not at all: its frame waits here until its page follows.
  logic [DataBits-1:0] frame_q;
  logic [RowBits:0]    frame_entry_q, entry;
  logic                frame_valid_q;
  assign entry = reg_addr_i[RowBits+1:1];

  // What no entry can hold: a page that is none, a frame that is none.
  logic page_fits, frame_fits, commit, refuse;
  assign page_fits = reg_wdata_i[PageBits-1:0] != '0 && (reg_wdata_i[30:0] >> PageBits) == '0;
  assign frame_fits = reg_wdata_i[31:30] == '0 && (reg_wdata_i[26:0] >> FrameBits) == '0;
  assign commit = write_page && reg_wdata_i[31] && page_fits && frame_valid_q &&
                  frame_entry_q == entry;
  assign refuse = (write_page && reg_wdata_i[31] && !commit) || (write_frame && !frame_fits) ||
                  (write && !reg_addr_i[$clog2(TableWord)] && !invalidate && !clear);

  // The hardware page table, two entries a row.
  logic [PageBits-1:0] even_page_mem [Rows];
  logic [DataBits-1:0] even_data_mem [Rows];
  logic [PageBits-1:0] odd_page_mem [Rows];
  logic [DataBits-1:0] odd_data_mem [Rows];
  logic [2*Rows-1:0]   table_valid_q;

  // No reset: memories, which table_valid_q and frame_valid_q speak for.
  always_ff @(posedge clk_i) begin
    if (commit && !entry[0]) begin
      even_page_mem[entry[RowBits:1]] <= reg_wdata_i[PageBits-1:0];
      even_data_mem[entry[RowBits:1]] <= frame_q;
    end
    if (commit && entry[0]) begin
      odd_page_mem[entry[RowBits:1]] <= reg_wdata_i[PageBits-1:0];
      odd_data_mem[entry[RowBits:1]] <= frame_q;
    end
    if (write_frame) begin
      frame_q <= {reg_wdata_i[29:27], reg_wdata_i[FrameBits-1:0]};
      frame_entry_q <= entry;
    end
  end

  logic [RefusedBits-1:0] refused_q;
  logic [RowBits-1:0]     row_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      table_valid_q <= '0;
      frame_valid_q <= 1'b0;
      refused_q <= '0;
      row_q <= '0;
    end else begin
      row_q <= row_q + 1'b1;
      if (refuse && refused_q != '1) refused_q <= refused_q + 1'b1;
      if (clear) table_valid_q <= '0;
      if (write_entry) table_valid_q[entry] <= commit;
      if (write_frame) frame_valid_q <= frame_fits;
      else if (clear || commit) frame_valid_q <= 1'b0;
    end
  end

  // No reset: an answer, which is looked at only behind a read.
  logic [31:0] reg_rdata_q;
  assign reg_rdata_o = reg_rdata_q;
  always_ff @(posedge clk_i) begin
    if (reg_req_i && !reg_write_i) begin
      unique case (reg_addr_i)
        RefusedWord: reg_rdata_q <= {{(32 - RefusedBits) {1'b0}}, refused_q};
        ShapeWord: reg_rdata_q <= 2 * Rows * 256 + Entries;
        ValidLowWord: reg_rdata_q <= table_valid_q[31:0];
        ValidHighWord: reg_rdata_q <= table_valid_q[63:32];
        default: reg_rdata_q <= '0;
      endcase
    end
  end

  // The row that goes by.
  logic                even_valid, odd_valid;
  logic [PageBits-1:0] even_page, odd_page;
  logic [DataBits-1:0] even_data, odd_data;
  assign even_valid = table_valid_q[{row_q, 1'b0}];
  assign odd_valid = table_valid_q[{row_q, 1'b1}];
  assign even_page = even_page_mem[row_q];
  assign odd_page = odd_page_mem[row_q];
  assign even_data = even_data_mem[row_q];
  assign odd_data = odd_data_mem[row_q];

  tau_composable_port #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .Entries  (Entries),
    .RowBits  (RowBits)
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
    .row_i          (row_q),
    .even_valid_i   (even_valid),
    .even_page_i    (even_page),
    .even_data_i    (even_data),
    .odd_valid_i    (odd_valid),
    .odd_page_i     (odd_page),
    .odd_data_i     (odd_data),
    .table_written_i(write_entry || clear),
    .invalidate_i   (invalidate),
    .event_hit_o    (event_hit_o[0]),
    .event_miss_o   (event_miss_o[0])
  );

  tau_composable_port #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .Entries  (Entries),
    .RowBits  (RowBits)
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
    .row_i          (row_q),
    .even_valid_i   (even_valid),
    .even_page_i    (even_page),
    .even_data_i    (even_data),
    .odd_valid_i    (odd_valid),
    .odd_page_i     (odd_page),
    .odd_data_i     (odd_data),
    .table_written_i(write_entry || clear),
    .invalidate_i   (invalidate),
    .event_hit_o    (event_hit_o[1]),
    .event_miss_o   (event_miss_o[1])
  );

  // The tables in memory are the other units'.
  `TAU_MMU_TABLE_UNUSED(0)
  `TAU_MMU_TABLE_UNUSED(1)
  `TAU_MMU_TABLE_UNUSED(2)
  `TAU_MMU_TABLE_UNUSED(3)
  `TAU_MMU_TABLE_UNUSED(4)
  logic unused;
  assign unused = ^{instr_lookup_user_i, data_lookup_user_i};

  `TAU_ASSERT(EntriesExist, Entries == 1 || Entries == 2 || Entries == 4 || Entries == 8)
  `TAU_ASSERT(FramesFit, FrameBits <= 27 && PageBits <= 27)
endmodule
