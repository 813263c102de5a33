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

  logic instr_valid_q, data_valid_q;
  assign instr_lookup_ready_o = 1'b1;
  assign data_lookup_ready_o = 1'b1;
  assign instr_result_valid_o = instr_valid_q;
  assign data_result_valid_o = data_valid_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      instr_valid_q <= 1'b0;
      data_valid_q <= 1'b0;
    end else begin
      instr_valid_q <= instr_lookup_valid_i;
      data_valid_q <= data_lookup_valid_i;
    end
  end

  // Not reset: pages, which *_valid_q qualify.
  logic [PageBits-1:0] instr_page_q, data_page_q;
  always_ff @(posedge clk_i) begin
    if (instr_lookup_valid_i) instr_page_q <= instr_lookup_page_i;
    if (data_lookup_valid_i) data_page_q <= data_lookup_page_i;
  end

  assign instr_result_fault_o = instr_page_q == '0 || (instr_page_q >> FrameBits) != '0;
  assign data_result_fault_o = data_page_q == '0 || (data_page_q >> FrameBits) != '0;
  assign instr_result_cause_o = instr_result_fault_o ? tau_status_pkg::CauseUnmapped
                                : tau_status_pkg::CauseNone;
  assign data_result_cause_o = data_result_fault_o ? tau_status_pkg::CauseUnmapped
                               : tau_status_pkg::CauseNone;
  if (FrameBits > PageBits) begin : gen_wide
    assign instr_result_frame_o = {{(FrameBits - PageBits) {1'b0}}, instr_page_q};
    assign data_result_frame_o = {{(FrameBits - PageBits) {1'b0}}, data_page_q};
  end else begin : gen_narrow
    assign instr_result_frame_o = instr_page_q[FrameBits-1:0];
    assign data_result_frame_o = data_page_q[FrameBits-1:0];
  end

  assign event_hit_o = {data_result_valid_o && !data_result_fault_o,
                        instr_result_valid_o && !instr_result_fault_o};
  assign event_miss_o = {data_result_valid_o && data_result_fault_o,
                         instr_result_valid_o && instr_result_fault_o};

  `TAU_ASSERT(PageZeroIsNoPage, !(data_result_valid_o && !data_result_fault_o) || data_page_q != '0)
endmodule
