// One lookup port of the composable unit: a small fully associative TLB, and the search of the
// hardware page table after a miss.
//
// A page of the TLB is answered one cycle after its lookup was taken. A miss is answered exactly
// Rows + 1 cycles after it was taken, found or not, whichever row holds the page and whatever the
// other port does. Rows go by one per cycle, for both ports. A search takes the next Rows of them,
// wherever they begin. Only a load of the table during the search adds to this: it begins again
// when the load is over.
//
// A search stores its result in the place whose turn it is, and clears that place when it begins.
// What was translated fills a line in front of the port (tau_composable_lines.sv).
`include "tau_assert.svh"

module tau_composable_port #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Entries = 4,
  parameter int unsigned RowBits = 4,
  parameter int unsigned Columns = 4,
  localparam int unsigned EntryBits = PageBits + FrameBits + 11
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  logic                         lookup_valid_i,
  output logic                         lookup_ready_o,
  input  logic [PageBits-1:0]          lookup_page_i,
  input  logic [2:0]                   lookup_access_i,
  output logic                         result_valid_o,
  output logic                         result_fault_o,
  output logic [1:0]                   result_cause_o,
  output logic [FrameBits-1:0]         result_frame_o,

  // The result fills a line: its page, rights and frame, which are the result's and the lookup's.
  output logic                         fill_o,
  output logic [PageBits-1:0]          fill_page_o,
  output logic [2:0]                   fill_rights_o,
  output logic                         fill_is_one_o,

  // The row of the table that goes by in this cycle, and its entries, the lowest one first.
  input  logic [RowBits-1:0]           row_i,
  input  logic [Columns*EntryBits-1:0] row_entries_i,

  // All kept translations are stale. Held while the table is loaded.
  input  logic                         forget_i,
  input  logic                         loading_i,

  output logic                         event_hit_o,
  output logic                         event_miss_o
);

  localparam int unsigned Rows = 2 ** RowBits;
  localparam int unsigned PlaceBits = Entries > 1 ? $clog2(Entries) : 1;
  // An entry without its valid bit: {page, pairs of bits outside its number}, which is
  // its tag, then {rights, frame}.
  localparam int unsigned KeptBits = EntryBits - 1;
  localparam int unsigned TagBits = PageBits + 7;
  localparam int unsigned TagAt = KeptBits - TagBits;

  // The bits of a page's number that select a place inside it.
  function automatic logic [PageBits-1:0] mask_of(input logic [6:0] pairs);
    mask_of = PageBits'({{2{pairs[6]}}, {2{pairs[5]}}, {2{pairs[4]}}, {2{pairs[3]}}, {2{pairs[2]}},
                         {2{pairs[1]}}, {2{pairs[0]}}});
  endfunction

  function automatic logic is_of(input logic [TagBits-1:0] tag, input logic [PageBits-1:0] page);
    is_of = ((tag[7+:PageBits] ^ page) & ~mask_of(tag[6:0])) == '0;
  endfunction

  // The TLB. Places are filled and replaced in turn, beginning with the first after the table was
  // loaded, so that nothing of the time before it is left. Fields that are not compared lie in a
  // memory.
  logic [Entries-1:0]   valid_q;
  logic [TagBits-1:0]   tag_q [Entries];
  (* ram_style = "distributed" *)
  logic [TagAt-1:0]     frame_q [Entries];
  logic [PlaceBits-1:0] next_q;

  // Of entries that overlap the first counts.
  logic [Entries-1:0]   match, first;
  logic [PlaceBits-1:0] first_place;
  assign first = match & (~match + 1'b1);
  for (genvar i = 0; i < Entries; i++) begin : gen_match
    assign match[i] = valid_q[i] && is_of(tag_q[i], lookup_page_i);
  end
  always_comb begin
    first_place = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (first[i]) first_place = first_place | PlaceBits'(i);
    end
  end

  // The lookup on its way.
  logic                 searching_q, answer_q, filling_q, found_q;
  logic [RowBits-1:0]   rows_q, row_found_q;
  logic [PageBits-1:0]  wanted_q;
  logic [2:0]           access_q;
  logic [PlaceBits-1:0] place_q;  // of the hit, or for the search's result

  logic take, hit, last_row;
  assign lookup_ready_o = !searching_q && !answer_q && !loading_i;
  assign take = lookup_valid_i && lookup_ready_o;
  assign hit = match != '0;
  assign last_row = searching_q && !forget_i && rows_q == RowBits'(Rows - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      searching_q <= 1'b0;
      answer_q <= 1'b0;
      filling_q <= 1'b0;
    end else begin
      if (take && !hit) searching_q <= 1'b1;
      if (last_row) searching_q <= 1'b0;
      answer_q <= (take && hit) || last_row;
      filling_q <= last_row;
    end
  end

  // Of two entries for one page the lower one counts, in whatever order the rows go by.
  logic [Columns-1:0]  row_match;
  logic [KeptBits-1:0] row_entry;
  logic                better;
  always_comb begin
    row_entry = '0;
    for (int unsigned i = 0; i < Columns; i++) begin
      row_match[i] = row_entries_i[EntryBits*i+KeptBits] &&
                     is_of(row_entries_i[EntryBits*i+TagAt+:TagBits], wanted_q);
    end
    for (int unsigned i = Columns; i > 0; i--) begin
      if (row_match[i-1]) row_entry = row_entries_i[EntryBits*(i-1)+:KeptBits];
    end
  end
  assign better = row_match != '0 && (!found_q || row_i < row_found_q);

  // No reset: the lookup on its way, which searching_q and answer_q speak for. When there is none,
  // anything may come in.
  always_ff @(posedge clk_i) begin
    if (lookup_ready_o) begin
      wanted_q <= lookup_page_i;
      access_q <= lookup_access_i;
      found_q <= hit;
      place_q <= hit ? first_place : next_q;
      rows_q <= '0;
    end else if (searching_q && forget_i) begin
      found_q <= 1'b0;
      place_q <= '0;
      rows_q <= '0;
    end else if (searching_q) begin
      rows_q <= rows_q + 1'b1;
      if (better) begin
        found_q <= 1'b1;
        row_found_q <= row_i;
      end
    end
  end

  assign fill_o = answer_q && found_q && !forget_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      next_q <= '0;
    end else if (forget_i) begin
      valid_q <= '0;
      next_q <= '0;
    end else if (take && !hit) begin
      valid_q[next_q] <= 1'b0;
    end else if (fill_o && filling_q) begin
      valid_q[place_q] <= 1'b1;
      if (Entries > 1) next_q <= next_q + 1'b1;
    end
  end
  logic finds;
  assign finds = searching_q && better;
  // No reset: translations, which valid_q and found_q speak for.
  always_ff @(posedge clk_i) begin
    if (finds) begin
      tag_q[place_q] <= row_entry[TagAt+:TagBits];
      frame_q[place_q] <= row_entry[TagAt-1:0];
    end
  end

  logic [6:0]       result_pairs;
  logic [TagAt-1:0] result;
  assign result_pairs = tag_q[place_q][6:0];
  assign result = frame_q[place_q];

  logic denied;
  assign denied = (access_q & ~result[FrameBits+:3]) != '0;
  assign result_valid_o = answer_q;
  assign result_fault_o = !found_q || denied;
  assign result_cause_o = !found_q ? 2'd1 : {denied, 1'b0};
  assign result_frame_o = result[FrameBits-1:0] | FrameBits'(wanted_q & mask_of(result_pairs));
  assign fill_page_o = wanted_q;
  assign fill_rights_o = result[FrameBits+:3];
  assign fill_is_one_o = !result_pairs[0];
  assign event_hit_o = answer_q && !filling_q;
  assign event_miss_o = filling_q;

  `TAU_ASSERT(HitIsInTheTlb, !event_hit_o || loading_i || valid_q[place_q])
  `TAU_ASSERT(FindsInItsPlace, !(searching_q || filling_q) || forget_i ||
                               (place_q == next_q && !valid_q[place_q]))
  `TAU_ASSERT(FoundIsItsPage, !(searching_q || answer_q) || !found_q ||
                              is_of(tag_q[place_q], wanted_q))
  `TAU_ASSERT(HitsAreFound, !event_hit_o || found_q)
  `TAU_ASSERT(OneAtATime, !(searching_q && answer_q) && (!filling_q || answer_q))

`ifdef FORMAL
  // What all later answers follow from, with 0 for what does not count any more. What a search
  // has found so far also follows from the rows that went by, and stands apart.
  logic                        is_busy;
  logic [Entries*KeptBits-1:0] proof_tlb;
  logic [1023:0]               proof_state;
  logic [RowBits-1:0]          proof_row_found;
  logic [KeptBits-1:0]         proof_result;
  assign is_busy = searching_q || answer_q;
  for (genvar i = 0; i < Entries; i++) begin : gen_proof
    assign proof_tlb[KeptBits*i+:KeptBits] = valid_q[i] ? {tag_q[i], frame_q[i]} : '0;
  end
  assign proof_state = {searching_q, answer_q, filling_q, valid_q, next_q,
                        is_busy ? {wanted_q, access_q, place_q} : '0, searching_q ? rows_q : '0,
                        answer_q && found_q ? {1'b1, proof_result} : '0, proof_tlb};
  assign proof_row_found = row_found_q;
  assign proof_result = {tag_q[place_q], result};
`endif
endmodule
