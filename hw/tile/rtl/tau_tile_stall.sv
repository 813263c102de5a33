// Random wait states for tests. Each of the four bits is set in threshold_i of 256 cycles,
// independently of the others. A threshold of 0 never sets them. The same seed gives the same
// cycles.
module tau_tile_stall (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [7:0]  threshold_i,
  input  logic [31:0] seed_i,
  output logic [3:0]  stall_o
);

  // Marsaglia's xorshift with 13, 17, 5. Its state is never 0.
  logic [31:0] state_q, step1, step2, step3;
  assign step1 = state_q ^ (state_q << 13);
  assign step2 = step1 ^ (step1 >> 17);
  assign step3 = step2 ^ (step2 << 5);

  // Registered, so that no input of the simulation reaches combinational logic. Otherwise Verilator
  // would evaluate all of that logic again at each edge.
  logic [7:0] threshold_q;
  logic       seeded_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      seeded_q <= 1'b0;
      threshold_q <= '0;
      state_q <= 32'd1;
    end else begin
      seeded_q <= 1'b1;
      threshold_q <= threshold_i;
      if (!seeded_q) state_q <= {seed_i[30:0], 1'b1};
      else if (threshold_q != '0) state_q <= step3;
    end
  end

  logic unused;
  assign unused = seed_i[31];

  for (genvar i = 0; i < 4; i++) begin : gen_stall
    assign stall_o[i] = state_q[8*i+:8] < threshold_q;
  end
endmodule
