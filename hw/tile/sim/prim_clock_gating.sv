// The simulation's clock gate: none. Ibex leaves this cell to the technology. Without the latch,
// nothing happens at a falling edge, which saves a tenth of the simulation's work. A sleeping core
// waits with its clock running, so it wakes one cycle earlier or later than with a real gate.
module prim_clock_gating #(
  parameter bit NoFpgaGate = 1'b0,
  parameter bit FpgaBufGlobal = 1'b1
) (
  input  logic clk_i,
  input  logic en_i,
  input  logic test_en_i,
  output logic clk_o
);
  assign clk_o = clk_i;

  logic unused;
  assign unused = ^{en_i, test_en_i, NoFpgaGate, FpgaBufGlobal};
endmodule
