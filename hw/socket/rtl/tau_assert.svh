// Assertions of this project: checked in every simulation, ignored by synthesis, proof goals for
// formal tools.
//
// `TAU_ASSERT(Name, condition) is checked at every rising edge of clk_i while rst_ni is high.
// Ibex's own assertion package switches its assertions off when Verilator reads it.
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
