// A unit with a port for each of the core's two buses. The memories of its tables are outside.
//
// `TAU_UNIT is the unit's module; the lists of files define it. `TAU_UNIT_PARAMETERS are its
// parameters other than sizes, each after a comma. They may name the latencies of the tables, as
// `,.Latency0(Latency0),.Latency1(Latency1),.Latency2(Latency2)`.
`ifndef TAU_UNIT_PARAMETERS
`define TAU_UNIT_PARAMETERS
`endif

module tau_mmu #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned GranuleBits = 12,  // of an address inside the unit's smallest page
  parameter logic [31:0] FramesBase = 32'hC000_0000,
  // Cycles in which the memories of tables 0 and 3, 1 and 4, 2 answer, always. 0: any number.
  parameter int unsigned Latency0 = 0,
  parameter int unsigned Latency1 = 0,
  parameter int unsigned Latency2 = 0
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

`include "tau_mmu_buses.svh"

  // The tables and registers of tau_mmu_ports.svh.
  output logic [4:0]             table_req_o,
  output logic [4:0][PageBits:0] table_addr_o,
  input  logic [4:0]             table_rvalid_i,
  input  logic [4:0][31:0]       table_rdata_i,
  input  logic                   reg_req_i,
  input  logic                   reg_write_i,
  input  logic [7:0]             reg_addr_i,
  input  logic [31:0]            reg_wdata_i,
  output logic [31:0]            reg_rdata_o
);

  logic [1:0]                lookup_valid, lookup_ready, lookup_user;
  logic [1:0][PageBits-1:0]  lookup_page;
  logic [1:0][2:0]           lookup_access;
  logic [1:0]                result_valid, result_fault, last_hit;
  logic [1:0][1:0]           result_cause;
  logic [1:0][FrameBits-1:0] result_frame, last_frame;
  logic [1:0]                unit_hit, at_once;
  assign event_hit_o = unit_hit | at_once;

  `TAU_UNIT #(
    .PageBits (PageBits),
    .FrameBits(FrameBits)
    `TAU_UNIT_PARAMETERS
  ) u_unit (
    .clk_i,
    .rst_ni,
    .instr_lookup_valid_i (lookup_valid[0]),
    .instr_lookup_ready_o (lookup_ready[0]),
    .instr_lookup_page_i  (lookup_page[0]),
    .instr_lookup_access_i(lookup_access[0]),
    .instr_lookup_user_i  (lookup_user[0]),
    .instr_result_valid_o (result_valid[0]),
    .instr_result_fault_o (result_fault[0]),
    .instr_result_cause_o (result_cause[0]),
    .instr_result_frame_o (result_frame[0]),
    .instr_last_hit_o     (last_hit[0]),
    .instr_last_frame_o   (last_frame[0]),
    .data_lookup_valid_i  (lookup_valid[1]),
    .data_lookup_ready_o  (lookup_ready[1]),
    .data_lookup_page_i   (lookup_page[1]),
    .data_lookup_access_i (lookup_access[1]),
    .data_lookup_user_i   (lookup_user[1]),
    .data_result_valid_o  (result_valid[1]),
    .data_result_fault_o  (result_fault[1]),
    .data_result_cause_o  (result_cause[1]),
    .data_result_frame_o  (result_frame[1]),
    .data_last_hit_o      (last_hit[1]),
    .data_last_frame_o    (last_frame[1]),
    .table_req_o,
    .table_addr_o,
    .table_rvalid_i,
    .table_rdata_i,
    .reg_req_i,
    .reg_write_i,
    .reg_addr_i,
    .reg_wdata_i,
    .reg_rdata_o,
    .event_hit_o          (unit_hit),
    .event_miss_o
  );

  tau_mmu_socket #(
    .PageBits(PageBits)
  ) u_socket (
    .clk_i,
    .rst_ni,
    .lookup_valid_i(lookup_valid),
    .lookup_ready_i(lookup_ready),
    .result_valid_i(result_valid),
    .event_hit_i   (unit_hit),
    .event_miss_i  (event_miss_o),
    .window_req_i  (window_req_o),
    .store_i       (1'b0),  // whose code is not known here
    .table_req_i   (table_req_o),
    .table_rvalid_i,
    .table_addr_i  (table_addr_o)
  );

  // Fetches store nothing, and most units take any latency.
  logic        we;
  logic [3:0]  be;
  logic [31:0] wdata;
  logic unused;
  assign unused = ^{we, be, wdata, Latency0, Latency1, Latency2};

  tau_obi_port #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .GranuleBits(GranuleBits),
    .FramesBase (FramesBase)
  ) u_port[1:0] (
    .clk_i,
    .rst_ni,
    .fetch_i         (2'b01),
    .user_i          ({data_user_i, instr_user_i}),
    .core_req_i      ({data_req_i, instr_req_i}),
    .core_gnt_o      ({data_gnt_o, instr_gnt_o}),
    .core_addr_i     ({data_addr_i, instr_addr_i}),
    .core_we_i       ({data_we_i, 1'b0}),
    .core_be_i       ({data_be_i, 4'hF}),
    .core_wdata_i    ({data_wdata_i, 32'd0}),
    .core_rvalid_o   ({data_rvalid_o, instr_rvalid_o}),
    .core_rdata_o    ({data_rdata_o, instr_rdata_o}),
    .core_err_o      ({data_err_o, instr_err_o}),
    .mem_req_o       ({data_mem_req_o, instr_mem_req_o}),
    .mem_gnt_i       ({data_mem_gnt_i, instr_mem_gnt_i}),
    .mem_translated_o({data_mem_translated_o, instr_mem_translated_o}),
    .mem_addr_o      ({data_mem_addr_o, instr_mem_addr_o}),
    .mem_we_o        ({data_mem_we_o, we}),
    .mem_be_o        ({data_mem_be_o, be}),
    .mem_wdata_o     ({data_mem_wdata_o, wdata}),
    .mem_rvalid_i    ({data_mem_rvalid_i, instr_mem_rvalid_i}),
    .mem_rdata_i     ({data_mem_rdata_i, instr_mem_rdata_i}),
    .mem_err_i       ({data_mem_err_i, instr_mem_err_i}),
    .lookup_valid_o  (lookup_valid),
    .lookup_ready_i  (lookup_ready),
    .lookup_page_o   (lookup_page),
    .lookup_access_o (lookup_access),
    .lookup_user_o   (lookup_user),
    .result_valid_i  (result_valid),
    .result_fault_i  (result_fault),
    .result_cause_i  (result_cause),
    .result_frame_i  (result_frame),
    .last_hit_i      (last_hit),
    .last_frame_i    (last_frame),
    .window_req_o    (window_req_o),
    .at_once_o       (at_once),
    .answer_cause_o  ({data_answer_cause_o, instr_answer_cause_o})
  );
endmodule
