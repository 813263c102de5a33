// TLBs in front of the plain page table, as in ordinary processors [P4-3], for measurements of page
// coloring. Registers and times: hw/tlb/doc/tlb.md.
// - one first-level TLB per port, and an optional second level for both
// - sets x ways, two index functions, three replacement policies
// - counters of hits, misses and evictions by owner
// - a page has an owner, or is shared: the word of another's page refuses, and nothing is filled
`include "tau_assert.svh"
`include "tau_mmu_unused.svh"

module tau_tlb #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Sets = 16,
  parameter int unsigned Ways = 4,
  parameter int unsigned Levels = 1,
  parameter int unsigned Sets2 = 128,
  parameter int unsigned Ways2 = 4,
  parameter int unsigned XorIndex = 0,     // 0: page mod sets, 1: exclusive or of the page's digits
  parameter int unsigned Replacement = 0,  // 0: LRU, 1: tree PLRU, 2: random
  parameter int unsigned OwnerBits = 2
) (
`include "tau_mmu_ports.svh"
);

  localparam int unsigned DataBits = FrameBits + 3;
  // A word of the table: rights, shared, owner, frame (docs: tlb.md; facts: page_word).
  localparam int unsigned OwnerBit = 22;
  localparam int unsigned OwnerWordBits = 4;
  localparam int unsigned SharedBit = 26;
  localparam int unsigned RightsBit = 27;
  localparam int unsigned RefusedBits = 16;

  localparam logic [7:0] InvalidateWord = 8'd0;
  localparam logic [7:0] InvalidatePageWord = 8'd1;
  localparam logic [7:0] OwnerWord = 8'd2;
  localparam logic [7:0] ClearWord = 8'd3;
  localparam logic [7:0] SeedWord = 8'd4;
  localparam logic [7:0] RefusedWord = 8'd5;
  localparam logic [7:0] KindWord = 8'd6;
  localparam logic [7:0] Level1Word = 8'd7;
  localparam logic [7:0] Level2Word = 8'd8;
  localparam logic [7:0] SelectWord = 8'd9;
  localparam logic [7:0] CounterWord = 8'd10;

  // Invalid writes change nothing and are counted.
  logic write, page_fits, owner_fits, seed_fits, select_fits;
  logic invalidate, invalidate_page, owner_write, clear, seed_write, select_write, refuse;
  assign write = reg_req_i && reg_write_i;
  assign page_fits = (reg_wdata_i >> PageBits) == '0;
  assign owner_fits = (reg_wdata_i >> OwnerBits) == '0;
  assign seed_fits = reg_wdata_i != '0 && reg_wdata_i[31:16] == '0;
  assign select_fits = reg_wdata_i[31:11] == '0 && 32'(reg_wdata_i[10:9]) <= Levels &&
                       (reg_wdata_i[7:0] >> (reg_wdata_i[8] ? 2 * OwnerBits : OwnerBits + 1)) == '0;
  assign invalidate = write && reg_addr_i == InvalidateWord;
  assign invalidate_page = write && reg_addr_i == InvalidatePageWord && page_fits;
  assign owner_write = write && reg_addr_i == OwnerWord && owner_fits;
  assign clear = write && reg_addr_i == ClearWord;
  assign seed_write = write && reg_addr_i == SeedWord && seed_fits;
  assign select_write = write && reg_addr_i == SelectWord && select_fits;
  assign refuse = write && !(invalidate || invalidate_page || owner_write || clear || seed_write ||
                             select_write);

  logic [OwnerBits-1:0]   owner_q;
  logic [10:0]            select_q;  // structure, evictions, index
  logic [RefusedBits-1:0] refused_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      owner_q <= '0;
      select_q <= '0;
      refused_q <= '0;
    end else begin
      if (owner_write) owner_q <= reg_wdata_i[OwnerBits-1:0];
      if (select_write) select_q <= reg_wdata_i[10:0];
      if (refuse && refused_q != '1) refused_q <= refused_q + 1'b1;
    end
  end

  // Misses are served one at a time, a data miss first.
  logic                 busy_q, port_q, killed_q;
  logic                 data_waiting, instr_waiting, start, port, finish, kill, fill;
  logic [PageBits-1:0]  data_page, instr_page, page;
  logic [OwnerBits-1:0] data_owner, instr_owner, owner;
  logic [2:0]           data_access, instr_access, access;
  logic                 mapped, denied, shared;
  logic [DataBits-1:0]  data;
  assign start = !busy_q && (data_waiting || instr_waiting);
  assign port = busy_q ? port_q : data_waiting;
  assign page = port ? data_page : instr_page;
  assign owner = port ? data_owner : instr_owner;
  assign access = port ? data_access : instr_access;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      port_q <= 1'b0;
      killed_q <= 1'b0;
    end else begin
      if (start) busy_q <= 1'b1;
      if (finish) busy_q <= 1'b0;
      port_q <= port;
      killed_q <= (start || busy_q) && !finish && (killed_q || kill);
    end
  end

  // A word that was read before an invalidation is not filled after it.
  assign kill = invalidate || (invalidate_page && reg_wdata_i[PageBits-1:0] == page);
  // Nor is what the lookup may not use: a refused lookup leaves no trace.
  assign fill = finish && mapped && !denied && !killed_q && !kill;

  // The answer of the table.
  logic [DataBits-1:0] table_data;
  logic                foreign;
  assign table_data = {table_rdata_i[2][RightsBit+:3], table_rdata_i[2][FrameBits-1:0]};
  assign foreign = !table_rdata_i[2][SharedBit] &&
                   table_rdata_i[2][OwnerBit+:OwnerWordBits] != OwnerWordBits'(owner);

  logic [31:0] level2_accesses, level2_evictions;
  assign table_addr_o[2] = {1'b0, page};
  if (Levels == 1) begin : gen_one_level
    assign table_req_o[2] = start;
    assign finish = table_rvalid_i[2];
    assign mapped = table_rdata_i[2] != '0;
    assign denied = foreign || (access & ~table_data[DataBits-1-:3]) != '0;
    assign shared = table_rdata_i[2][SharedBit];
    assign data = table_data;
    assign level2_accesses = '0;
    assign level2_evictions = '0;
  end else begin : gen_two_levels
    // Cycle 0 reads the second level, cycle 1 compares, cycle 2 has its answer or reads the table.
    logic                        compares_q, looked_q, hit, evicts;
    logic [DataBits+OwnerBits:0] hit_data, victim_data;
    logic                        count_q, count_hit_q, evict_q;
    logic [OwnerBits-1:0]        evictor_q, victim_q, count_owner_q;

    assign table_req_o[2] = looked_q && !hit;
    assign finish = (looked_q && hit) || table_rvalid_i[2];
    assign mapped = looked_q || table_rdata_i[2] != '0;
    assign denied = looked_q ? (access & ~hit_data[DataBits-1-:3]) != '0
                             : foreign || (access & ~table_data[DataBits-1-:3]) != '0;
    assign shared = looked_q ? hit_data[DataBits+OwnerBits] : table_rdata_i[2][SharedBit];
    assign data = looked_q ? hit_data[DataBits-1:0] : table_data;

    tau_tlb_level #(
      .PageBits   (PageBits),
      .DataBits   (DataBits + OwnerBits + 1),
      .OwnerBits  (OwnerBits),
      .Sets       (Sets2),
      .Ways       (Ways2),
      .XorIndex   (XorIndex),
      .Replacement(Replacement),
      .Registered (1)
    ) u_level2 (
      .clk_i,
      .rst_ni,
      .read_i           (start),
      .page_i           (page),
      .owner_i          (owner),
      .hit_o            (hit),
      .data_o           (hit_data),
      .touch_i          (looked_q && hit),
      .fill_i           (fill && !looked_q),
      .fill_data_i      ({shared, owner, data}),
      .evicts_o         (evicts),
      .victim_data_o    (victim_data),
      .invalidate_i     (invalidate),
      .invalidate_set_i (invalidate_page),
      .invalidate_page_i(reg_wdata_i[PageBits-1:0]),
      .seed_write_i     (seed_write),
      .seed_i           (reg_wdata_i[15:0])
    );

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        compares_q <= 1'b0;
        looked_q <= 1'b0;
        count_q <= 1'b0;
        evict_q <= 1'b0;
      end else begin
        compares_q <= start;
        looked_q <= compares_q;
        count_q <= looked_q;
        evict_q <= fill && !looked_q && evicts;
      end
    end
    // Not reset: events, which count_q and evict_q qualify.
    always_ff @(posedge clk_i) begin
      count_hit_q <= hit;
      count_owner_q <= owner;
      evictor_q <= owner;
      victim_q <= victim_data[DataBits+:OwnerBits];
    end

    tau_tlb_counters #(
      .IndexBits(OwnerBits + 1)
    ) u_accesses (
      .clk_i,
      .rst_ni,
      .event_i      (count_q),
      .event_index_i({!count_hit_q, count_owner_q}),
      .clear_i      (clear),
      .read_index_i (select_q[OwnerBits:0]),
      .read_o       (level2_accesses)
    );
    tau_tlb_counters #(
      .IndexBits(2 * OwnerBits)
    ) u_evictions (
      .clk_i,
      .rst_ni,
      .event_i      (evict_q),
      .event_index_i({evictor_q, victim_q}),
      .clear_i      (clear),
      .read_index_i (select_q[2*OwnerBits-1:0]),
      .read_o       (level2_evictions)
    );
    logic unused_owner;
    assign unused_owner = ^{hit_data, victim_data};
  end

  logic [31:0] instr_accesses, instr_evictions, data_accesses, data_evictions;
  tau_tlb_port #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .Sets       (Sets),
    .Ways       (Ways),
    .XorIndex   (XorIndex),
    .Replacement(Replacement),
    .OwnerBits  (OwnerBits)
  ) u_instr (
    .clk_i,
    .rst_ni,
    .lookup_valid_i   (instr_lookup_valid_i),
    .lookup_ready_o   (instr_lookup_ready_o),
    .lookup_page_i    (instr_lookup_page_i),
    .lookup_access_i  (instr_lookup_access_i),
    .result_valid_o   (instr_result_valid_o),
    .result_fault_o   (instr_result_fault_o),
    .result_cause_o   (instr_result_cause_o),
    .result_frame_o   (instr_result_frame_o),
    .owner_i          (owner_q),
    .waiting_o        (instr_waiting),
    .page_o           (instr_page),
    .access_o         (instr_access),
    .owner_o          (instr_owner),
    .finish_i         (finish && !port),
    .finish_mapped_i  (mapped),
    .finish_denied_i  (denied),
    .finish_shared_i  (shared),
    .finish_data_i    (data),
    .fill_i           (fill && !port),
    .invalidate_i     (invalidate),
    .invalidate_set_i (invalidate_page),
    .invalidate_page_i(reg_wdata_i[PageBits-1:0]),
    .seed_write_i     (seed_write),
    .seed_i           (reg_wdata_i[15:0]),
    .clear_i          (clear),
    .read_index_i     (select_q[7:0]),
    .accesses_o       (instr_accesses),
    .evictions_o      (instr_evictions),
    .event_hit_o      (event_hit_o[0]),
    .event_miss_o     (event_miss_o[0])
  );
  tau_tlb_port #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .Sets       (Sets),
    .Ways       (Ways),
    .XorIndex   (XorIndex),
    .Replacement(Replacement),
    .OwnerBits  (OwnerBits)
  ) u_data (
    .clk_i,
    .rst_ni,
    .lookup_valid_i   (data_lookup_valid_i),
    .lookup_ready_o   (data_lookup_ready_o),
    .lookup_page_i    (data_lookup_page_i),
    .lookup_access_i  (data_lookup_access_i),
    .result_valid_o   (data_result_valid_o),
    .result_fault_o   (data_result_fault_o),
    .result_cause_o   (data_result_cause_o),
    .result_frame_o   (data_result_frame_o),
    .owner_i          (owner_q),
    .waiting_o        (data_waiting),
    .page_o           (data_page),
    .access_o         (data_access),
    .owner_o          (data_owner),
    .finish_i         (finish && port),
    .finish_mapped_i  (mapped),
    .finish_denied_i  (denied),
    .finish_shared_i  (shared),
    .finish_data_i    (data),
    .fill_i           (fill && port),
    .invalidate_i     (invalidate),
    .invalidate_set_i (invalidate_page),
    .invalidate_page_i(reg_wdata_i[PageBits-1:0]),
    .seed_write_i     (seed_write),
    .seed_i           (reg_wdata_i[15:0]),
    .clear_i          (clear),
    .read_index_i     (select_q[7:0]),
    .accesses_o       (data_accesses),
    .evictions_o      (data_evictions),
    .event_hit_o      (event_hit_o[1]),
    .event_miss_o     (event_miss_o[1])
  );

  logic [31:0] counter;
  always_comb begin
    unique case (select_q[10:9])
      2'd0: counter = select_q[8] ? instr_evictions : instr_accesses;
      2'd1: counter = select_q[8] ? data_evictions : data_accesses;
      default: counter = select_q[8] ? level2_evictions : level2_accesses;
    endcase
  end
  // Not reset: an answer, which is used only after a read.
  logic [31:0] reg_rdata_q;
  assign reg_rdata_o = reg_rdata_q;
  always_ff @(posedge clk_i) begin
    if (reg_req_i && !reg_write_i) begin
      unique case (reg_addr_i)
        OwnerWord: reg_rdata_q <= {{(32 - OwnerBits) {1'b0}}, owner_q};
        RefusedWord: reg_rdata_q <= {{(32 - RefusedBits) {1'b0}}, refused_q};
        KindWord: reg_rdata_q <= Levels * 4096 + Replacement * 256 + XorIndex * 16 + OwnerBits;
        Level1Word: reg_rdata_q <= Sets * 256 + Ways;
        Level2Word: reg_rdata_q <= Levels == 1 ? 0 : Sets2 * 256 + Ways2;
        SelectWord: reg_rdata_q <= {21'b0, select_q};
        CounterWord: reg_rdata_q <= counter;
        default: reg_rdata_q <= '0;
      endcase
    end
  end

  // This unit does not read the tables of the validity array.
  `TAU_MMU_TABLE_UNUSED(0)
  `TAU_MMU_TABLE_UNUSED(1)
  `TAU_MMU_TABLE_UNUSED(3)
  `TAU_MMU_TABLE_UNUSED(4)
  `TAU_MMU_LAST_UNUSED
  logic unused;
  assign unused = ^{table_rdata_i[2], instr_lookup_user_i, data_lookup_user_i};

  `TAU_ASSERT(ShapeIsKnown, (Levels == 1 || Levels == 2) && Replacement <= 2 && XorIndex <= 1 &&
                            OwnerBits >= 1 && OwnerBits <= OwnerWordBits && FrameBits <= OwnerBit)
  `TAU_ASSERT(AnswersWhatWasAsked, !finish || busy_q)
endmodule
