// Counters in a memory. Each counts one kind of event. `clear_i` sets all of them to 0 in one
// cycle: a counter without an event since then reads as 0, whatever the memory holds. Counters wrap
// around at 2^32. An event in the cycle of a clear is lost.
module tau_tlb_counters #(
  parameter int unsigned IndexBits = 3
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 event_i,
  input  logic [IndexBits-1:0] event_index_i,
  input  logic                 clear_i,
  input  logic [IndexBits-1:0] read_index_i,
  output logic [31:0]          read_o
);

  localparam int unsigned Counters = 2 ** IndexBits;

  logic [31:0]         count_mem [Counters];
  logic [Counters-1:0] used_q;
  logic [31:0]         count;
  assign count = used_q[event_index_i] ? count_mem[event_index_i] : '0;
  assign read_o = used_q[read_index_i] ? count_mem[read_index_i] : '0;

  // Not reset: a memory, which used_q qualifies.
  always_ff @(posedge clk_i) begin
    if (event_i) count_mem[event_index_i] <= count + 1'b1;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else if (clear_i) used_q <= '0;
    else if (event_i) used_q[event_index_i] <= 1'b1;
  end
endmodule
