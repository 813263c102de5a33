// The top of a simulation: several tiles, each with its own memories, devices and program.
module tau_sim #(
  parameter int unsigned Tiles = 1,
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Latency0 = 1,
  parameter int unsigned Latency1 = 1,
  parameter int unsigned Latency2 = 1,
  parameter bit Fast = 1'b0,
  parameter bit BitManipulation = 1'b0
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [7:0]  stall_threshold_i,
  input logic [31:0] stall_seed_i
);

  for (genvar i = 0; i < Tiles; i++) begin : gen_tile
    tau_tile #(
      .PageBits       (PageBits),
      .FrameBits      (FrameBits),
      .Latency0       (Latency0),
      .Latency1       (Latency1),
      .Latency2       (Latency2),
      .WritebackStage (Fast),
      .BranchTargetALU(Fast),
      .RV32M          (Fast ? ibex_pkg::RV32MSingleCycle : ibex_pkg::RV32MFast),
      .RV32B          (BitManipulation ? ibex_pkg::RV32BBalanced : ibex_pkg::RV32BNone),
      .Tile           (i)
    ) u_tile (
      .clk_i,
      .rst_ni,
      .stall_threshold_i,
      .stall_seed_i(stall_seed_i + i)
    );
  end
endmodule
