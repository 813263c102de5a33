// One level of a TLB with Sets x Ways entries. It selects the set, and the entry to replace.
//
// Whether page_i is present is known in the same cycle (Registered = 0, distributed RAM) or in the
// second cycle after read_i (Registered = 1, block RAM, then registers after the comparison).
// page_i must hold until then. The answer, and the entry that a fill would replace, hold until the
// next answer. An empty way is filled first, the lowest one. The replacement state therefore needs
// no reset value: when all ways of a set are full, each has been used since.
//
// The upper bits of an entry's data are {shared, owner}. Only owner_i's own and shared entries are
// present for it.
`include "tau_assert.svh"

module tau_tlb_level #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned DataBits = 24,
  parameter int unsigned OwnerBits = 2,
  parameter int unsigned Sets = 16,        // a power of two
  parameter int unsigned Ways = 4,         // a power of two
  parameter int unsigned XorIndex = 0,     // 0: page mod Sets; 1: exclusive or of the page's digits
  parameter int unsigned Replacement = 0,  // 0: LRU; 1: tree PLRU; 2: random
  parameter int unsigned Registered = 0
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 read_i,
  input  logic [PageBits-1:0]  page_i,
  input  logic [OwnerBits-1:0] owner_i,
  output logic                 hit_o,
  output logic [DataBits-1:0]  data_o,

  input  logic                 touch_i,  // the entry of page_i is being used
  input  logic                 fill_i,   // page_i, which is not present, is inserted
  input  logic [DataBits-1:0]  fill_data_i,
  output logic                 evicts_o,  // a fill now would replace an entry
  output logic [DataBits-1:0]  victim_data_o,

  input  logic                 invalidate_i,      // all sets
  input  logic                 invalidate_set_i,  // the set of that page
  input  logic [PageBits-1:0]  invalidate_page_i,
  input  logic                 seed_write_i,
  input  logic [15:0]          seed_i
);

  localparam int unsigned SetBits = $clog2(Sets);
  localparam int unsigned IndexBits = Sets > 1 ? SetBits : 1;
  localparam int unsigned TagBits = PageBits - SetBits;
  localparam int unsigned WordBits = TagBits + DataBits;
  localparam int unsigned WayLog = $clog2(Ways);
  localparam int unsigned WayBits = Ways > 1 ? WayLog : 1;

  // Under both functions, page and (index, page div Sets) determine each other. The tag is page div
  // Sets.
  function automatic logic [IndexBits-1:0] index_of(input logic [PageBits-1:0] page);
    index_of = '0;
    if (Sets > 1) begin
      for (int unsigned i = 0; i < PageBits; i++) begin
        if (XorIndex != 0 || i < IndexBits) begin
          index_of[i % IndexBits] = index_of[i % IndexBits] ^ page[i];
        end
      end
    end
  endfunction

  logic [IndexBits-1:0] index, invalidate_index;
  logic [TagBits-1:0]   tag;
  assign index = index_of(page_i);
  assign invalidate_index = index_of(invalidate_page_i);
  assign tag = page_i[PageBits-1:SetBits];

  logic [Ways-1:0]     valid, same, match;  // of the words read; match: same and valid
  logic [Ways-1:0]     found, taken;  // of the answer: the page's way, the filled ways
  logic [WayBits-1:0]  victim;
  logic [DataBits-1:0] data [Ways];

  // The set that is compared. From a register, choosing one of many valid bits is a short path.
  logic                 compares;
  logic [IndexBits-1:0] looked_index;
  if (Registered != 0) begin : gen_compare_later
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) compares <= 1'b0;
      else compares <= read_i;
    end
    // Not reset: an index, which compares qualifies.
    always_ff @(posedge clk_i) looked_index <= index;
  end else begin : gen_compare_now
    assign compares = 1'b1;
    assign looked_index = index;
  end

  for (genvar w = 0; w < Ways; w++) begin : gen_way
    logic [WordBits-1:0] mem [Sets];
    logic [WordBits-1:0] word;
    logic [Sets-1:0]     valid_q;
    logic                fill;

    assign same[w] = (word[DataBits-1] || word[DataBits-2-:OwnerBits] == owner_i) &&
                     word[WordBits-1:DataBits] == tag;

    assign fill = fill_i && victim == w;
    // Not reset: a memory, which valid_q qualifies.
    always_ff @(posedge clk_i) begin
      if (fill) mem[index] <= {tag, fill_data_i};
    end
    if (Registered != 0) begin : gen_block
      logic                same_q, taken_q;
      logic [DataBits-1:0] data_q;
      // Not reset: words read, which taken_q qualifies. They are read once before their use.
      always_ff @(posedge clk_i) begin
        if (read_i) word <= mem[index];
        if (compares) begin
          same_q <= same[w];
          taken_q <= valid[w];
          data_q <= word[DataBits-1:0];
        end
      end
      assign found[w] = same_q && taken_q;
      assign taken[w] = taken_q;
      assign data[w] = data_q;
    end else begin : gen_distributed
      assign word = mem[index];
      assign found[w] = match[w];
      assign taken[w] = valid[w];
      assign data[w] = word[DataBits-1:0];
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        valid_q <= '0;
      end else if (invalidate_i) begin
        valid_q <= '0;
      end else begin
        if (invalidate_set_i) valid_q[invalidate_index] <= 1'b0;
        if (fill) valid_q[index] <= 1'b1;
      end
    end

    assign valid[w] = valid_q[looked_index];
    assign match[w] = valid[w] && same[w];
  end

  always_comb begin
    data_o = '0;
    for (int unsigned i = 0; i < Ways; i++) begin
      if (found[i]) data_o = data_o | data[i];
    end
  end
  assign hit_o = found != '0;

  // The way to replace if none is empty, and the update when a way is used.
  // `used` has one bit per way. A number would have to be encoded and decoded in the cycle of a
  // hit, which is the longest path of the unit. A page that is filled is not there, so without a
  // hit it is the victim. Where the answer comes from registers, that is known long before fill_i.
  logic               full, use_way;
  logic [Ways-1:0]    used;
  logic [WayBits-1:0] chosen;
  assign full = &taken;
  assign use_way = touch_i || fill_i;
  for (genvar w = 0; w < Ways; w++) begin : gen_used
    assign used[w] = (Registered != 0 ? !hit_o : fill_i) ? victim == w : found[w];
  end

  if (Ways == 1) begin : gen_direct
    assign chosen = '0;
  end else if (Replacement == 2) begin : gen_random
    // Four steps of a 16-bit LFSR (x^16 + x^14 + x^13 + x^11 + 1) for each number drawn.
    logic [15:0] lfsr_q, lfsr_next;
    always_comb begin
      lfsr_next = lfsr_q;
      for (int unsigned i = 0; i < 4; i++) begin
        lfsr_next = (lfsr_next >> 1) ^ (lfsr_next[0] ? 16'hB400 : 16'h0000);
      end
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) lfsr_q <= 16'hACE1;
      else if (seed_write_i) lfsr_q <= seed_i;
      else if (fill_i && full) lfsr_q <= lfsr_next;
    end
    assign chosen = lfsr_q[WayBits-1:0];
  end else if (Replacement == 1) begin : gen_tree
    // Node n of level l, at 2^l - 1 + n, selects the half of its ways with the older use.
    logic [Ways-2:0]  tree_mem [Sets];
    logic [Ways-2:0]  tree, tree_next;
    logic [WayBits:0] node;
    if (Registered != 0) begin : gen_tree_later
      // Not reset: words read from a memory.
      always_ff @(posedge clk_i) begin
        if (compares) tree <= tree_mem[looked_index];
      end
    end else begin : gen_tree_now
      assign tree = tree_mem[index];
    end
    always_comb begin
      tree_next = tree;
      for (int unsigned l = 0; l < WayLog; l++) begin
        for (int unsigned w = 0; w < Ways; w++) begin
          if (used[w]) tree_next[2**l-1+(w>>(WayLog-l))] = ((w >> (WayLog - 1 - l)) & 1) == 0;
        end
      end
    end
    always_comb begin
      node = '0;
      for (int unsigned l = 0; l < WayLog; l++) begin
        node = {node[WayBits-1:0], tree[2**l-1+node]};
      end
    end
    assign chosen = node[WayBits-1:0];
    // Not reset: a memory. It is used only when each way was used.
    always_ff @(posedge clk_i) begin
      if (use_way) tree_mem[index] <= tree_next;
    end
  end else begin : gen_recency
    // One bit for each pair i < j of ways: i was used after j.
    localparam int unsigned Pairs = Ways * (Ways - 1) / 2;
    logic [Pairs-1:0] later_mem [Sets];
    logic [Pairs-1:0] later, later_next;
    logic [Ways-1:0]  oldest;
    if (Registered != 0) begin : gen_recency_later
      // Not reset: words read from a memory.
      always_ff @(posedge clk_i) begin
        if (compares) later <= later_mem[looked_index];
      end
    end else begin : gen_recency_now
      assign later = later_mem[index];
    end
    // The update depends on the victim, so it is separate from the choice of the victim.
    always_comb begin
      later_next = later;
      for (int unsigned i = 0; i < Ways; i++) begin
        for (int unsigned j = i + 1; j < Ways; j++) begin
          if (used[i]) later_next[i*(2*Ways-i-1)/2+j-i-1] = 1'b1;
          if (used[j]) later_next[i*(2*Ways-i-1)/2+j-i-1] = 1'b0;
        end
      end
    end
    always_comb begin
      oldest = '1;
      for (int unsigned i = 0; i < Ways; i++) begin
        for (int unsigned j = i + 1; j < Ways; j++) begin
          if (later[i*(2*Ways-i-1)/2+j-i-1]) oldest[i] = 1'b0;
          else oldest[j] = 1'b0;
        end
      end
      chosen = '0;
      for (int unsigned i = 0; i < Ways; i++) begin
        if (oldest[i]) chosen = chosen | WayBits'(i);
      end
    end
    // Not reset: a memory. It is used only when each way was used.
    always_ff @(posedge clk_i) begin
      if (use_way) later_mem[index] <= later_next;
    end
    `TAU_ASSERT(OneIsOldest, !(fill_i && full) || oldest != '0)
  end

  always_comb begin
    victim = chosen;
    for (int unsigned i = Ways; i > 0; i--) begin
      if (!taken[i-1]) victim = WayBits'(i - 1);
    end
  end
  assign evicts_o = full;
  assign victim_data_o = data[victim];

  `TAU_ASSERT(OneEntryAPage, !compares || (match & (match - 1'b1)) == '0)
  `TAU_ASSERT(FillsWhatIsNotThere, !fill_i || !hit_o)
  `TAU_ASSERT(ShapeIsPossible, Sets == 2 ** SetBits && Ways == 2 ** WayLog && SetBits < PageBits)
  logic unused;
  assign unused = ^{read_i, compares, seed_write_i, seed_i, use_way, used};
endmodule
