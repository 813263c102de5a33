// tau_rtmmu_lookup for tables whose latencies are known: L cycles for both validity memories, D for
// the page table. It keeps no slots, counts nothing and waits for nothing: what a lookup carries
// moves on by a register in each cycle, and each answer is used in the one cycle in which it comes.
//
// Every output is the general lookup's, in every cycle, if max(2 L, D) < 2^SlotBits there:
// proved (hw/rtmmu/formal).
//
//   cycle   0            L                       2 L                     max(2 L, D)
//   carried page, tag    page, tag, c, h, ok     page, tag, c, mapped    result
//   arrives              c, h                    sp, s                   d, kept since D
`include "tau_assert.svh"

module tau_rtmmu_fixed_lookup #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned TagBits = 4,
  parameter int unsigned ValidityLatency = 1,  // L
  parameter int unsigned PageLatency = 1       // D
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                lookup_valid_i,
  output logic                lookup_ready_o,
  input  logic [PageBits-1:0] lookup_page_i,
  input  logic [TagBits-1:0]  lookup_tag_i,

  output logic                result_valid_o,
  output logic                result_mapped_o,
  output logic [TagBits-1:0]  result_tag_o,
  output logic [PageBits-1:0] result_page_o,
  output logic [PageBits-1:0] result_start_o,
  output logic [29:0]         result_data_o,

  output logic [4:0]             table_req_o,
  output logic [4:0][PageBits:0] table_addr_o,
  input  logic [4:0]             table_rvalid_i,
  input  logic [4:0][31:0]       table_rdata_i
);

  localparam int unsigned L = ValidityLatency;
  localparam int unsigned D = PageLatency;
  localparam int unsigned Cycles = 2 * L > D ? 2 * L : D;
  localparam int unsigned NumberBits = 27;

  // The first reads.
  assign lookup_ready_o = 1'b1;
  assign table_req_o[2:0] = {3{lookup_valid_i}};
  assign table_addr_o[0] = {lookup_page_i, 1'b0};
  assign table_addr_o[1] = {lookup_page_i, 1'b0};
  assign table_addr_o[2] = {1'b0, lookup_page_i};

  // The second reads.
  logic                valid1;
  logic [TagBits-1:0]  tag1;
  logic [PageBits-1:0] page1, start1, place1;
  logic                ok1;
  tau_rtmmu_delay #(
    .Bits  (1 + TagBits + PageBits),
    .Cycles(L)
  ) u_first (
    .clk_i,
    .rst_ni,
    .value_i({lookup_valid_i, lookup_tag_i, lookup_page_i}),
    .value_o({valid1, tag1, page1})
  );
  assign start1 = table_rdata_i[0][PageBits-1:0];
  assign place1 = table_rdata_i[1][PageBits-1:0];
  assign ok1 = (table_rdata_i[0] >> PageBits) == '0 && (table_rdata_i[1] >> PageBits) == '0 &&
               start1 != '0 && start1 <= page1 && start1 <= place1;
  assign table_req_o[4:3] = {2{valid1}};
  assign table_addr_o[3] = {start1, 1'b1};
  assign table_addr_o[4] = {place1, 1'b1};

  logic                valid2;
  logic [TagBits-1:0]  tag2;
  logic [PageBits-1:0] page2, start2, place2;
  logic                ok2, mapped2;
  tau_rtmmu_delay #(
    .Bits  (2 + TagBits + 3 * PageBits),
    .Cycles(L)
  ) u_second (
    .clk_i,
    .rst_ni,
    .value_i({valid1, ok1, tag1, page1, start1, place1}),
    .value_o({valid2, ok2, tag2, page2, start2, place2})
  );
  // Said as what is wrong, Yosys makes a shorter path and fewer cells of it.
  assign mapped2 = !(table_rdata_i[3][NumberBits-1:0] < NumberBits'(place2) ||
                     table_rdata_i[4] != 32'(page2) || !ok2);

  // The result.
  tau_rtmmu_delay #(
    .Bits  (2 + TagBits + 2 * PageBits),
    .Cycles(Cycles - 2 * L)
  ) u_validity (
    .clk_i,
    .rst_ni,
    .value_i({valid2, mapped2, tag2, page2, start2}),
    .value_o({result_valid_o, result_mapped_o, result_tag_o, result_page_o, result_start_o})
  );
  tau_rtmmu_delay #(
    .Bits  (30),
    .Cycles(Cycles - D)
  ) u_data (
    .clk_i,
    .rst_ni,
    .value_i(table_rdata_i[2][29:0]),
    .value_o(result_data_o)
  );

  // Only watched: `table_rvalid_i` says nothing that is not known.
  logic data_valid;
  tau_rtmmu_delay #(
    .Bits  (1),
    .Cycles(D)
  ) u_watch (
    .clk_i,
    .rst_ni,
    .value_i(lookup_valid_i),
    .value_o(data_valid)
  );
  logic unused;
  assign unused = ^{table_rvalid_i, data_valid, table_rdata_i[2][31:30],
                    table_rdata_i[3][31:NumberBits]};
  `TAU_ASSERT(NumbersFit, PageBits < NumberBits)
  `TAU_ASSERT(LatenciesAreKnown, L != 0 && D != 0)
  `TAU_ASSERT(Table0WasAskedThen, table_rvalid_i[0] == valid1)
  `TAU_ASSERT(Table1WasAskedThen, table_rvalid_i[1] == valid1)
  `TAU_ASSERT(Table2WasAskedThen, table_rvalid_i[2] == data_valid)
  `TAU_ASSERT(Table3WasAskedThen, table_rvalid_i[3] == valid2)
  `TAU_ASSERT(Table4WasAskedThen, table_rvalid_i[4] == valid2)
endmodule
