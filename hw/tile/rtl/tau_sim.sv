// The top of a simulation: one tile, with its own memories and devices, and its link. The host has
// an instance of it for each tile, so that all of them run the same code.
module tau_sim #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned GranuleBits = 12,
  parameter int unsigned Latency0 = 1,
  parameter int unsigned Latency1 = 1,
  parameter int unsigned Latency2 = 1,
  parameter bit Fast = 1'b0,
  parameter bit BitManipulation = 1'b0,
  parameter bit SpecialFrames = 1'b0
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [31:0] tile_i,
  input logic [7:0]  stall_threshold_i,
  input logic [31:0] stall_seed_i,
  input logic        dma_turns_i
);

  // Read once: logic that follows an input would be evaluated at both edges of each cycle.
  logic [31:0] tile = tile_i;

  localparam int unsigned OffsetBits = GranuleBits - 2;
  localparam int unsigned WordBits = FrameBits + OffsetBits;
  localparam int unsigned LinkBits = $clog2(tau_tile_pkg::SizeCommunicationFrames) + OffsetBits;
  logic                store_valid, move_valid;
  logic [LinkBits-1:0] store_word, move_destination;
  logic [3:0]          store_be;
  logic [31:0]         store_wdata;
  logic [WordBits-1:0] move_source;

  tau_tile #(
    .PageBits       (PageBits),
    .FrameBits      (FrameBits),
    .GranuleBits    (GranuleBits),
    .Latency0       (Latency0),
    .Latency1       (Latency1),
    .Latency2       (Latency2),
    .WritebackStage (Fast),
    .BranchTargetALU(Fast),
    .RV32M          (Fast ? ibex_pkg::RV32MSingleCycle : ibex_pkg::RV32MFast),
    .RV32B          (BitManipulation ? ibex_pkg::RV32BBalanced : ibex_pkg::RV32BNone),
    .SpecialFrames  (SpecialFrames)
  ) u_tile (
    .clk_i,
    .rst_ni,
    .tile_i                 (tile),
    .stall_threshold_i,
    .stall_seed_i,
    .dma_turns_i,
    .link_store_valid_o     (store_valid),
    .link_store_word_o      (store_word),
    .link_store_be_o        (store_be),
    .link_store_wdata_o     (store_wdata),
    .link_move_valid_o      (move_valid),
    .link_move_source_o     (move_source),
    .link_move_destination_o(move_destination)
  );

  if (SpecialFrames) begin : gen_link
    tau_tile_link #(
      .FrameBits (FrameBits),
      .OffsetBits(OffsetBits)
    ) u_link (
      .clk_i,
      .rst_ni,
      .tile_i            (tile),
      .store_valid_i     (store_valid),
      .store_word_i      (store_word),
      .store_be_i        (store_be),
      .store_wdata_i     (store_wdata),
      .move_valid_i      (move_valid),
      .move_source_i     (move_source),
      .move_destination_i(move_destination)
    );
  end else begin : gen_no_link
    logic unused;
    assign unused = ^{store_valid, store_word, store_be, store_wdata, move_valid, move_source,
                      move_destination};
  end
endmodule
