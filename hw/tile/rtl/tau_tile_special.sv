// Frames that are devices: a frame number with its highest bit set names a page of the other
// tile's communication memory, a DMA channel or a system page (docs/spec/kernel.md). They come
// between the data port and the frames, take an access a cycle and answer one cycle later, always.
module tau_tile_special
  import tau_tile_pkg::*;
#(
  parameter int unsigned FrameBits = 18,
  parameter int unsigned OffsetBits = 8,
  localparam int unsigned LinkBits = $clog2(SizeCommunicationFrames) + OffsetBits
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic [31:0]                     tile_i,
  input  logic [63:0]                     cycle_i,

  // Recorded with a mark, and nothing else.
  input  logic [31:0]                     misses_fetch_i,
  input  logic [31:0]                     misses_data_i,
  input  logic [31:0]                     words_moved_i,

  // An access to such a frame that counts: its translation was the right one.
  input  logic                            req_i,
  input  logic [FrameBits+OffsetBits-1:0] word_i,
  input  logic                            we_i,
  input  logic [3:0]                      be_i,
  input  logic [31:0]                     wdata_i,
  output logic [31:0]                     rdata_o,

  // Stores for the other tile.
  output logic                            link_valid_o,
  output logic [LinkBits-1:0]             link_word_o,
  output logic [3:0]                      link_be_o,
  output logic [31:0]                     link_wdata_o,

  // The application's registers of a DMA channel.
  output logic                            dma_we_o,
  output logic [2:0]                      dma_channel_o,
  output logic [1:0]                      dma_register_o,
  input  logic [31:0]                     dma_words_i
);

  localparam int unsigned NumberBits = FrameBits - 3;
  localparam int unsigned CommunicationBits = $clog2(SizeCommunicationFrames);

  logic [1:0]            kind;
  logic [NumberBits-1:0] number;
  logic [OffsetBits-1:0] offset;
  assign {kind, number, offset} = word_i[FrameBits+OffsetBits-2:0];

  logic is_link, is_dma, is_system, in_first_words;
  assign in_first_words = (offset >> 3) == '0;
  assign is_link = kind == 2'(SpecialLink) && (number >> CommunicationBits) == '0;
  assign is_dma = kind == 2'(SpecialDma) && (number >> 3) == '0 && in_first_words;
  assign is_system = kind == 2'(SpecialSystem) && in_first_words;

  assign dma_we_o = req_i && we_i && is_dma && !offset[2];
  assign dma_channel_o = 3'(number);
  assign dma_register_o = offset[1:0];

  logic [31:0] rdata;
  always_comb begin
    rdata = '0;
    if (is_dma && offset[2:0] == DmaPageWords[4:2]) rdata = dma_words_i;
    if (is_system) begin
      unique case (offset[2:0])
        SystemPageCycle[4:2]: rdata = cycle_i[31:0];
        SystemPageCycle[4:2] + 3'd1: rdata = cycle_i[63:32];
        SystemPageApplication[4:2]: rdata = 32'(number);
        default: rdata = '0;
      endcase
    end
  end

  // No reset: answers and words on the link, which other signals speak for.
  always_ff @(posedge clk_i) begin
    if (req_i) rdata_o <= rdata;
    link_word_o <= {CommunicationBits'(number), offset};
    link_be_o <= be_i;
    link_wdata_o <= wdata_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      link_valid_o <= 1'b0;
    end else begin
      link_valid_o <= req_i && we_i && is_link;
      if (req_i && we_i && is_system) begin
        if (offset[2:0] == SystemPageConsole[4:2]) begin
          tau_host_pkg::tau_host_application_console(tile_i, 32'(number), wdata_i);
        end
        if (offset[2:0] == SystemPageMark[4:2]) begin
          tau_host_pkg::tau_host_mark(tile_i, 32'(number), wdata_i, misses_fetch_i,
                                       misses_data_i, words_moved_i, cycle_i);
        end
      end
    end
  end
endmodule
