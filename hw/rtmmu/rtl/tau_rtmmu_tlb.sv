// The real-time MMU behind a small TLB. Each TLB entry carries the start of its region. One store
// at unmap invalidates all entries of a region in one cycle, whatever the region's size.
//
// - A hit is answered in the next cycle, so never later than a page table would answer. Each port
//   can hit in every cycle.
// - A miss goes to the validity array. It takes as long as without a TLB.
// - Results leave in order. A hit waits for the earlier misses of its port.
//
// Register 0, write: forget the region that starts at this page. Register 1, write: forget all.
// Register 0, read: the number of entries. Lookups taken after the cycle of the write do not use
// the forgotten entries. A lookup already on its way to the tables is answered but not cached.
// Faults are never cached, so mapping a page needs no write.
`include "tau_assert.svh"
`include "tau_mmu_unused.svh"

module tau_rtmmu_tlb #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  // Cycles in which the memories of tables 0 and 3, 1 and 4, 2 answer, always. 0: any number.
  parameter int unsigned Latency0 = 0,
  parameter int unsigned Latency1 = 0,
  parameter int unsigned Latency2 = 0,
  parameter int unsigned SlotBits = 2,
  parameter int unsigned Entries = 4
) (
`include "tau_mmu_ports.svh"
);

  `TAU_MMU_LAST_UNUSED

  localparam logic [7:0] ForgetRegionWord = 8'd0;
  localparam logic [7:0] ForgetAllWord = 8'd1;

  localparam int unsigned EntryBits = Entries > 1 ? $clog2(Entries) : 1;

  // The entries. Replacement is round-robin.
  logic [Entries-1:0]   valid_q;
  logic [PageBits-1:0]  page_q [Entries];
  logic [PageBits-1:0]  start_q [Entries];
  logic [2:0]           rights_q [Entries];
  logic [FrameBits-1:0] frame_q [Entries];
  logic [EntryBits-1:0] next_q;

  logic [Entries-1:0]   instr_match, data_match, result_match;
  logic [2:0]           instr_rights, data_rights;
  logic [FrameBits-1:0] instr_frame, data_frame;
  logic                 instr_hit, data_hit;
  logic [PageBits-1:0]  result_page, result_start;

  always_comb begin
    instr_rights = '0;
    data_rights = '0;
    instr_frame = '0;
    data_frame = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      instr_match[i] = valid_q[i] && page_q[i] == instr_lookup_page_i;
      data_match[i] = valid_q[i] && page_q[i] == data_lookup_page_i;
      result_match[i] = valid_q[i] && page_q[i] == result_page;
      if (instr_match[i]) begin
        instr_rights = instr_rights | rights_q[i];
        instr_frame = instr_frame | frame_q[i];
      end
      if (data_match[i]) begin
        data_rights = data_rights | rights_q[i];
        data_frame = data_frame | frame_q[i];
      end
    end
  end
  assign instr_hit = instr_match != '0;
  assign data_hit = data_match != '0;

  // A port's hit is held until it leaves: in the next cycle, or after the earlier misses.
  logic                 instr_held_q, data_held_q;
  logic                 instr_held_denied_q, data_held_denied_q;
  logic [FrameBits-1:0] instr_held_frame_q, data_held_frame_q;
  logic [SlotBits:0]    instr_misses_q, data_misses_q;
  logic                 instr_leave, data_leave, instr_free, data_free;
  assign instr_leave = instr_held_q && instr_misses_q == '0;
  assign data_leave = data_held_q && data_misses_q == '0;
  assign instr_free = !instr_held_q || instr_leave;
  assign data_free = !data_held_q || data_leave;

  logic ready, instr_asks, data_asks, instr_miss, data_miss;
  assign instr_asks = instr_lookup_valid_i && instr_free && !instr_hit;
  assign data_asks = data_lookup_valid_i && data_free && !data_hit;
  assign data_lookup_ready_o = data_free && (data_hit || ready);
  assign instr_lookup_ready_o = instr_free && (instr_hit || (ready && !data_asks));
  assign data_miss = data_asks && ready;
  assign instr_miss = instr_asks && ready && !data_asks;

  logic        result_valid, result_mapped, result_is_data;
  logic [2:0]  result_access;
  logic [29:0] result_data;
  tau_rtmmu_lookup #(
    .PageBits(PageBits),
    .SlotBits(SlotBits),
    .TagBits (4),
    .Latency0(Latency0),
    .Latency1(Latency1),
    .Latency2(Latency2)
  ) u_lookup (
    .clk_i,
    .rst_ni,
    .lookup_valid_i (data_asks || instr_asks),
    .lookup_ready_o (ready),
    .lookup_page_i  (data_asks ? data_lookup_page_i : instr_lookup_page_i),
    .lookup_tag_i   ({data_asks, data_asks ? data_lookup_access_i : instr_lookup_access_i}),
    .result_valid_o (result_valid),
    .result_mapped_o(result_mapped),
    .result_tag_o   ({result_is_data, result_access}),
    .result_page_o  (result_page),
    .result_start_o (result_start),
    .result_data_o  (result_data),
    .table_req_o,
    .table_addr_o,
    .table_rvalid_i,
    .table_rdata_i
  );

  logic instr_result, data_result;
  assign instr_result = result_valid && !result_is_data;
  assign data_result = result_valid && result_is_data;

  // Forgetting. `old_q` is the number of lookups on their way to the tables that were taken before
  // the last write. These are the oldest ones. They may have read the tables before the store that
  // precedes the write.
  logic              forget, forget_region, forget_all, keep;
  logic [SlotBits:0] old_q, misses_left;
  assign forget = reg_req_i && reg_write_i;
  assign forget_region = forget && reg_addr_i == ForgetRegionWord;
  assign forget_all = forget && reg_addr_i == ForgetAllWord;
  assign misses_left = instr_misses_q + data_misses_q - {{SlotBits{1'b0}}, result_valid};
  assign keep = result_valid && result_mapped && result_match == '0 && old_q == '0 &&
                !forget_region && !forget_all;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      next_q <= '0;
      old_q <= '0;
      instr_held_q <= 1'b0;
      data_held_q <= 1'b0;
      instr_misses_q <= '0;
      data_misses_q <= '0;
    end else begin
      if (keep) begin
        valid_q[next_q] <= 1'b1;
        next_q <= next_q == EntryBits'(Entries - 1) ? '0 : next_q + 1'b1;
      end
      for (int unsigned i = 0; i < Entries; i++) begin
        if (forget_all || (forget_region && reg_wdata_i == 32'(start_q[i]))) valid_q[i] <= 1'b0;
      end
      if (forget_region || forget_all) old_q <= misses_left;
      else if (result_valid && old_q != '0) old_q <= old_q - 1'b1;
      if (instr_free) instr_held_q <= instr_lookup_valid_i && instr_hit;
      if (data_free) data_held_q <= data_lookup_valid_i && data_hit;
      instr_misses_q <= instr_misses_q + {{SlotBits{1'b0}}, instr_miss} -
                        {{SlotBits{1'b0}}, instr_result};
      data_misses_q <= data_misses_q + {{SlotBits{1'b0}}, data_miss} -
                       {{SlotBits{1'b0}}, data_result};
    end
  end

  // Not reset: entries and held hits, which valid_q and *_held_q qualify.
  always_ff @(posedge clk_i) begin
    if (keep) begin
      page_q[next_q] <= result_page;
      start_q[next_q] <= result_start;
      rights_q[next_q] <= result_data[29:27];
      frame_q[next_q] <= result_data[FrameBits-1:0];
    end
    if (instr_free) begin
      instr_held_denied_q <= (instr_lookup_access_i & ~instr_rights) != '0;
      instr_held_frame_q <= instr_frame;
    end
    if (data_free) begin
      data_held_denied_q <= (data_lookup_access_i & ~data_rights) != '0;
      data_held_frame_q <= data_frame;
    end
  end

  // Every read returns the number of entries.
  assign reg_rdata_o = Entries;

  logic       denied, fault;
  logic [1:0] cause, data_held_cause, instr_held_cause;
  assign denied = (result_access & ~result_data[29:27]) != '0;
  assign fault = !result_mapped || denied;
  assign cause = !result_mapped ? tau_status_pkg::CauseUnmapped
                 : denied ? tau_status_pkg::CauseRights : tau_status_pkg::CauseNone;
  assign data_held_cause = data_held_denied_q ? tau_status_pkg::CauseRights
                           : tau_status_pkg::CauseNone;
  assign instr_held_cause = instr_held_denied_q ? tau_status_pkg::CauseRights
                            : tau_status_pkg::CauseNone;

  assign data_result_valid_o = data_leave || data_result;
  assign data_result_fault_o = data_leave ? data_held_denied_q : fault;
  assign data_result_cause_o = data_leave ? data_held_cause : cause;
  assign data_result_frame_o = data_leave ? data_held_frame_q : result_data[FrameBits-1:0];
  assign instr_result_valid_o = instr_leave || instr_result;
  assign instr_result_fault_o = instr_leave ? instr_held_denied_q : fault;
  assign instr_result_cause_o = instr_leave ? instr_held_cause : cause;
  assign instr_result_frame_o = instr_leave ? instr_held_frame_q : result_data[FrameBits-1:0];

  // A hit is an answer from the TLB, a miss an answer from the tables.
  assign event_hit_o = {data_leave, instr_leave};
  assign event_miss_o = {data_result, instr_result};

  logic unused;
  assign unused = ^{result_data, instr_lookup_user_i, data_lookup_user_i};

  `TAU_ASSERT(FramesFit, FrameBits <= 27)
  `TAU_ASSERT(OneEntryAPage, (data_match & (data_match - 1'b1)) == '0 &&
                             (instr_match & (instr_match - 1'b1)) == '0)
  `TAU_ASSERT(InOrder, !(data_leave && data_result) && !(instr_leave && instr_result))
  `TAU_ASSERT(OldAreOnTheirWay, old_q <= instr_misses_q + data_misses_q)
endmodule
