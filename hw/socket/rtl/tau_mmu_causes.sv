// Cause of the latest error on each port, for software after a trap.
//
// - If an access extends across two pages, the first half counts, as in mtval. When the first half
//   is answered, only the second half can be requested or in flight.
// - Fetches run ahead of execution. Of consecutive refused words, the first counts.
`include "tau_assert.svh"

module tau_mmu_causes (
  input  logic        clk_i,
  input  logic        rst_ni,

  // The fetch port: its answers with the cause of an error.
  input  logic        instr_req_i,
  input  logic        instr_gnt_i,
  input  logic [31:0] instr_addr_i,
  input  logic        instr_rvalid_i,
  input  logic        instr_err_i,
  input  logic [1:0]  instr_answer_cause_i,
  output logic [1:0]  instr_cause_o,

  // The port of loads and stores.
  input  logic        data_req_i,
  input  logic        data_gnt_i,
  input  logic        data_rvalid_i,
  input  logic        data_err_i,
  input  logic [1:0]  data_answer_cause_i,
  output logic [1:0]  data_cause_o
);

  // Loads and stores. `left`: in flight, without the one that is answered now.
  logic [1:0] data_count_q, data_left;
  logic       data_is_second_q;
  assign data_left = data_count_q - 2'(data_rvalid_i);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      data_count_q <= '0;
      data_is_second_q <= 1'b0;
      data_cause_o <= '0;
    end else begin
      data_count_q <= data_left + 2'(data_req_i && data_gnt_i);
      if (data_rvalid_i) data_is_second_q <= data_err_i && (data_req_i || data_left != '0);
      if (data_rvalid_i && data_err_i && !data_is_second_q) data_cause_o <= data_answer_cause_i;
    end
  end

  // Fetches. `follows`: which of those in flight directly follow the previous one; 0 is the oldest.
  logic [1:0]  instr_count_q, instr_left;
  logic [2:0]  instr_follows_q;
  logic [31:0] instr_next_q;
  logic        instr_was_refused_q;
  assign instr_left = instr_count_q - 2'(instr_rvalid_i);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      instr_count_q <= '0;
      instr_follows_q <= '0;
      instr_next_q <= '0;
      instr_was_refused_q <= 1'b0;
      instr_cause_o <= '0;
    end else begin
      instr_count_q <= instr_left + 2'(instr_req_i && instr_gnt_i);
      if (instr_rvalid_i) begin
        instr_was_refused_q <= instr_err_i;
        instr_follows_q <= instr_follows_q >> 1;
      end
      if (instr_req_i && instr_gnt_i) begin
        instr_next_q <= instr_addr_i + 32'd4;
        instr_follows_q[instr_left] <= instr_addr_i == instr_next_q;
      end
      if (instr_rvalid_i && instr_err_i && !(instr_was_refused_q && instr_follows_q[0])) begin
        instr_cause_o <= instr_answer_cause_i;
      end
    end
  end

  `TAU_ASSERT(AnswersWereAskedFor,
              (!instr_rvalid_i || instr_count_q != '0) && (!data_rvalid_i || data_count_q != '0))
  `TAU_ASSERT(OnTheirWay, instr_left < 2'd3 && data_left < 2'd3)
endmodule
