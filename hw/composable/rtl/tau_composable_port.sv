// One lookup port of the composable unit: a small fully associative TLB, and the search of the
// hardware page table after a miss.
//
// A hit is answered one cycle after it was taken. A miss is answered exactly Rows + 1 cycles after
// it was taken, found or not, whichever row holds the page and whatever the other port does: rows
// go by one a cycle, for both ports, and a search takes the next Rows of them, wherever they begin.
// Only a write of the table during the search adds to this: the search begins again, so that its
// answer is true of the table as it is when the answer leaves.
`include "tau_assert.svh"

module tau_composable_port #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Entries = 4,
  parameter int unsigned RowBits = 5
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 lookup_valid_i,
  output logic                 lookup_ready_o,
  input  logic [PageBits-1:0]  lookup_page_i,
  input  logic [2:0]           lookup_access_i,
  output logic                 result_valid_o,
  output logic                 result_fault_o,
  output logic [1:0]           result_cause_o,
  output logic [FrameBits-1:0] result_frame_o,

  // The row of the table that goes by in this cycle: entries 2 row and 2 row + 1.
  input  logic [RowBits-1:0]   row_i,
  input  logic                 even_valid_i,
  input  logic [PageBits-1:0]  even_page_i,
  input  logic [FrameBits+2:0] even_data_i,
  input  logic                 odd_valid_i,
  input  logic [PageBits-1:0]  odd_page_i,
  input  logic [FrameBits+2:0] odd_data_i,

  input  logic                 table_written_i,
  input  logic                 invalidate_i,

  output logic                 event_hit_o,
  output logic                 event_miss_o
);

  localparam int unsigned Rows = 2 ** RowBits;
  localparam int unsigned DataBits = FrameBits + 3;
  localparam int unsigned NextBits = Entries > 1 ? $clog2(Entries) : 1;

  // The TLB. Entries are filled and replaced in turn, beginning with the first after an
  // invalidation, so that nothing of the time before it is left.
  logic [Entries-1:0]  valid_q;
  logic [PageBits-1:0] page_q [Entries];
  logic [DataBits-1:0] data_q [Entries];
  logic [NextBits-1:0] next_q;

  logic [Entries-1:0]  match;
  logic [DataBits-1:0] match_data;
  always_comb begin
    match_data = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      match[i] = valid_q[i] && page_q[i] == lookup_page_i;
      if (match[i]) match_data = match_data | data_q[i];
    end
  end

  // The lookup on its way.
  logic                searching_q, answer_q, filling_q, found_q;
  logic [RowBits-1:0]  rows_q;
  logic [RowBits:0]    place_q;
  logic [PageBits-1:0] wanted_q;
  logic [2:0]          access_q;
  logic [DataBits-1:0] result_q;

  logic take, hit, last;
  assign lookup_ready_o = !searching_q && !filling_q;
  assign take = lookup_valid_i && lookup_ready_o;
  assign hit = match != '0;
  assign last = searching_q && !table_written_i && rows_q == RowBits'(Rows - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      searching_q <= 1'b0;
      answer_q <= 1'b0;
      filling_q <= 1'b0;
    end else begin
      if (take && !hit) searching_q <= 1'b1;
      if (last) searching_q <= 1'b0;
      answer_q <= (take && hit) || last;
      filling_q <= last;
    end
  end

  // Of two entries for one page the lower one counts, in whatever order the rows go by.
  logic             even_match, odd_match, better;
  logic [RowBits:0] place;
  assign even_match = even_valid_i && even_page_i == wanted_q;
  assign odd_match = odd_valid_i && odd_page_i == wanted_q;
  assign place = {row_i, !even_match};
  assign better = (even_match || odd_match) && (!found_q || place < place_q);

  // No reset: the lookup on its way, which searching_q and answer_q speak for.
  always_ff @(posedge clk_i) begin
    if (take) begin
      wanted_q <= lookup_page_i;
      access_q <= lookup_access_i;
      found_q <= hit;
      result_q <= match_data;
      rows_q <= '0;
    end else if (searching_q && table_written_i) begin
      found_q <= 1'b0;
      rows_q <= '0;
    end else if (searching_q) begin
      rows_q <= rows_q + 1'b1;
      if (better) begin
        found_q <= 1'b1;
        place_q <= place;
        result_q <= even_match ? even_data_i : odd_data_i;
      end
    end
  end

  logic fill;
  assign fill = filling_q && found_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      next_q <= '0;
    end else if (invalidate_i) begin
      valid_q <= '0;
      next_q <= '0;
    end else if (fill) begin
      valid_q[next_q] <= 1'b1;
      if (Entries > 1) next_q <= next_q + 1'b1;
    end
  end
  // No reset: entries, which valid_q speaks for.
  always_ff @(posedge clk_i) begin
    if (fill) begin
      page_q[next_q] <= wanted_q;
      data_q[next_q] <= result_q;
    end
  end

  logic denied;
  assign denied = (access_q & ~result_q[DataBits-1-:3]) != '0;
  assign result_valid_o = answer_q;
  assign result_fault_o = !found_q || denied;
  assign result_cause_o = !found_q ? tau_status_pkg::CauseUnmapped
                          : denied ? tau_status_pkg::CauseRights : tau_status_pkg::CauseNone;
  assign result_frame_o = result_q[FrameBits-1:0];
  assign event_hit_o = answer_q && !filling_q;
  assign event_miss_o = filling_q;

  `TAU_ASSERT(OneEntryAPage, (match & (match - 1'b1)) == '0)
  `TAU_ASSERT(HitsAreFound, !event_hit_o || found_q)
  `TAU_ASSERT(OneAtATime, !(searching_q && answer_q) && (!filling_q || answer_q))
endmodule
