// The unit of a tile without an MMU: page b is frame b, every access is allowed. Page 0 and pages
// that have no frame are not mapped. One cycle, both ports at once; it reads no table and has no
// registers. It shows the least that a unit in the socket does.
`include "tau_assert.svh"

module tau_bare #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 instr_lookup_valid_i,
  output logic                 instr_lookup_ready_o,
  input  logic [PageBits-1:0]  instr_lookup_page_i,
  input  logic [2:0]           instr_lookup_access_i,
  input  logic                 instr_lookup_user_i,
  output logic                 instr_result_valid_o,
  output logic                 instr_result_fault_o,
  output logic [1:0]           instr_result_cause_o,
  output logic [FrameBits-1:0] instr_result_frame_o,

  input  logic                 data_lookup_valid_i,
  output logic                 data_lookup_ready_o,
  input  logic [PageBits-1:0]  data_lookup_page_i,
  input  logic [2:0]           data_lookup_access_i,
  input  logic                 data_lookup_user_i,
  output logic                 data_result_valid_o,
  output logic                 data_result_fault_o,
  output logic [1:0]           data_result_cause_o,
  output logic [FrameBits-1:0] data_result_frame_o,

  output logic                 table0_req_o,
  output logic [PageBits:0]    table0_addr_o,
  input  logic                 table0_rvalid_i,
  input  logic [31:0]          table0_rdata_i,
  output logic                 table1_req_o,
  output logic [PageBits:0]    table1_addr_o,
  input  logic                 table1_rvalid_i,
  input  logic [31:0]          table1_rdata_i,
  output logic                 table2_req_o,
  output logic [PageBits:0]    table2_addr_o,
  input  logic                 table2_rvalid_i,
  input  logic [31:0]          table2_rdata_i,
  output logic                 table3_req_o,
  output logic [PageBits:0]    table3_addr_o,
  input  logic                 table3_rvalid_i,
  input  logic [31:0]          table3_rdata_i,
  output logic                 table4_req_o,
  output logic [PageBits:0]    table4_addr_o,
  input  logic                 table4_rvalid_i,
  input  logic [31:0]          table4_rdata_i,

  input  logic                 reg_req_i,
  input  logic                 reg_write_i,
  input  logic [7:0]           reg_addr_i,
  input  logic [31:0]          reg_wdata_i,
  output logic [31:0]          reg_rdata_o,

  output logic [1:0]           event_hit_o,
  output logic [1:0]           event_miss_o
);

  assign table0_req_o = 1'b0;
  assign table0_addr_o = '0;
  assign table1_req_o = 1'b0;
  assign table1_addr_o = '0;
  assign table3_req_o = 1'b0;
  assign table3_addr_o = '0;
  assign table4_req_o = 1'b0;
  assign table4_addr_o = '0;
  assign table2_req_o = 1'b0;
  assign table2_addr_o = '0;
  assign reg_rdata_o = '0;

  logic unused;
  assign unused = ^{table0_rvalid_i, table0_rdata_i, table1_rvalid_i, table1_rdata_i,
                    table2_rvalid_i, table2_rdata_i, table3_rvalid_i, table3_rdata_i,
                    table4_rvalid_i, table4_rdata_i, reg_req_i, reg_write_i, reg_addr_i,
                    reg_wdata_i, instr_lookup_access_i, instr_lookup_user_i, data_lookup_access_i,
                    data_lookup_user_i};

  assign instr_lookup_ready_o = 1'b1;
  assign data_lookup_ready_o = 1'b1;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      instr_result_valid_o <= 1'b0;
      data_result_valid_o <= 1'b0;
    end else begin
      instr_result_valid_o <= instr_lookup_valid_i;
      data_result_valid_o <= data_lookup_valid_i;
    end
  end

  logic [PageBits-1:0] instr_page_q, data_page_q;
  always_ff @(posedge clk_i) begin
    if (instr_lookup_valid_i) instr_page_q <= instr_lookup_page_i;
    if (data_lookup_valid_i) data_page_q <= data_lookup_page_i;
  end

  assign instr_result_fault_o = instr_page_q == '0 || (instr_page_q >> FrameBits) != '0;
  assign data_result_fault_o = data_page_q == '0 || (data_page_q >> FrameBits) != '0;
  assign instr_result_cause_o = {1'b0, instr_result_fault_o};
  assign data_result_cause_o = {1'b0, data_result_fault_o};
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
