// What virtual memory adds to a core: the unit and, on each of the core's ports, what separates the
// window from the rest. The same modules as in hw/tile/rtl/tau_tile.sv, connected the same way.
module tau_area_ports #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Entries = 4,
  parameter int unsigned GranuleBits = 10,
  localparam int unsigned WordBits = FrameBits + GranuleBits - 2
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  // The core; bit or field 0 fetches, 1 loads and stores.
  input  logic [1:0]          user_i,
  input  logic [1:0]          core_req_i,
  output logic [1:0]          core_gnt_o,
  input  logic [1:0][31:0]    core_addr_i,
  input  logic                core_we_i,
  input  logic [3:0]          core_be_i,
  input  logic [31:0]         core_wdata_i,
  output logic [1:0]          core_rvalid_o,
  output logic [1:0][31:0]    core_rdata_o,
  output logic [1:0]          core_err_o,

  output logic [1:0]          local_req_o,
  output logic [1:0]          local_outside_o,
  input  logic [1:0][31:0]    local_rdata_i,
  input  logic [1:0]          local_err_i,

  output logic [1:0]          frame_req_o,
  output logic [1:0][WordBits-1:0] frame_word_o,
  output logic                frame_we_o,
  output logic [3:0]          frame_be_o,
  output logic [31:0]         frame_wdata_o,
  input  logic [1:0][31:0]    frame_rdata_i,

  output logic [1:0]          table_req_o,
  output logic [1:0][PageBits:0] table_addr_o,
  input  logic [1:0]          table_rvalid_i,
  input  logic [1:0][31:0]    table_rdata_i,

  input  logic                reg_req_i,
  output logic [31:0]         reg_rdata_o
);
  logic [1:0]                valid, ready, user, result_valid, result_fault, last_hit;
  logic [1:0][PageBits-1:0]  page;
  logic [1:0][2:0]           access;
  logic [1:0][1:0]           cause;
  logic [1:0][FrameBits-1:0] frame, last_frame;
  logic [1:0]                frame_we;
  logic [4:0]                unit_req;
  logic [4:0][PageBits:0]    unit_addr;
  logic [1:0][3:0]           frame_be;
  logic [1:0][31:0]          frame_wdata;
  assign table_req_o = {unit_req[3], unit_req[0]};
  assign table_addr_o = {unit_addr[3], unit_addr[0]};
  assign frame_we_o = frame_we[1];
  assign frame_be_o = frame_be[1];
  assign frame_wdata_o = frame_wdata[1];

  tau_composable #(
    .PageBits(PageBits),
    .FrameBits(FrameBits),
    .Entries(Entries)
  ) u_unit (
    .clk_i,
    .rst_ni,
    .instr_lookup_valid_i(valid[0]), .instr_lookup_ready_o(ready[0]), .instr_lookup_page_i(page[0]),
    .instr_lookup_access_i(access[0]), .instr_lookup_user_i(user[0]),
    .instr_result_valid_o(result_valid[0]), .instr_result_fault_o(result_fault[0]),
    .instr_result_cause_o(cause[0]), .instr_result_frame_o(frame[0]),
    .instr_last_hit_o(last_hit[0]), .instr_last_frame_o(last_frame[0]),
    .data_lookup_valid_i(valid[1]), .data_lookup_ready_o(ready[1]), .data_lookup_page_i(page[1]),
    .data_lookup_access_i(access[1]), .data_lookup_user_i(user[1]),
    .data_result_valid_o(result_valid[1]), .data_result_fault_o(result_fault[1]),
    .data_result_cause_o(cause[1]), .data_result_frame_o(frame[1]), .data_last_hit_o(last_hit[1]),
    .data_last_frame_o(last_frame[1]),
    .table_req_o(unit_req), .table_addr_o(unit_addr),
    .table_rvalid_i({1'b0, table_rvalid_i[1], 2'b00, table_rvalid_i[0]}),
    .table_rdata_i({32'd0, table_rdata_i[1], 64'd0, table_rdata_i[0]}),
    .reg_req_i, .reg_write_i(core_we_i), .reg_addr_i(core_addr_i[1][9:2]),
    .reg_wdata_i(core_wdata_i), .reg_rdata_o,
    .event_hit_o(), .event_miss_o()
  );

  for (genvar i = 0; i < 2; i++) begin : gen_port
    tau_tile_port #(
      .PageBits(PageBits),
      .FrameBits(FrameBits),
      .GranuleBits(GranuleBits)
    ) u_port (
      .clk_i,
      .rst_ni,
      .fetch_i(1'(i == 0)), .user_i(user_i[i]),
      .core_req_i(core_req_i[i]), .core_gnt_o(core_gnt_o[i]), .core_addr_i(core_addr_i[i]),
      .core_we_i(i == 1 && core_we_i), .core_be_i(i == 1 ? core_be_i : 4'hF),
      .core_wdata_i(i == 1 ? core_wdata_i : '0), .core_rvalid_o(core_rvalid_o[i]),
      .core_rdata_o(core_rdata_o[i]), .core_err_o(core_err_o[i]),
      .local_req_o(local_req_o[i]), .local_outside_o(local_outside_o[i]), .local_gnt_i(1'b1),
      .local_rdata_i(local_rdata_i[i]), .local_err_i(local_err_i[i]),
      .lookup_valid_o(valid[i]), .lookup_ready_i(ready[i]), .lookup_page_o(page[i]),
      .lookup_access_o(access[i]), .lookup_user_o(user[i]),
      .result_valid_i(result_valid[i]), .result_fault_i(result_fault[i]), .result_cause_i(cause[i]),
      .result_frame_i(frame[i]),
      .last_hit_i(last_hit[i]), .last_frame_i(last_frame[i]),
      .frame_req_o(frame_req_o[i]), .frame_gnt_i(1'b1), .frame_word_o(frame_word_o[i]),
      .frame_we_o(frame_we[i]), .frame_be_o(frame_be[i]), .frame_wdata_o(frame_wdata[i]),
      .frame_rdata_i(frame_rdata_i[i]),
      .window_req_o(),
      .at_once_o(),
      .answer_window_o(), .answer_cause_o()
    );
  end
endmodule
