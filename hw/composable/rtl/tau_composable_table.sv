// The hardware page table of the composable unit: 64 entries, of which a row of four goes by in
// each cycle, for both ports. Empty before its first load.
//
// A load restarts the rows, so that their timing does not depend on the time before it.
`include "tau_assert.svh"

module tau_composable_table #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned RowBits = 4,
  parameter int unsigned Columns = 4,
  localparam int unsigned EntryBits = PageBits + FrameBits + 11
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  logic                         start_i,
  input  logic [PageBits:0]            first_word_i,
  output logic                         loading_o,
  output logic [6:0]                   doubtful_o,

  // The two readers of table memory 0.
  output logic                         req_o,
  output logic [PageBits:0]            page_addr_o,
  output logic [PageBits:0]            frame_addr_o,
  input  logic                         page_rvalid_i,
  input  logic [31:0]                  page_rdata_i,
  input  logic                         frame_rvalid_i,
  input  logic [31:0]                  frame_rdata_i,

  // A load writes the entry at this place.
  output logic                         write_o,
  output logic [RowBits+1:0]           place_o,
  output logic                         is_loaded_o,

  // The row that goes by, its lowest entry first.
  output logic [RowBits-1:0]           row_o,
  output logic [Columns*EntryBits-1:0] row_entries_o
);

  localparam int unsigned Rows = 2 ** RowBits;

  logic                 loading, write, is_loaded_q;
  logic [RowBits+1:0]   place;
  logic [EntryBits-1:0] entry;
  assign loading_o = loading;
  assign write_o = write;
  assign place_o = place;
  assign is_loaded_o = is_loaded_q;

  tau_composable_load #(
    .PageBits (PageBits),
    .FrameBits(FrameBits)
  ) u_load (
    .clk_i,
    .rst_ni,
    .start_i,
    .first_word_i,
    .loading_o    (loading),
    .req_o,
    .page_addr_o,
    .frame_addr_o,
    .page_rvalid_i,
    .page_rdata_i,
    .frame_rvalid_i,
    .frame_rdata_i,
    .write_o      (write),
    .write_place_o(place),
    .write_entry_o(entry),
    .doubtful_o
  );

  logic [RowBits-1:0] row_q;
  assign row_o = row_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row_q <= '0;
      is_loaded_q <= 1'b0;
    end else begin
      row_q <= start_i || loading ? '0 : row_q + 1'b1;
      if (start_i) is_loaded_q <= 1'b1;
    end
  end

  for (genvar i = 0; i < Columns; i++) begin : gen_column
    logic [EntryBits-1:0] entry_mem [Rows];
    logic [EntryBits-1:0] row_entry;
    // No reset: a memory, which is_loaded_q speaks for.
    always_ff @(posedge clk_i) begin
      if (write && place[1:0] == i) entry_mem[place[RowBits+1:2]] <= entry;
    end
    assign row_entry = entry_mem[row_q];
    assign row_entries_o[EntryBits*i+:EntryBits] = {row_entry[EntryBits-1] && is_loaded_q,
                                                    row_entry[EntryBits-2:0]};
  end

  `TAU_ASSERT(LoadingIsLoaded, !loading || is_loaded_q)

`ifdef FORMAL
  // All entries. What the load has not written yet does not count.
  logic [64*EntryBits-1:0] proof_entries;
  for (genvar i = 0; i < 64; i++) begin : gen_proof
    logic [EntryBits-1:0] entry_there;
    assign entry_there = gen_column[i%Columns].entry_mem[i/Columns];
    assign proof_entries[EntryBits*i+:EntryBits] = loading && i >= 32'(place) ? '0 :
        {entry_there[EntryBits-1] && is_loaded_q, entry_there[EntryBits-2:0]};
  end
`endif
endmodule
