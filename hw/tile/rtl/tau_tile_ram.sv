// A memory with two ports. Port a, the data bus: reads and writes, answered one cycle later. Port b
// only reads and answers Latency cycles later, one request a cycle; it sees a write of port a from
// the next cycle on. The first contents come from the host (the program's image).
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
  output logic [31:0]         b_rdata_o
);

  localparam int unsigned Words = 2 ** WordBits;

  logic [31:0] memory[Words];

  initial begin
    for (int unsigned i = 0; i < Words; i++) begin
      memory[i] = tau_host_pkg::tau_host_word(Tile, Base + 4 * i);
    end
  end

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

  logic [31:0]        data_q[Latency];
  logic [Latency-1:0] valid_q;
  always_ff @(posedge clk_i) begin
    if (b_req_i) data_q[0] <= memory[b_addr_i];
    for (int unsigned i = 1; i < Latency; i++) data_q[i] <= data_q[i-1];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= Latency'({valid_q, b_req_i});
  end
  assign b_rvalid_o = valid_q[Latency-1];
  assign b_rdata_o = data_q[Latency-1];
endmodule
