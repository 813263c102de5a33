// Reads a table of 64 entries from table memory 0 into the hardware page table, an entry per cycle.
//
// It always reads 64 entries, so a table of few takes as long as a full one. An invalid
// entry stays empty and is counted, because software cannot have meant to write it. Layout of
// an entry: hw/composable/doc/composable.md.
`include "tau_assert.svh"

module tau_composable_load #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  localparam int unsigned EntryBits = PageBits + FrameBits + 11
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 start_i,
  input  logic [PageBits:0]    first_word_i,
  output logic                 loading_o,

  // The two readers of table memory 0: pages in even words, frames in odd ones.
  output logic                 req_o,
  output logic [PageBits:0]    page_addr_o,
  output logic [PageBits:0]    frame_addr_o,
  input  logic                 page_rvalid_i,
  input  logic [31:0]          page_rdata_i,
  input  logic                 frame_rvalid_i,
  input  logic [31:0]          frame_rdata_i,

  // {valid, page, pairs of bits outside its number, rights, frame}
  output logic                 write_o,
  output logic [5:0]           write_place_o,
  output logic [EntryBits-1:0] write_entry_o,

  output logic [6:0]           doubtful_o
);

  localparam int unsigned Last = 63;

  logic              loading_q, asking_q;
  logic [5:0]        asked_q, read_q;
  logic [PageBits:0] address_q;
  logic [6:0]        doubtful_q;
  logic              wanted, sound;

  assign loading_o = loading_q;
  assign req_o = asking_q;
  assign page_addr_o = address_q;
  assign frame_addr_o = {address_q[PageBits:1], 1'b1};
  assign write_o = page_rvalid_i;
  assign write_place_o = read_q;
  assign doubtful_o = doubtful_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      loading_q <= 1'b0;
      asking_q <= 1'b0;
      doubtful_q <= '0;
    end else if (start_i) begin
      loading_q <= 1'b1;
      asking_q <= 1'b1;
      doubtful_q <= '0;
    end else begin
      if (asked_q == 6'(Last)) asking_q <= 1'b0;
      if (page_rvalid_i && read_q == 6'(Last)) loading_q <= 1'b0;
      if (page_rvalid_i && wanted && !sound) doubtful_q <= doubtful_q + 1'b1;
    end
  end

  // No reset: counters, which loading_q and asking_q speak for.
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      asked_q <= '0;
      read_q <= '0;
      address_q <= first_word_i;
    end else begin
      if (asking_q) begin
        asked_q <= asked_q + 1'b1;
        address_q <= address_q + (PageBits + 1)'(2);
      end
      if (page_rvalid_i) read_q <= read_q + 1'b1;
    end
  end

  // The entry that comes back.
  logic [25:0] page;
  logic [26:0] frame;
  logic [2:0]  order;
  logic [6:0]  pairs;
  logic [13:0] mask;
  assign page = page_rdata_i[25:0];
  assign frame = frame_rdata_i[26:0];
  assign order = page_rdata_i[28:26];
  assign wanted = page_rdata_i[31];
  always_comb begin
    for (int unsigned i = 0; i < 7; i++) begin
      pairs[i] = 32'(order) > i;
      mask[2*i+:2] = {2{pairs[i]}};
    end
  end

  logic page_sound, frame_sound;
  assign page_sound = page_rdata_i[30:29] == '0 && page != '0 && (page >> PageBits) == '0 &&
                      (page[13:0] & mask) == '0;
  assign frame_sound = frame_rdata_i[31:30] == '0 && (frame >> FrameBits) == '0 &&
                       (frame[13:0] & mask) == '0 && (mask >> FrameBits) == '0;
  assign sound = page_sound && frame_sound;
  assign write_entry_o = {wanted && sound, page[PageBits-1:0], pairs, frame_rdata_i[29:27],
                          frame[FrameBits-1:0]};

  `TAU_ASSERT(ReadersAnswerTogether, page_rvalid_i == frame_rvalid_i)
  `TAU_ASSERT(OnlyWhatWasAsked, !page_rvalid_i || loading_q)

`ifdef FORMAL
  logic [127:0] proof_state;
  assign proof_state = {loading_q, asking_q, loading_q ? {asked_q, read_q} : 12'd0,
                        asking_q ? address_q : '0};
`endif
endmodule
