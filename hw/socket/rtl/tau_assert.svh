// Assertions of our own: live in every simulation, silent in synthesis, proof goals for formal
// tools.
//
// `TAU_ASSERT(Name, condition) is checked at every rising edge of clk_i while rst_ni is high. The
// ones of Ibex's package are switched off by the package itself when Verilator reads it.
`ifndef TAU_ASSERT_SVH
`define TAU_ASSERT_SVH

`ifdef YOSYS
`ifdef FORMAL
`define TAU_ASSERT(Name, Condition)                                                                \
  always @(posedge clk_i) begin                                                                    \
    if (rst_ni) Name: assert (Condition);                                                          \
  end
`else
`define TAU_ASSERT(Name, Condition)
`endif
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
