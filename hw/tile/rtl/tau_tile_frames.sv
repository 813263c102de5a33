// The frames behind the window: 2^FrameBits pages in the host's memory, which holds only pages that
// were written. A port for fetches and one for data, each answered one cycle after its request; a
// fetch does not see a write of the same cycle.
module tau_tile_frames #(
  parameter int unsigned FrameBits = 18,
  parameter int unsigned GranuleBits = 12,
  parameter int unsigned Tile = 0
) (
  input  logic                                 clk_i,

  input  logic                                 instr_req_i,
  input  logic [FrameBits+GranuleBits-3:0]     instr_word_i,
  output logic [31:0]                          instr_rdata_o,

  input  logic                                 data_req_i,
  input  logic [FrameBits+GranuleBits-3:0]     data_word_i,
  input  logic                                 data_we_i,
  input  logic [3:0]                           data_be_i,
  input  logic [31:0]                          data_wdata_i,
  output logic [31:0]                          data_rdata_o
);

  // Not reset: a memory.
  always_ff @(posedge clk_i) begin
    if (instr_req_i) instr_rdata_o <= tau_host_pkg::tau_host_frame_read(Tile, 32'(instr_word_i));
    if (data_req_i && data_we_i) begin
      tau_host_pkg::tau_host_frame_write(Tile, 32'(data_word_i), data_wdata_i, 32'(data_be_i));
    end else if (data_req_i) begin
      data_rdata_o <= tau_host_pkg::tau_host_frame_read(Tile, 32'(data_word_i));
    end
  end
endmodule
