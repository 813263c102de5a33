// Assertions of this project: checked in every simulation, ignored by synthesis, proof goals for
// formal tools.
//
// `TAU_ASSERT(Name, condition) is checked at every rising edge of clk_i while rst_ni is high.
// - FORMAL: a proof goal. Yosys' read_verilog -formal defines it. Yosys judges it a cycle later, as
//   clocked assumptions are, or with TAU_PROOF_INDUCTION in the same cycle.
// - SYNTHESIS without VERILATOR: nothing. Synthesis tools define SYNTHESIS. So does the tile's
//   build, for Ibex.
// - TAU_ASSERT_IGNORED: nothing either. Simulators of long runs define it.
// Ibex's own assertion package switches its assertions off when Verilator reads it.
`ifndef TAU_ASSERT_SVH
`define TAU_ASSERT_SVH

`ifdef SYNTHESIS
`ifndef VERILATOR
`define TAU_ASSERT_IGNORED
`endif
`endif

`ifdef TAU_PROOF_INDUCTION
`define TAU_ASSERT_WHEN always_comb
`else
`define TAU_ASSERT_WHEN always @(posedge clk_i)
`endif

`ifdef FORMAL
`define TAU_ASSERT(Name, Condition)                                                                \
  `TAU_ASSERT_WHEN begin                                                                           \
    if (rst_ni) Name: assert (Condition);                                                          \
  end
`elsif TAU_ASSERT_IGNORED
`define TAU_ASSERT(Name, Condition)
`else
`define TAU_ASSERT(Name, Condition)                                                                \
  always_ff @(posedge clk_i or negedge rst_ni) begin : Name                                        \
    if (!rst_ni) begin                                                                             \
    end else if (!(Condition)) begin                                                               \
      $error("assertion %s failed in %m", `"Name`");                                               \
      $fatal(1);                                                                                   \
    end                                                                                            \
  end
`endif

`endif
