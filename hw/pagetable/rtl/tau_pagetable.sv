// The conventional unit: one table with one word per page, one memory port [P0-34].
//
// A lookup reads the word of its page. A word of 0 means that the page is not mapped. Both lookup
// ports share the memory, and a data lookup goes first. A result leaves in the cycle in which the
// memory answers, so a lookup takes exactly the memory's latency. The unit takes one lookup per
// cycle.
`include "tau_assert.svh"
`include "tau_mmu_unused.svh"

module tau_pagetable #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned SlotBits = 2  // 2^SlotBits lookups in flight; more than the latency
) (
`include "tau_mmu_ports.svh"
);

  // Lookups in flight, the oldest at `head`.
  localparam int unsigned Slots = 2 ** SlotBits;

  logic                 port_q [Slots];  // 1: data
  logic [2:0]           access_q [Slots];
  logic [SlotBits-1:0] head_q, tail_q;
  logic [SlotBits:0]   count_q;
  logic                 take;

  logic is_full;
  assign is_full = count_q[SlotBits];
  assign data_lookup_ready_o = !is_full;
  assign instr_lookup_ready_o = !is_full && !data_lookup_valid_i;
  assign take = !is_full && (data_lookup_valid_i || instr_lookup_valid_i);

  assign table_req_o[2] = take;
  assign table_addr_o[2] = {1'b0, data_lookup_valid_i ? data_lookup_page_i : instr_lookup_page_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
      count_q <= '0;
    end else begin
      if (take) tail_q <= tail_q + 1'b1;
      if (table_rvalid_i[2]) head_q <= head_q + 1'b1;
      count_q <= count_q + {{SlotBits{1'b0}}, take} - {{SlotBits{1'b0}}, table_rvalid_i[2]};
    end
  end

  // Not reset: slots, which count_q qualifies.
  always_ff @(posedge clk_i) begin
    if (take) begin
      port_q[tail_q] <= data_lookup_valid_i;
      access_q[tail_q] <= data_lookup_valid_i ? data_lookup_access_i : instr_lookup_access_i;
    end
  end

  logic [2:0] denied;
  logic       is_data, absent, fault;
  logic [1:0] cause;
  assign is_data = port_q[head_q];
  assign absent = table_rdata_i[2] == '0;
  assign denied = access_q[head_q] & ~table_rdata_i[2][29:27];
  assign fault = absent || denied != '0;
  assign cause = absent ? tau_status_pkg::CauseUnmapped
                 : (denied != '0 ? tau_status_pkg::CauseRights : tau_status_pkg::CauseNone);

  assign data_result_valid_o = table_rvalid_i[2] && is_data;
  assign data_result_fault_o = fault;
  assign data_result_cause_o = cause;
  assign data_result_frame_o = table_rdata_i[2][FrameBits-1:0];
  assign instr_result_valid_o = table_rvalid_i[2] && !is_data;
  assign instr_result_fault_o = fault;
  assign instr_result_cause_o = cause;
  assign instr_result_frame_o = table_rdata_i[2][FrameBits-1:0];

  assign event_hit_o = {data_result_valid_o && !fault, instr_result_valid_o && !fault};
  assign event_miss_o = {data_result_valid_o && fault, instr_result_valid_o && fault};

  // This unit uses no other memory and has no registers.
  `TAU_MMU_TABLE_UNUSED(0)
  `TAU_MMU_TABLE_UNUSED(1)
  `TAU_MMU_TABLE_UNUSED(3)
  `TAU_MMU_TABLE_UNUSED(4)
  `TAU_MMU_LAST_UNUSED
  assign reg_rdata_o = '0;
  logic unused;
  assign unused = ^{reg_req_i, reg_write_i, reg_addr_i, reg_wdata_i, table_rdata_i[2][31:30],
                    instr_lookup_user_i, data_lookup_user_i};

  `TAU_ASSERT(Table2WasAsked, !table_rvalid_i[2] || count_q != '0)
  `TAU_ASSERT(OneResultAtATime, !(data_result_valid_o && instr_result_valid_o))
endmodule
