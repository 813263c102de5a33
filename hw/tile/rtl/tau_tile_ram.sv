// A memory with three ports.
// - Port a, the data bus, reads and writes. It is answered one cycle later.
// - Ports b and c only read. Each takes one request per cycle and answers Latency cycles later.
//   They see a write of port a from the next cycle on.
//
// The host provides the initial contents, which are the program's image.
module tau_tile_ram #(
  parameter int unsigned WordBits = 17,
  parameter int unsigned Latency = 1,
  parameter int unsigned Tile = 0,
  parameter logic [31:0] Base = '0
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                a_req_i,
  input  logic [WordBits-1:0] a_addr_i,
  input  logic                a_we_i,
  input  logic [3:0]          a_be_i,
  input  logic [31:0]         a_wdata_i,
  output logic [31:0]         a_rdata_o,

  input  logic                b_req_i,
  input  logic [WordBits-1:0] b_addr_i,
  output logic                b_rvalid_o,
  output logic [31:0]         b_rdata_o,

  input  logic                c_req_i,
  input  logic [WordBits-1:0] c_addr_i,
  output logic                c_rvalid_o,
  output logic [31:0]         c_rdata_o
);

  localparam int unsigned Words = 2 ** WordBits;

  logic [31:0] memory[Words];

  initial begin
    for (int unsigned i = 0; i < Words; i++) begin
      memory[i] = tau_host_pkg::tau_host_word(Tile, Base + 4 * i);
    end
  end

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

  logic [31:0]        b_data_q[Latency], c_data_q[Latency];
  logic [Latency-1:0] b_valid_q, c_valid_q;
  // Not reset: answers, which *_valid_q qualify.
  always_ff @(posedge clk_i) begin
    if (b_req_i) b_data_q[0] <= memory[b_addr_i];
    if (c_req_i) c_data_q[0] <= memory[c_addr_i];
    for (int unsigned i = 1; i < Latency; i++) begin
      b_data_q[i] <= b_data_q[i-1];
      c_data_q[i] <= c_data_q[i-1];
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      b_valid_q <= '0;
      c_valid_q <= '0;
    end else begin
      b_valid_q <= Latency'({b_valid_q, b_req_i});
      c_valid_q <= Latency'({c_valid_q, c_req_i});
    end
  end
  assign b_rvalid_o = b_valid_q[Latency-1];
  assign b_rdata_o = b_data_q[Latency-1];
  assign c_rvalid_o = c_valid_q[Latency-1];
  assign c_rdata_o = c_data_q[Latency-1];
endmodule
