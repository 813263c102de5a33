// The real-time MMU: translation through the pages validity array [P0-28, P0-29].
//
// A lookup of page b starts three reads at once: c[b] on port 1, h[b] on port 2, d[b] on port 3.
// What comes back on the first two is an address of a second read: sp[c[b]] and s[h[b]]. The page is
// mapped if and only if 0 < c <= b, c <= h <= sp and s = b; then d is its translation. Nothing that
// the tables hold is trusted but sp: whatever c and h are, the second reads stay inside the tables.
//
// The first and the second read of a memory go to its even and its odd words, two banks (table 0 and
// 3, table 1 and 4), so a lookup can start in every cycle. Every port may have any latency as long
// as it answers in order; the result leaves in the cycle in which the last answer comes. With
// validity memories of half the page table's latency a lookup takes what the page table alone would
// take (parallel); with equal latency L it takes L more (pipelined).
//
//   cycle   0            L                  2 L
//   port 1  c[b]  --->   sp[c]       --->   c <= h <= sp, s = b ?
//   port 2  h[b]  --->   s[h]        --->
//   port 3  d[b]  ---------------------->   frame, rights
`include "tau_assert.svh"

module tau_rtmmu #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 instr_lookup_valid_i,
  output logic                 instr_lookup_ready_o,
  input  logic [PageBits-1:0]  instr_lookup_page_i,
  input  logic [2:0]           instr_lookup_access_i,
  input  logic                 instr_lookup_user_i,
  output logic                 instr_result_valid_o,
  output logic                 instr_result_fault_o,
  output logic [1:0]           instr_result_cause_o,
  output logic [FrameBits-1:0] instr_result_frame_o,

  input  logic                 data_lookup_valid_i,
  output logic                 data_lookup_ready_o,
  input  logic [PageBits-1:0]  data_lookup_page_i,
  input  logic [2:0]           data_lookup_access_i,
  input  logic                 data_lookup_user_i,
  output logic                 data_result_valid_o,
  output logic                 data_result_fault_o,
  output logic [1:0]           data_result_cause_o,
  output logic [FrameBits-1:0] data_result_frame_o,

  output logic                 table0_req_o,
  output logic [PageBits:0]    table0_addr_o,
  input  logic                 table0_rvalid_i,
  input  logic [31:0]          table0_rdata_i,
  output logic                 table1_req_o,
  output logic [PageBits:0]    table1_addr_o,
  input  logic                 table1_rvalid_i,
  input  logic [31:0]          table1_rdata_i,
  output logic                 table2_req_o,
  output logic [PageBits:0]    table2_addr_o,
  input  logic                 table2_rvalid_i,
  input  logic [31:0]          table2_rdata_i,
  output logic                 table3_req_o,
  output logic [PageBits:0]    table3_addr_o,
  input  logic                 table3_rvalid_i,
  input  logic [31:0]          table3_rdata_i,
  output logic                 table4_req_o,
  output logic [PageBits:0]    table4_addr_o,
  input  logic                 table4_rvalid_i,
  input  logic [31:0]          table4_rdata_i,

  input  logic                 reg_req_i,
  input  logic                 reg_write_i,
  input  logic [7:0]           reg_addr_i,
  input  logic [31:0]          reg_wdata_i,
  output logic [31:0]          reg_rdata_o,

  output logic [1:0]           event_hit_o,
  output logic [1:0]           event_miss_o
);

  // Lookups on their way, each in a slot from the cycle it is taken to the cycle of its result. Each
  // table answers the slots in their order, at its own pace.
  localparam int unsigned Depth = 4;
  localparam int unsigned IndexBits = 2;
  localparam int unsigned NumberBits = 27;

  logic                 port_q [Depth];  // 1: data
  logic [2:0]           access_q [Depth];
  logic [PageBits-1:0]  page_q [Depth];
  logic [IndexBits-1:0] head_q, tail_q, at0_q, at1_q, at2_q, at3_q, at4_q;
  logic [IndexBits:0]   count_q;

  // What has come back for a slot.
  logic [Depth-1:0]     has_top_q, has_page_q, has_data_q;
  logic [Depth-1:0]     start_ok_q, place_ok_q;  // c and h are numbers of pages, c at or below b
  logic [PageBits-1:0]  start_q [Depth];
  logic [PageBits-1:0]  place_q [Depth];
  logic [PageBits-1:0]  top_q [Depth];
  logic [Depth-1:0]     page_ok_q;
  logic [29:0]          data_q [Depth];

  logic                 take, give;

  logic is_full;
  assign is_full = count_q[IndexBits];
  assign data_lookup_ready_o = !is_full;
  assign instr_lookup_ready_o = !is_full && !data_lookup_valid_i;
  assign take = !is_full && (data_lookup_valid_i || instr_lookup_valid_i);

  logic [PageBits-1:0] page;
  assign page = data_lookup_valid_i ? data_lookup_page_i : instr_lookup_page_i;

  // The first reads.
  assign table0_req_o = take;
  assign table0_addr_o = {page, 1'b0};
  assign table1_req_o = take;
  assign table1_addr_o = {page, 1'b0};
  assign table2_req_o = take;
  assign table2_addr_o = {1'b0, page};

  // The second reads, in the cycle in which their address comes back.
  logic [PageBits-1:0] start, place;
  logic                start_ok, place_ok;
  assign start = table0_rdata_i[PageBits-1:0];
  assign start_ok = (table0_rdata_i >> PageBits) == '0 && start != '0 && start <= page_q[at0_q];
  assign place = table1_rdata_i[PageBits-1:0];
  assign place_ok = (table1_rdata_i >> PageBits) == '0;
  assign table3_req_o = table0_rvalid_i;
  assign table3_addr_o = {start, 1'b1};
  assign table4_req_o = table1_rvalid_i;
  assign table4_addr_o = {place, 1'b1};

  // The oldest lookup, with what comes back for it in this very cycle.
  logic                top_now, page_now, data_now, page_ok;
  logic [PageBits-1:0] top;
  logic [29:0]         data;
  assign top_now = table3_rvalid_i && at3_q == head_q;
  assign page_now = table4_rvalid_i && at4_q == head_q;
  assign data_now = table2_rvalid_i && at2_q == head_q;
  assign top = has_top_q[head_q] ? top_q[head_q] : table3_rdata_i[PageBits-1:0];
  assign page_ok = has_page_q[head_q] ? page_ok_q[head_q]
                                      : table4_rdata_i == 32'(page_q[head_q]);
  assign data = has_data_q[head_q] ? data_q[head_q] : table2_rdata_i[29:0];
  assign give = count_q != '0 && (has_top_q[head_q] || top_now) &&
                (has_page_q[head_q] || page_now) && (has_data_q[head_q] || data_now);

  logic       is_data, mapped, fault;
  logic [2:0] denied;
  logic [1:0] cause;
  assign is_data = port_q[head_q];
  assign mapped = start_ok_q[head_q] && place_ok_q[head_q] && page_ok &&
                  start_q[head_q] <= place_q[head_q] && place_q[head_q] <= top;
  assign denied = access_q[head_q] & ~data[29:27];
  assign fault = !mapped || denied != '0;
  assign cause = !mapped ? 2'd1 : (denied != '0 ? 2'd2 : 2'd0);

  assign data_result_valid_o = give && is_data;
  assign data_result_fault_o = fault;
  assign data_result_cause_o = cause;
  assign data_result_frame_o = data[FrameBits-1:0];
  assign instr_result_valid_o = give && !is_data;
  assign instr_result_fault_o = fault;
  assign instr_result_cause_o = cause;
  assign instr_result_frame_o = data[FrameBits-1:0];

  assign event_hit_o = {data_result_valid_o && !fault, instr_result_valid_o && !fault};
  assign event_miss_o = {data_result_valid_o && fault, instr_result_valid_o && fault};

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
      count_q <= count_q + {{IndexBits{1'b0}}, take} - {{IndexBits{1'b0}}, give};
      if (table0_rvalid_i) at0_q <= at0_q + 1'b1;
      if (table1_rvalid_i) at1_q <= at1_q + 1'b1;
      if (table2_rvalid_i) at2_q <= at2_q + 1'b1;
      if (table3_rvalid_i) at3_q <= at3_q + 1'b1;
      if (table4_rvalid_i) at4_q <= at4_q + 1'b1;
      if (table3_rvalid_i) has_top_q[at3_q] <= 1'b1;
      if (table4_rvalid_i) has_page_q[at4_q] <= 1'b1;
      if (table2_rvalid_i) has_data_q[at2_q] <= 1'b1;
      if (take) tail_q <= tail_q + 1'b1;
      if (give) begin
        head_q <= head_q + 1'b1;
        has_top_q[head_q] <= 1'b0;
        has_page_q[head_q] <= 1'b0;
        has_data_q[head_q] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      port_q[tail_q] <= data_lookup_valid_i;
      access_q[tail_q] <= data_lookup_valid_i ? data_lookup_access_i : instr_lookup_access_i;
      page_q[tail_q] <= page;
    end
    if (table0_rvalid_i) begin
      start_q[at0_q] <= start;
      start_ok_q[at0_q] <= start_ok;
    end
    if (table1_rvalid_i) begin
      place_q[at1_q] <= place;
      place_ok_q[at1_q] <= place_ok;
    end
    if (table2_rvalid_i) data_q[at2_q] <= table2_rdata_i[29:0];
    if (table3_rvalid_i) top_q[at3_q] <= table3_rdata_i[PageBits-1:0];
    if (table4_rvalid_i) page_ok_q[at4_q] <= table4_rdata_i == 32'(page_q[at4_q]);
  end

  assign reg_rdata_o = '0;
  logic unused;
  assign unused = ^{reg_req_i, reg_write_i, reg_addr_i, reg_wdata_i, table2_rdata_i[31:30],
                    table3_rdata_i[31:PageBits], data, instr_lookup_user_i, data_lookup_user_i};

  `TAU_ASSERT(NumbersFit, PageBits < NumberBits && FrameBits <= NumberBits)
  `TAU_ASSERT(NoMappingWithoutEntry, !give || fault || (start_ok_q[head_q] && page_ok))
  `TAU_ASSERT(ResultOnlyForALookup, !give || count_q != '0)
  `TAU_ASSERT(OneResultAtATime, !(data_result_valid_o && instr_result_valid_o))
endmodule
