// A tile's link: a word that tile i sends is in tile i ^ 1's communication memory LinkCycles
// cycles later. The core's stores have a lane and the DMA channels have one; nothing waits. Frames
// are the host's memory, which two tiles would reach in no defined order at one edge. So words are
// read at the falling edge, and the host writes them after all tiles have read.
module tau_tile_link
  import tau_tile_pkg::*;
#(
  parameter int unsigned FrameBits = 18,
  parameter int unsigned OffsetBits = 8,
  localparam int unsigned WordBits = FrameBits + OffsetBits,
  localparam int unsigned LinkBits = $clog2(SizeCommunicationFrames) + OffsetBits
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic [31:0]         tile_i,

  input logic                store_valid_i,
  input logic [LinkBits-1:0] store_word_i,
  input logic [3:0]          store_be_i,
  input logic [31:0]         store_wdata_i,

  input logic                move_valid_i,
  input logic [WordBits-1:0] move_source_i,
  input logic [LinkBits-1:0] move_destination_i
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
  word_t                store_q[Stages], move_q[Stages];
  logic [Stages-1:0]    store_valid_q, move_valid_q;
  logic [PlaceBits-1:0] place_q;

  always_ff @(negedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      place_q <= '0;
      store_valid_q <= '0;
      move_valid_q <= '0;
    end else begin
      place_q <= place_q == PlaceBits'(Stages - 1) ? '0 : place_q + 1'b1;
      store_valid_q <= Stages'({store_valid_q, store_valid_i});
      move_valid_q <= Stages'({move_valid_q, move_valid_i});
    end
  end

  // No reset: words, which *_valid_q speak for.
  always_ff @(negedge clk_i) begin
    if (store_valid_i) begin
      store_q[place_q] <= '{word: store_word_i, be: store_be_i, data: store_wdata_i};
    end
    if (move_valid_i) begin
      move_q[place_q] <= '{
        word: move_destination_i,
        be:   '1,
        data: tau_host_pkg::tau_host_frame_read(tile_i, 32'(move_source_i))
      };
    end
    if (store_valid_q[Stages-1]) send(store_q[place_q]);
    if (move_valid_q[Stages-1]) send(move_q[place_q]);
  end

  function automatic void send(word_t sent);
    tau_host_pkg::tau_host_link_send(tile_i, 32'(sent.word), sent.data, 32'(sent.be));
  endfunction
endmodule
