// Asserts the rules of the MMU socket in every simulation (hw/tile/doc/tile.md, "The MMU
// socket"): the duties of a unit, and its assumptions. It only watches. The ports assert
// that each result belongs to a lookup, and what a result may contain.
`include "tau_assert.svh"

module tau_mmu_socket #(
  parameter int unsigned PageBits = 18,
  // Far above what any unit takes with the slowest tables. A longer wait counts as a deadlock.
  parameter int unsigned CyclesMax = 1024
) (
  input logic                   clk_i,
  input logic                   rst_ni,

  // Bit 0 fetches, bit 1 data.
  input logic [1:0]             lookup_valid_i,
  input logic [1:0]             lookup_ready_i,
  input logic [1:0]             result_valid_i,
  input logic [1:0]             event_hit_i,
  input logic [1:0]             event_miss_i,
  // The core asks for the window; code outside the window stores to a register of the unit.
  input logic [1:0]             window_req_i,
  input logic                   store_i,

  // One bit per table.
  input logic [4:0]             table_req_i,
  input logic [4:0]             table_rvalid_i,
  input logic [4:0][PageBits:0] table_addr_i
);

  localparam int unsigned WaitBits = $clog2(CyclesMax + 1);

  for (genvar i = 0; i < 2; i++) begin : gen_port
    logic [1:0]          count_q;  // lookups without a result
    logic [WaitBits-1:0] waited_q, refused_q;
    logic                take;
    assign take = lookup_valid_i[i] && lookup_ready_i[i];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        count_q <= '0;
        waited_q <= '0;
        refused_q <= '0;
      end else begin
        count_q <= count_q + 2'(take) - 2'(result_valid_i[i]);
        waited_q <= result_valid_i[i] || count_q == '0 ? '0 : waited_q + 1'b1;
        refused_q <= take || !lookup_valid_i[i] ? '0 : refused_q + 1'b1;
      end
    end
    `TAU_ASSERT(NoMoreThanTwo, !take || count_q < 2'd2 || result_valid_i[i])
    `TAU_ASSERT(EachIsAnswered, 32'(waited_q) < CyclesMax)
    `TAU_ASSERT(EachIsTaken, 32'(refused_q) < CyclesMax)
    `TAU_ASSERT(EventsAreOfResults, result_valid_i[i] || !(event_hit_i[i] || event_miss_i[i]))
    // So a switch of applications finds nothing of the one before on its way.
    `TAU_ASSERT(QuietAtStore, !store_i || (count_q == '0 && !window_req_i[i]))
    `TAU_ASSERT(HitOrMiss, !(event_hit_i[i] && event_miss_i[i]))
  end

  // A table answers each request once. The unit and the latency determine how many are in flight.
  for (genvar i = 0; i < 5; i++) begin : gen_table
    logic [7:0] count_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) count_q <= '0;
      else count_q <= count_q + 8'(table_req_i[i]) - 8'(table_rvalid_i[i]);
    end
    `TAU_ASSERT(TableWasAsked, !table_rvalid_i[i] || count_q != '0)
  end

  // One reader of a memory uses its even words and the other its odd words, so two banks suffice.
  // The page table has one word per page.
  `TAU_ASSERT(FirstReadIsEven, !(table_req_i[0] && table_addr_i[0][0]) &&
                               !(table_req_i[1] && table_addr_i[1][0]))
  `TAU_ASSERT(SecondReadIsOdd, !(table_req_i[3] && !table_addr_i[3][0]) &&
                               !(table_req_i[4] && !table_addr_i[4][0]))
  `TAU_ASSERT(PageTableHasAWordAPage, !(table_req_i[2] && table_addr_i[2][PageBits]))

  logic unused;
  assign unused = ^table_addr_i;
endmodule
