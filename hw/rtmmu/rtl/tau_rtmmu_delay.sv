// A value some cycles later. `Cycles` may be 0. Reset clears what is on its way.
module tau_rtmmu_delay #(
  parameter int unsigned Bits = 1,
  parameter int unsigned Cycles = 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic [Bits-1:0] value_i,
  output logic [Bits-1:0] value_o
);

  if (Cycles == 0) begin : gen_wire
    assign value_o = value_i;
    logic unused;
    assign unused = clk_i ^ rst_ni;
  end else begin : gen_register
    logic [Cycles*Bits-1:0] value_q;
    assign value_o = value_q[Cycles*Bits-1-:Bits];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) value_q <= '0;
      else value_q <= (Cycles * Bits)'({value_q, value_i});
    end
  end
endmodule
