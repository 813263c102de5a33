// A memory with a port for a bus and ports for Readers.
// - The bus, port a, reads and writes. It is answered one cycle later.
// - A reader's port takes one request per cycle and answers Latency cycles later. It sees a write
//   of port a from the next cycle on.
module tau_ram #(
  parameter int unsigned WordBits = 17,
  parameter int unsigned Readers = 1,
  parameter int unsigned Latency = 1
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  logic                             a_req_i,
  input  logic [WordBits-1:0]              a_addr_i,
  input  logic                             a_we_i,
  input  logic [3:0]                       a_be_i,
  input  logic [31:0]                      a_wdata_i,
  output logic [31:0]                      a_rdata_o,

  input  logic [Readers-1:0]               read_req_i,
  input  logic [Readers-1:0][WordBits-1:0] read_addr_i,
  output logic [Readers-1:0]               read_rvalid_o,
  output logic [Readers-1:0][31:0]         read_rdata_o
);

  localparam int unsigned Words = 2 ** WordBits;

  logic [31:0] memory[Words];

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
  end

  for (genvar i = 0; i < Readers; i++) begin : gen_reader
    logic [31:0]        data_q[Latency];
    logic [Latency-1:0] valid_q;
    // Not reset: answers, which valid_q qualifies.
    always_ff @(posedge clk_i) begin
      if (read_req_i[i]) data_q[0] <= memory[read_addr_i[i]];
      for (int unsigned j = 1; j < Latency; j++) data_q[j] <= data_q[j-1];
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= '0;
      else valid_q <= Latency'({valid_q, read_req_i[i]});
    end
    assign read_rvalid_o[i] = valid_q[Latency-1];
    assign read_rdata_o[i] = data_q[Latency-1];
  end
endmodule
