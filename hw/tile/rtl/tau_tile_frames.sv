// The frames of a tile: the core reaches them through the window, or untranslated. The port lets a
// local access go only when no window access is on its way, so the two never meet.
//
// The host keeps the pages and stores only what was written. A fetch does not see a write of the
// same cycle. A frame whose number's highest bit is set is special (tau_tile_special.sv): its data
// come from there, and a fetch of it gives 0, an illegal instruction.
`include "tau_assert.svh"

module tau_tile_frames #(
  parameter int unsigned WordBits = 28,  // of a word's number
  parameter bit SpecialFrames = 1'b0
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [31:0]         tile_i,

  // Accesses, each answered one cycle after it is taken: of the window when it is granted, the
  // others at once.
  input  logic                fetch_i,
  input  logic [WordBits-1:0] fetch_word_i,
  output logic [31:0]         fetch_rdata_o,
  input  logic                window_req_i,
  input  logic                window_gnt_i,
  input  logic [WordBits-1:0] window_word_i,
  input  logic                window_we_i,
  input  logic [3:0]          window_be_i,
  input  logic [31:0]         window_wdata_i,
  input  logic                local_i,
  input  logic [WordBits-1:0] local_word_i,
  input  logic                local_we_i,
  input  logic [3:0]          local_be_i,
  input  logic [31:0]         local_wdata_i,
  output logic [31:0]         rdata_o,

  // The window's access is to a special frame, which answers one cycle later.
  output logic                special_o,
  input  logic [31:0]         special_rdata_i
);

  logic                window;
  logic [WordBits-1:0] word;
  logic                special, special_q, fetch_special_q;
  logic [31:0]         memory_rdata, fetch_memory_rdata;
  assign window = window_req_i && window_gnt_i;
  assign word = local_i ? local_word_i : window_word_i;
  assign special = SpecialFrames && word[WordBits-1];
  assign special_o = window && special;

  // Not reset: a memory.
  always_ff @(posedge clk_i) begin
    if (fetch_i) begin
      fetch_memory_rdata <= tau_host_pkg::tau_host_frame_read(tile_i, 32'(fetch_word_i));
    end
    if ((window || local_i) && !special) begin
      if (local_i ? local_we_i : window_we_i) begin
        tau_host_pkg::tau_host_frame_write(tile_i, 32'(word),
                                           local_i ? local_wdata_i : window_wdata_i,
                                           32'(local_i ? local_be_i : window_be_i));
      end else begin
        memory_rdata <= tau_host_pkg::tau_host_frame_read(tile_i, 32'(word));
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {special_q, fetch_special_q} <= '0;
    else begin
      if (window || local_i) special_q <= special;
      if (fetch_i) fetch_special_q <= SpecialFrames && fetch_word_i[WordBits-1];
    end
  end
  assign rdata_o = special_q ? special_rdata_i : memory_rdata;
  assign fetch_rdata_o = fetch_special_q ? '0 : fetch_memory_rdata;

  `TAU_ASSERT(TakenOnce, !(local_i && window_req_i))
endmodule
