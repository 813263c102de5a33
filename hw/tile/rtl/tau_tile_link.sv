// The links of all tiles: a word that tile i sends is in tile i ^ 1's communication memory
// LinkCycles cycles later. The core's stores have a lane and the DMA channels have one; nothing
// waits. Frames are the host's memory, which two tiles would reach in no defined order at one edge:
// so words are read and written at the falling edge, all reads first.
module tau_tile_link
  import tau_tile_pkg::*;
#(
  parameter int unsigned Tiles = 1,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned OffsetBits = 8,
  localparam int unsigned WordBits = FrameBits + OffsetBits,
  localparam int unsigned LinkBits = $clog2(SizeCommunicationFrames) + OffsetBits
) (
  input logic                           clk_i,
  input logic                           rst_ni,

  input logic [Tiles-1:0]               store_valid_i,
  input logic [Tiles-1:0][LinkBits-1:0] store_word_i,
  input logic [Tiles-1:0][3:0]          store_be_i,
  input logic [Tiles-1:0][31:0]         store_wdata_i,

  input logic [Tiles-1:0]               move_valid_i,
  input logic [Tiles-1:0][WordBits-1:0] move_source_i,
  input logic [Tiles-1:0][LinkBits-1:0] move_destination_i
);

  // A word is registered in its tile, is here for so many cycles, and is written at the next edge.
  localparam int unsigned Stages = SizeLinkCycles - 1;
  localparam int unsigned PlaceBits = $clog2(Stages);

  typedef struct packed {
    logic [LinkBits-1:0] word;
    logic [3:0]          be;
    logic [31:0]         data;
  } word_t;

  // The places of a lane are used in turn: the word that is written leaves its place to the one
  // that comes in. So nothing moves, which a simulation would pay for in each cycle.
  word_t                store_q[Tiles][Stages], move_q[Tiles][Stages];
  logic [Stages-1:0]    store_valid_q[Tiles], move_valid_q[Tiles];
  logic [PlaceBits-1:0] place_q;

  always_ff @(negedge clk_i or negedge rst_ni) begin
    if (!rst_ni) place_q <= '0;
    else place_q <= place_q == PlaceBits'(Stages - 1) ? '0 : place_q + 1'b1;
    for (int unsigned i = 0; i < Tiles; i++) begin
      if (!rst_ni) begin
        store_valid_q[i] <= '0;
        move_valid_q[i] <= '0;
      end else begin
        store_valid_q[i] <= Stages'({store_valid_q[i], store_valid_i[i]});
        move_valid_q[i] <= Stages'({move_valid_q[i], move_valid_i[i]});
      end
    end
  end

  // No reset: words, which *_valid_q speak for.
  always_ff @(negedge clk_i) begin
    for (int unsigned i = 0; i < Tiles; i++) begin
      if (store_valid_i[i]) begin
        store_q[i][place_q] <= '{word: store_word_i[i], be: store_be_i[i], data: store_wdata_i[i]};
      end
      if (move_valid_i[i]) begin
        move_q[i][place_q] <= '{
          word: move_destination_i[i],
          be:   '1,
          data: tau_host_pkg::tau_host_frame_read(i, 32'(move_source_i[i]))
        };
      end
    end
    for (int unsigned i = 0; i < Tiles; i++) begin
      if ((i ^ 1) < Tiles) begin
        if (store_valid_q[i][Stages-1]) write(i ^ 1, store_q[i][place_q]);
        if (move_valid_q[i][Stages-1]) write(i ^ 1, move_q[i][place_q]);
      end
    end
  end

  function automatic void write(int unsigned tile, word_t sent);
    tau_host_pkg::tau_host_frame_write(tile, 32'(sent.word), sent.data, 32'(sent.be));
  endfunction
endmodule
