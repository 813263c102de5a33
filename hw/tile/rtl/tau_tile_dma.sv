// DMA channels: each moves words from a frame of this tile to the other tile's communication
// memory. Channel c has the link in the cycles whose number is c modulo their count, whether it
// uses them or not, so that no channel delays another one (docs/spec/kernel.md, KRN-4).
module tau_tile_dma
  import tau_tile_pkg::*;
#(
  parameter int unsigned FrameBits = 18,
  parameter int unsigned OffsetBits = 8,
  localparam int unsigned LinkBits = $clog2(SizeCommunicationFrames) + OffsetBits
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic [63:0]                     cycle_i,
  // 0, a leak to be found: a channel has the link when it asks and no lower one does.
  input  logic                            turns_i,

  // The kernel: 0 source frame, 1 destination frame, 2 bytes that each of them has.
  input  logic                            kernel_we_i,
  input  logic [2:0]                      kernel_channel_i,
  input  logic [1:0]                      kernel_register_i,

  // The application that has the channel: 0 source, 1 destination, 2 words.
  input  logic                            page_we_i,
  input  logic [2:0]                      page_channel_i,
  input  logic [1:0]                      page_register_i,

  input  logic [31:0]                     kernel_wdata_i,
  input  logic [31:0]                     page_wdata_i,
  output logic [31:0]                     page_words_o,

  // A word to move.
  output logic                            move_valid_o,
  output logic [FrameBits+OffsetBits-1:0] move_source_o,
  output logic [LinkBits-1:0]             move_destination_o,

  // Words moved so far.
  output logic [31:0]                     moved_o
);

  localparam int unsigned Channels = SizeDmaChannels;
  localparam int unsigned CommunicationBits = $clog2(SizeCommunicationFrames);
  // Bytes of the largest page.
  localparam int unsigned BytesBits = 25;

  logic [FrameBits-1:0]         source_frame_q[Channels];
  logic [CommunicationBits-1:0] destination_frame_q[Channels];
  logic [BytesBits-1:0]         bytes_q[Channels], source_q[Channels], destination_q[Channels];
  logic [BytesBits-1:0]         words_q[Channels];

  // Whose turn it is.
  logic [2:0] turn;
  logic       busy, turns_q;
  always_comb begin
    turn = cycle_i[2:0];
    if (!turns_q) begin
      for (int i = Channels - 1; i >= 0; i--) begin
        if (words_q[i] != '0) turn = 3'(i);
      end
    end
    busy = words_q[turn] != '0;
  end

  // A word lies inside if its last byte does. An address off a word's boundary is outside.
  logic in_page;
  assign in_page = bytes_q[turn] >= BytesBits'(4) && source_q[turn][1:0] == '0 &&
                  destination_q[turn][1:0] == '0 &&
                  source_q[turn] <= bytes_q[turn] - BytesBits'(4) &&
                  destination_q[turn] <= bytes_q[turn] - BytesBits'(4);

  assign page_words_o = 32'(words_q[page_channel_i]);

  // One write for each cause, the strongest last: a simulation pays nothing for idle channels.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turns_q <= 1'b1;
      for (int unsigned i = 0; i < Channels; i++) begin
        bytes_q[i] <= '0;
        words_q[i] <= '0;
      end
    end else begin
      turns_q <= turns_i;  // an input of the simulation, like tau_tile_stall's
      if (busy) words_q[turn] <= in_page ? words_q[turn] - BytesBits'(1) : '0;
      if (page_we_i && page_register_i == 2'd2) begin
        words_q[page_channel_i] <= BytesBits'(page_wdata_i);
      end
      if (kernel_we_i) begin
        // What the kernel sets stops the transfer: the channel has another owner.
        words_q[kernel_channel_i] <= '0;
        if (kernel_register_i == 2'd2) bytes_q[kernel_channel_i] <= BytesBits'(kernel_wdata_i);
      end
    end
  end

  // No reset: what `words_q` speaks for.
  always_ff @(posedge clk_i) begin
    if (busy) begin
      source_q[turn] <= source_q[turn] + BytesBits'(4);
      destination_q[turn] <= destination_q[turn] + BytesBits'(4);
    end
    if (page_we_i && page_register_i == 2'd0) source_q[page_channel_i] <= BytesBits'(page_wdata_i);
    if (page_we_i && page_register_i == 2'd1) begin
      destination_q[page_channel_i] <= BytesBits'(page_wdata_i);
    end
    if (kernel_we_i && kernel_register_i == 2'd0) begin
      source_frame_q[kernel_channel_i] <= FrameBits'(kernel_wdata_i);
    end
    if (kernel_we_i && kernel_register_i == 2'd1) begin
      destination_frame_q[kernel_channel_i] <= CommunicationBits'(kernel_wdata_i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      move_valid_o <= 1'b0;
      moved_o <= '0;
    end else begin
      move_valid_o <= busy && in_page;
      if (busy && in_page) moved_o <= moved_o + 32'd1;
    end
  end
  // No reset: a word on its way, which `move_valid_o` speaks for.
  always_ff @(posedge clk_i) begin
    if (busy) begin
      move_source_o <= {source_frame_q[turn], OffsetBits'(0)} +
                       (FrameBits + OffsetBits)'(source_q[turn] >> 2);
      move_destination_o <= {destination_frame_q[turn], OffsetBits'(0)} +
                            LinkBits'(destination_q[turn] >> 2);
    end
  end
endmodule
