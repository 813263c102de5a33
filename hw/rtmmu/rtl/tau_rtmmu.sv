// The real-time MMU: translation through the pages validity array [P0-28, P0-29].
//
// Both ports share one lookup unit (tau_rtmmu_lookup.sv). A data lookup goes first. Operation and
// cost: hw/rtmmu/doc/rtmmu.md.
`include "tau_assert.svh"
`include "tau_mmu_unused.svh"

module tau_rtmmu #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  // Cycles in which the memories of tables 0 and 3, 1 and 4, 2 answer, always. 0: any number.
  parameter int unsigned Latency0 = 0,
  parameter int unsigned Latency1 = 0,
  parameter int unsigned Latency2 = 0,
  parameter int unsigned SlotBits = 2
) (
`include "tau_mmu_ports.svh"
);

  `TAU_MMU_LAST_UNUSED

  logic       ready, valid, mapped, is_data, granted, fault;
  logic [2:0] access;
  logic [1:0] cause;
  logic [29:0] data;
  // For a TLB.
  logic [PageBits-1:0] page, start;

  assign data_lookup_ready_o = ready;
  assign instr_lookup_ready_o = ready && !data_lookup_valid_i;

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
    .lookup_valid_i (data_lookup_valid_i || instr_lookup_valid_i),
    .lookup_ready_o (ready),
    .lookup_page_i  (data_lookup_valid_i ? data_lookup_page_i : instr_lookup_page_i),
    .lookup_tag_i   ({data_lookup_valid_i,
                      data_lookup_valid_i ? data_lookup_access_i : instr_lookup_access_i}),
    .result_valid_o (valid),
    .result_mapped_o(mapped),
    .result_tag_o   ({is_data, access}),
    .result_page_o  (page),
    .result_start_o (start),
    .result_data_o  (data),
    .table_req_o,
    .table_addr_o,
    .table_rvalid_i,
    .table_rdata_i
  );

  // `mapped` comes last in a cycle, so everything else is ready for it.
  assign granted = (access & ~data[29:27]) == '0;
  assign fault = !(mapped && granted);
  assign cause = !mapped ? tau_status_pkg::CauseUnmapped
                 : granted ? tau_status_pkg::CauseNone : tau_status_pkg::CauseRights;

  assign data_result_valid_o = valid && is_data;
  assign data_result_fault_o = fault;
  assign data_result_cause_o = cause;
  assign data_result_frame_o = data[FrameBits-1:0];
  assign instr_result_valid_o = valid && !is_data;
  assign instr_result_fault_o = fault;
  assign instr_result_cause_o = cause;
  assign instr_result_frame_o = data[FrameBits-1:0];

  assign event_hit_o = {mapped && (granted && valid && is_data),
                        mapped && (granted && valid && !is_data)};
  assign event_miss_o = {data_result_valid_o && fault, instr_result_valid_o && fault};

  assign reg_rdata_o = '0;
  logic unused;
  assign unused = ^{reg_req_i, reg_write_i, reg_addr_i, reg_wdata_i, data, page, start,
                    instr_lookup_user_i, data_lookup_user_i};

  `TAU_ASSERT(FramesFit, FrameBits <= 27)
  `TAU_ASSERT(OneResultAtATime, !(data_result_valid_o && instr_result_valid_o))
endmodule
