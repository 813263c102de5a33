// A unit in an MMU socket with tables whose contents the proof chooses. `TAU_PROOF_UNIT is the
// unit's module. `TAU_PROOF_PARAMETERS are its parameters other than sizes.
`ifndef TAU_PROOF_PARAMETERS
`define TAU_PROOF_PARAMETERS
`endif

module tau_proof_socket #(
  parameter int unsigned PageBits = 2,
  parameter int unsigned FrameBits = 2,
  parameter int unsigned Latency = 1,  // of tables 0, 1, 3 and 4
  parameter int unsigned Latency2 = 1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,

  // Word i in bits 32 i: of tables 0 and 3, of 1 and 4, of 2.
  input  logic [64*2**PageBits-1:0] regions_i,
  input  logic [64*2**PageBits-1:0] stacks_i,
  input  logic [64*2**PageBits-1:0] entries_i,

  input  logic                      instr_lookup_valid_i,
  output logic                      instr_lookup_ready_o,
  input  logic [PageBits-1:0]       instr_lookup_page_i,
  input  logic [2:0]                instr_lookup_access_i,
  output logic                      instr_result_valid_o,
  output logic                      instr_result_fault_o,
  output logic [1:0]                instr_result_cause_o,
  output logic [FrameBits-1:0]      instr_result_frame_o,

  input  logic                      data_lookup_valid_i,
  output logic                      data_lookup_ready_o,
  input  logic [PageBits-1:0]       data_lookup_page_i,
  input  logic [2:0]                data_lookup_access_i,
  output logic                      data_result_valid_o,
  output logic                      data_result_fault_o,
  output logic [1:0]                data_result_cause_o,
  output logic [FrameBits-1:0]      data_result_frame_o,

  // A write of one of the unit's registers.
  input  logic                      write_i,
  input  logic [7:0]                write_addr_i,
  input  logic [31:0]               write_data_i,

  // The tables that are read, and the address in table 2.
  output logic [4:0]                table_req_o,
  output logic [PageBits:0]         table2_addr_o
);

  logic [4:0]             rvalid;
  logic [4:0][PageBits:0] addr;
  logic [4:0][31:0]       rdata;
  logic [31:0]            reg_rdata;
  logic [1:0]             event_hit, event_miss;
  assign table2_addr_o = addr[2];

  tau_proof_memory #(.WordBits(PageBits + 1), .Latency(Latency)) u_table0 (
    .clk_i, .rst_ni, .words_i(regions_i), .req_i(table_req_o[0]), .addr_i(addr[0]),
    .rvalid_o(rvalid[0]), .rdata_o(rdata[0])
  );
  tau_proof_memory #(.WordBits(PageBits + 1), .Latency(Latency)) u_table1 (
    .clk_i, .rst_ni, .words_i(stacks_i), .req_i(table_req_o[1]), .addr_i(addr[1]),
    .rvalid_o(rvalid[1]), .rdata_o(rdata[1])
  );
  tau_proof_memory #(.WordBits(PageBits + 1), .Latency(Latency2)) u_table2 (
    .clk_i, .rst_ni, .words_i(entries_i), .req_i(table_req_o[2]), .addr_i(addr[2]),
    .rvalid_o(rvalid[2]), .rdata_o(rdata[2])
  );
  tau_proof_memory #(.WordBits(PageBits + 1), .Latency(Latency)) u_table3 (
    .clk_i, .rst_ni, .words_i(regions_i), .req_i(table_req_o[3]), .addr_i(addr[3]),
    .rvalid_o(rvalid[3]), .rdata_o(rdata[3])
  );
  tau_proof_memory #(.WordBits(PageBits + 1), .Latency(Latency)) u_table4 (
    .clk_i, .rst_ni, .words_i(stacks_i), .req_i(table_req_o[4]), .addr_i(addr[4]),
    .rvalid_o(rvalid[4]), .rdata_o(rdata[4])
  );

  `TAU_PROOF_UNIT #(
    .PageBits (PageBits),
    .FrameBits(FrameBits)
    `TAU_PROOF_PARAMETERS
  ) u_unit (
    .clk_i,
    .rst_ni,
    .instr_lookup_valid_i,
    .instr_lookup_ready_o,
    .instr_lookup_page_i,
    .instr_lookup_access_i,
    .instr_lookup_user_i (1'b0),
    .instr_result_valid_o,
    .instr_result_fault_o,
    .instr_result_cause_o,
    .instr_result_frame_o,
    .data_lookup_valid_i,
    .data_lookup_ready_o,
    .data_lookup_page_i,
    .data_lookup_access_i,
    .data_lookup_user_i  (1'b0),
    .data_result_valid_o,
    .data_result_fault_o,
    .data_result_cause_o,
    .data_result_frame_o,
    .table_req_o,
    .table_addr_o        (addr),
    .table_rvalid_i      (rvalid),
    .table_rdata_i       (rdata),
    .reg_req_i           (write_i),
    .reg_write_i         (1'b1),
    .reg_addr_i          (write_addr_i),
    .reg_wdata_i         (write_data_i),
    .reg_rdata_o         (reg_rdata),
    .event_hit_o         (event_hit),
    .event_miss_o        (event_miss)
  );
endmodule
