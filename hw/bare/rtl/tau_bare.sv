// The unit of a tile without an MMU, and the smallest unit that the socket accepts. Page b is frame
// b, and every access is allowed. Page 0 and pages without a frame are not mapped. Both ports take
// a lookup in each cycle, and the result comes in the next one. The unit reads no table and has no
// registers.
`include "tau_assert.svh"
`include "tau_mmu_unused.svh"

module tau_bare #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18
) (
`include "tau_mmu_ports.svh"
);

  `TAU_MMU_TABLE_UNUSED(0)
  `TAU_MMU_TABLE_UNUSED(1)
  `TAU_MMU_TABLE_UNUSED(2)
  `TAU_MMU_TABLE_UNUSED(3)
  `TAU_MMU_TABLE_UNUSED(4)
  `TAU_MMU_LAST_UNUSED
  assign reg_rdata_o = '0;

  logic unused;
  assign unused = ^{reg_req_i, reg_write_i, reg_addr_i, reg_wdata_i, instr_lookup_access_i,
                    instr_lookup_user_i, data_lookup_access_i, data_lookup_user_i};

  // Bit 0 fetches, bit 1 loads and stores.
  logic [1:0]               valid_q, fault;
  logic [1:0][PageBits-1:0] page_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {data_lookup_valid_i, instr_lookup_valid_i};
  end
  // Not reset: pages, which valid_q qualifies.
  always_ff @(posedge clk_i) begin
    if (instr_lookup_valid_i) page_q[0] <= instr_lookup_page_i;
    if (data_lookup_valid_i) page_q[1] <= data_lookup_page_i;
  end
  for (genvar i = 0; i < 2; i++) begin : gen_fault
    assign fault[i] = page_q[i] == '0 || (page_q[i] >> FrameBits) != '0;
  end

  assign {data_lookup_ready_o, instr_lookup_ready_o} = '1;
  assign {data_result_valid_o, instr_result_valid_o} = valid_q;
  assign {data_result_fault_o, instr_result_fault_o} = fault;
  assign instr_result_cause_o = fault[0] ? tau_status_pkg::CauseUnmapped
                                : tau_status_pkg::CauseNone;
  assign data_result_cause_o = fault[1] ? tau_status_pkg::CauseUnmapped
                               : tau_status_pkg::CauseNone;
  assign instr_result_frame_o = FrameBits'(page_q[0]);
  assign data_result_frame_o = FrameBits'(page_q[1]);
  assign event_hit_o = valid_q & ~fault;
  assign event_miss_o = valid_q & fault;

  `TAU_ASSERT(PageZeroIsNoPage, !event_hit_o[1] || page_q[1] != '0)
endmodule
