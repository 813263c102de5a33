// A block RAM: a port that reads and writes bytes, and two that read. Each answers one cycle later.
module tau_area_memory #(
  parameter int unsigned WordBits = 12
) (
  input  logic                clk_i,
  input  logic                a_req_i,
  input  logic [WordBits-1:0] a_addr_i,
  input  logic                a_we_i,
  input  logic [3:0]          a_be_i,
  input  logic [31:0]         a_wdata_i,
  output logic [31:0]         a_rdata_o,
  input  logic [WordBits-1:0] b_addr_i,
  output logic [31:0]         b_rdata_o,
  input  logic [WordBits-1:0] c_addr_i,
  output logic [31:0]         c_rdata_o
);
  (* no_rw_check *) logic [31:0] memory[2**WordBits];

  // Not reset: a memory.
  always_ff @(posedge clk_i) begin
    if (a_req_i) begin
      if (a_we_i) begin
        for (int unsigned i = 0; i < 4; i++) begin
          if (a_be_i[i]) memory[a_addr_i][8*i+:8] <= a_wdata_i[8*i+:8];
        end
      end else begin
        a_rdata_o <= memory[a_addr_i];
      end
    end
    b_rdata_o <= memory[b_addr_i];
    c_rdata_o <= memory[c_addr_i];
  end
endmodule
