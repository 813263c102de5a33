// The conventional unit: one table, one word a page, one memory port [P0-34].
//
// A lookup reads the word of its page and is answered by what comes back: 0 is no mapping. Both
// lookup ports share the memory; a data lookup goes first. Each result leaves in the cycle in which
// the memory answers, so a lookup takes the memory's latency and nothing more, one a cycle.
`include "tau_assert.svh"

module tau_pagetable #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned SlotBits = 2  // 2^SlotBits lookups on their way; more than the latency
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

  // Lookups on their way, the oldest at `head`.
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

  assign table2_req_o = take;
  assign table2_addr_o = {1'b0, data_lookup_valid_i ? data_lookup_page_i : instr_lookup_page_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
      count_q <= '0;
    end else begin
      if (take) tail_q <= tail_q + 1'b1;
      if (table2_rvalid_i) head_q <= head_q + 1'b1;
      count_q <= count_q + {{SlotBits{1'b0}}, take} - {{SlotBits{1'b0}}, table2_rvalid_i};
    end
  end

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
  assign absent = table2_rdata_i == '0;
  assign denied = access_q[head_q] & ~table2_rdata_i[29:27];
  assign fault = absent || denied != '0;
  assign cause = absent ? 2'd1 : (denied != '0 ? 2'd2 : 2'd0);

  assign data_result_valid_o = table2_rvalid_i && is_data;
  assign data_result_fault_o = fault;
  assign data_result_cause_o = cause;
  assign data_result_frame_o = table2_rdata_i[FrameBits-1:0];
  assign instr_result_valid_o = table2_rvalid_i && !is_data;
  assign instr_result_fault_o = fault;
  assign instr_result_cause_o = cause;
  assign instr_result_frame_o = table2_rdata_i[FrameBits-1:0];

  assign event_hit_o = {data_result_valid_o && !fault, instr_result_valid_o && !fault};
  assign event_miss_o = {data_result_valid_o && fault, instr_result_valid_o && fault};

  // The other memories and the registers are the other units'.
  assign table0_req_o = 1'b0;
  assign table0_addr_o = '0;
  assign table1_req_o = 1'b0;
  assign table1_addr_o = '0;
  assign table3_req_o = 1'b0;
  assign table3_addr_o = '0;
  assign table4_req_o = 1'b0;
  assign table4_addr_o = '0;
  assign reg_rdata_o = '0;
  logic unused;
  assign unused = ^{table0_rvalid_i, table0_rdata_i, table1_rvalid_i, table1_rdata_i,
                    table3_rvalid_i, table3_rdata_i, table4_rvalid_i, table4_rdata_i,
                    reg_req_i, reg_write_i, reg_addr_i, reg_wdata_i, table2_rdata_i[31:30],
                    instr_lookup_user_i, data_lookup_user_i};

  `TAU_ASSERT(Table2WasAsked, !table2_rvalid_i || count_q != '0)
  `TAU_ASSERT(OneResultAtATime, !(data_result_valid_o && instr_result_valid_o))
endmodule
