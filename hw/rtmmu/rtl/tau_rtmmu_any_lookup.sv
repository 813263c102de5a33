// One lookup per cycle through the pages validity array, for the units of this folder [P0-28,
// P0-29].
//
// A lookup of page b starts three reads at once: c[b] on port 1, h[b] on port 2, d[b] on port 3.
// The words read on the first two ports are the addresses of two second reads: sp[c[b]] and
// s[h[b]]. The page is mapped if and only if 0 < c <= b, h is a page, c <= h <= sp and s = b. Then
// d is its translation. The second reads stay inside the tables, whatever the tables hold.
//
// The first read of a memory goes to its even words and the second to its odd words. These are two
// banks (tables 0 and 3, tables 1 and 4), so a lookup can start in every cycle. A port may have any
// latency and must answer in order. The result leaves in the cycle of the last answer.
// - Parallel: if the validity memories have half the page table's latency, a lookup takes the page
//   table's latency.
// - Pipelined: if all have the same latency L, a lookup takes L more than the page table alone.
//
//   cycle   0            L                  2 L
//   port 1  c[b]  --->   sp[c]       --->   c <= h <= sp, s = b ?
//   port 2  h[b]  --->   s[h]        --->
//   port 3  d[b]  ---------------------->   frame, rights
`include "tau_assert.svh"

module tau_rtmmu_any_lookup #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned SlotBits = 2,  // 2^SlotBits lookups in flight; more than the latency
  parameter int unsigned TagBits = 4    // returned with the result
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
  output logic [PageBits-1:0] result_start_o,  // of the region, if mapped
  output logic [29:0]         result_data_o,   // frame | rights, if mapped

  output logic [4:0]             table_req_o,
  output logic [4:0][PageBits:0] table_addr_o,
  input  logic [4:0]             table_rvalid_i,
  input  logic [4:0][31:0]       table_rdata_i
);

  // Lookups in flight. Each has a slot from the cycle in which it is taken to the cycle of its
  // result. Each table answers the slots in order, with its own latency.
  localparam int unsigned Slots = 2 ** SlotBits;
  localparam int unsigned NumberBits = 27;

  logic [TagBits-1:0]  tag_q [Slots];
  logic [PageBits-1:0] page_q [Slots];
  logic [SlotBits-1:0] head_q, tail_q, at0_q, at1_q, at2_q, at3_q, at4_q;
  logic [SlotBits:0]   count_q;

  // The answers received for a slot.
  logic [Slots-1:0]    has_top_q, has_page_q, has_data_q;
  logic [Slots-1:0]    start_ok_q, place_ok_q;  // c and h are numbers of pages, c at or below b
  logic [Slots-1:0]    page_ok_q, top_outside_q;
  logic [PageBits-1:0] start_q [Slots];
  logic [PageBits-1:0] place_q [Slots];
  logic [PageBits-1:0] top_q [Slots];
  logic [29:0]         data_q [Slots];

  logic take, give;
  assign lookup_ready_o = !count_q[SlotBits];
  assign take = lookup_valid_i && lookup_ready_o;

  // The first reads.
  assign table_req_o[0] = take;
  assign table_addr_o[0] = {lookup_page_i, 1'b0};
  assign table_req_o[1] = take;
  assign table_addr_o[1] = {lookup_page_i, 1'b0};
  assign table_req_o[2] = take;
  assign table_addr_o[2] = {1'b0, lookup_page_i};

  // The second reads, in the cycle in which their address arrives.
  logic [PageBits-1:0] start, place;
  logic                start_ok, place_ok;
  assign start = table_rdata_i[0][PageBits-1:0];
  assign start_ok = (table_rdata_i[0] >> PageBits) == '0 && start != '0 && start <= page_q[at0_q];
  assign place = table_rdata_i[1][PageBits-1:0];
  assign place_ok = (table_rdata_i[1] >> PageBits) == '0;
  assign table_req_o[3] = table_rvalid_i[0];
  assign table_addr_o[3] = {start, 1'b1};
  assign table_req_o[4] = table_rvalid_i[1];
  assign table_addr_o[4] = {place, 1'b1};

  // The oldest lookup, with the answers that arrive for it in this cycle.
  logic                top_now, page_now, data_now, page_ok, top_outside;
  logic [PageBits-1:0] top;
  assign top_now = table_rvalid_i[3] && at3_q == head_q;
  assign page_now = table_rvalid_i[4] && at4_q == head_q;
  assign data_now = table_rvalid_i[2] && at2_q == head_q;
  assign top = has_top_q[head_q] ? top_q[head_q] : table_rdata_i[3][PageBits-1:0];
  assign top_outside = has_top_q[head_q] ? top_outside_q[head_q]
                                         : table_rdata_i[3][NumberBits-1:PageBits] != '0;
  assign page_ok = has_page_q[head_q] ? page_ok_q[head_q]
                                      : table_rdata_i[4] == 32'(page_q[head_q]);
  assign give = count_q != '0 && (has_top_q[head_q] || top_now) &&
                (has_page_q[head_q] || page_now) && (has_data_q[head_q] || data_now);

  assign result_valid_o = give;
  assign result_mapped_o = start_ok_q[head_q] && place_ok_q[head_q] && page_ok &&
                           start_q[head_q] <= place_q[head_q] &&
                           (place_q[head_q] <= top || top_outside);
  assign result_tag_o = tag_q[head_q];
  assign result_page_o = page_q[head_q];
  assign result_start_o = start_q[head_q];
  assign result_data_o = has_data_q[head_q] ? data_q[head_q] : table_rdata_i[2][29:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
      count_q <= '0;
      at0_q <= '0;
      at1_q <= '0;
      at2_q <= '0;
      at3_q <= '0;
      at4_q <= '0;
      has_top_q <= '0;
      has_page_q <= '0;
      has_data_q <= '0;
    end else begin
      count_q <= count_q + {{SlotBits{1'b0}}, take} - {{SlotBits{1'b0}}, give};
      if (table_rvalid_i[0]) at0_q <= at0_q + 1'b1;
      if (table_rvalid_i[1]) at1_q <= at1_q + 1'b1;
      if (table_rvalid_i[2]) at2_q <= at2_q + 1'b1;
      if (table_rvalid_i[3]) at3_q <= at3_q + 1'b1;
      if (table_rvalid_i[4]) at4_q <= at4_q + 1'b1;
      if (table_rvalid_i[3]) has_top_q[at3_q] <= 1'b1;
      if (table_rvalid_i[4]) has_page_q[at4_q] <= 1'b1;
      if (table_rvalid_i[2]) has_data_q[at2_q] <= 1'b1;
      if (take) tail_q <= tail_q + 1'b1;
      if (give) begin
        head_q <= head_q + 1'b1;
        has_top_q[head_q] <= 1'b0;
        has_page_q[head_q] <= 1'b0;
        has_data_q[head_q] <= 1'b0;
      end
    end
  end

  // Not reset: slots, which count_q and has_*_q qualify.
  always_ff @(posedge clk_i) begin
    if (take) begin
      tag_q[tail_q] <= lookup_tag_i;
      page_q[tail_q] <= lookup_page_i;
    end
    if (table_rvalid_i[0]) begin
      start_q[at0_q] <= start;
      start_ok_q[at0_q] <= start_ok;
    end
    if (table_rvalid_i[1]) begin
      place_q[at1_q] <= place;
      place_ok_q[at1_q] <= place_ok;
    end
    if (table_rvalid_i[2]) data_q[at2_q] <= table_rdata_i[2][29:0];
    if (table_rvalid_i[3]) begin
      top_q[at3_q] <= table_rdata_i[3][PageBits-1:0];
      top_outside_q[at3_q] <= table_rdata_i[3][NumberBits-1:PageBits] != '0;
    end
    if (table_rvalid_i[4]) page_ok_q[at4_q] <= table_rdata_i[4] == 32'(page_q[at4_q]);
  end

  logic unused;
  assign unused = ^{table_rdata_i[2][31:30], table_rdata_i[3][31:NumberBits]};

  // The distance of each table's next answer from the oldest lookup. Every answer must be expected.
  logic [SlotBits-1:0] ahead0, ahead1, ahead2, ahead3, ahead4;
  assign ahead0 = at0_q - head_q;
  assign ahead1 = at1_q - head_q;
  assign ahead2 = at2_q - head_q;
  assign ahead3 = at3_q - head_q;
  assign ahead4 = at4_q - head_q;
  `TAU_ASSERT(NumbersFit, PageBits < NumberBits)
  `TAU_ASSERT(NoMappingWithoutEntry, !(give && result_mapped_o) || (start_ok_q[head_q] && page_ok))
  `TAU_ASSERT(RegionIsAtOrBelowPage,
              !(give && result_mapped_o) ||
              (result_start_o != '0 && result_start_o <= result_page_o))
  `TAU_ASSERT(Table0WasAsked, !table_rvalid_i[0] || {1'b0, ahead0} < count_q)
  `TAU_ASSERT(Table1WasAsked, !table_rvalid_i[1] || {1'b0, ahead1} < count_q)
  `TAU_ASSERT(Table2WasAsked,
              !table_rvalid_i[2] || ({1'b0, ahead2} < count_q && !has_data_q[at2_q]))
  `TAU_ASSERT(Table3WasAsked,
              !table_rvalid_i[3] || ({1'b0, ahead3} < count_q && !has_top_q[at3_q]))
  `TAU_ASSERT(Table4WasAsked,
              !table_rvalid_i[4] || ({1'b0, ahead4} < count_q && !has_page_q[at4_q]))
endmodule
