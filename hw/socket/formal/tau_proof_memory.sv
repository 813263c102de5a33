// A memory whose words the prover chooses. It answers `Latency` cycles later.
module tau_proof_memory #(
  parameter int unsigned WordBits = 3,
  parameter int unsigned Latency = 1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [32*2**WordBits-1:0] words_i,
  input  logic                      req_i,
  input  logic [WordBits-1:0]       addr_i,
  output logic                      rvalid_o,
  output logic [31:0]               rdata_o
);

  logic [Latency-1:0]    valid_q = '0;
  logic [32*Latency-1:0] data_q;
  always @(posedge clk_i) begin
    valid_q <= rst_ni ? {valid_q, req_i} : '0;
    data_q <= {data_q, words_i[32*addr_i+:32]};
  end
  assign rvalid_o = valid_q[Latency-1];
  assign rdata_o = data_q[32*Latency-1-:32];
endmodule
