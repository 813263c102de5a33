// The core for synthesis: Ibex as the simulated tile has it. With `Translated` also the tile's MMU,
// without the tables.
module tau_area_core #(
  parameter bit Translated = 1'b0,
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     timer_irq_i,

  // Field 0 fetches, 1 loads and stores. Everything is answered one cycle after its request.
  output logic [1:0]               mem_req_o,
  output logic [1:0]               mem_translated_o,
  output logic [1:0][31:0]         mem_addr_o,
  output logic                     mem_we_o,
  output logic [3:0]               mem_be_o,
  output logic [31:0]              mem_wdata_o,
  input  logic [1:0][31:0]         mem_rdata_i,
  input  logic [1:0]               mem_err_i,

  output logic [1:0]               table_req_o,
  output logic [1:0][PageBits:0]   table_addr_o,
  input  logic [1:0]               table_rvalid_i,
  input  logic [1:0][31:0]         table_rdata_i,

  input  logic                     reg_req_i,
  output logic [31:0]              reg_rdata_o
);
  logic [1:0]       req, gnt, rvalid, mem_rvalid_q, err, user;
  logic [1:0][31:0] addr, rdata;
  logic             we;
  logic [3:0]       be;
  logic [31:0]      wdata;

  ibex_top #(
    .PMPEnable(1'b0),
    .RV32M(ibex_pkg::RV32MFast),
    .RegFile(ibex_pkg::RegFileFPGA),
    .RV32B(ibex_pkg::RV32BNone)
  ) u_core (
    .clk_i,
    .rst_ni,
    .test_en_i(1'b0),
    .ram_cfg_i('0),
    .hart_id_i('0),
    .boot_addr_i(32'h0010_0000),
    .instr_req_o(req[0]), .instr_gnt_i(gnt[0]), .instr_rvalid_i(rvalid[0]), .instr_addr_o(addr[0]),
    .instr_rdata_i(rdata[0]), .instr_rdata_intg_i('0), .instr_err_i(err[0]),
    .data_req_o(req[1]), .data_gnt_i(gnt[1]), .data_rvalid_i(rvalid[1]), .data_we_o(we),
    .data_be_o(be), .data_addr_o(addr[1]), .data_wdata_o(wdata), .data_wdata_intg_o(),
    .data_rdata_i(rdata[1]), .data_rdata_intg_i('0), .data_err_i(err[1]),
    .irq_software_i(1'b0), .irq_timer_i(timer_irq_i), .irq_external_i(1'b0), .irq_fast_i('0),
    .irq_nm_i(1'b0),
    .scramble_key_valid_i(1'b0), .scramble_key_i('0), .scramble_nonce_i('0), .scramble_req_o(),
    .debug_req_i(1'b0),
    .crash_dump_o(),
    .double_fault_seen_o(),
    .fetch_enable_i(ibex_pkg::IbexMuBiOn),
    .alert_minor_o(), .alert_major_internal_o(), .alert_major_bus_o(),
    .core_sleep_o(),
    .scan_rst_ni(1'b1)
  );
  assign user[0] = u_core.u_ibex_core.cs_registers_i.priv_lvl_d == ibex_pkg::PRIV_LVL_U;
  assign user[1] = u_core.u_ibex_core.priv_mode_lsu == ibex_pkg::PRIV_LVL_U;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) mem_rvalid_q <= '0;
    else mem_rvalid_q <= mem_req_o;
  end

  if (Translated) begin : gen_translated
    logic [4:0]             unit_req;
    logic [4:0][PageBits:0] unit_addr;
    assign table_req_o = {unit_req[3], unit_req[0]};
    assign table_addr_o = {unit_addr[3], unit_addr[0]};
    tau_mmu #(
      .PageBits(PageBits),
      .FrameBits(FrameBits),
      .GranuleBits(10)
    ) u_mmu (
      .clk_i,
      .rst_ni,
      .instr_user_i(user[0]), .instr_req_i(req[0]), .instr_gnt_o(gnt[0]), .instr_addr_i(addr[0]),
      .instr_rvalid_o(rvalid[0]), .instr_rdata_o(rdata[0]), .instr_err_o(err[0]),
      .data_user_i(user[1]), .data_req_i(req[1]), .data_gnt_o(gnt[1]), .data_addr_i(addr[1]),
      .data_we_i(we), .data_be_i(be), .data_wdata_i(wdata), .data_rvalid_o(rvalid[1]),
      .data_rdata_o(rdata[1]), .data_err_o(err[1]),
      .instr_mem_req_o(mem_req_o[0]), .instr_mem_gnt_i(1'b1),
      .instr_mem_translated_o(mem_translated_o[0]), .instr_mem_addr_o(mem_addr_o[0]),
      .instr_mem_rvalid_i(mem_rvalid_q[0]), .instr_mem_rdata_i(mem_rdata_i[0]),
      .instr_mem_err_i(mem_err_i[0]),
      .data_mem_req_o(mem_req_o[1]), .data_mem_gnt_i(1'b1),
      .data_mem_translated_o(mem_translated_o[1]), .data_mem_addr_o(mem_addr_o[1]),
      .data_mem_we_o(mem_we_o), .data_mem_be_o(mem_be_o), .data_mem_wdata_o(mem_wdata_o),
      .data_mem_rvalid_i(mem_rvalid_q[1]), .data_mem_rdata_i(mem_rdata_i[1]),
      .data_mem_err_i(mem_err_i[1]),
      .instr_answer_cause_o(), .data_answer_cause_o(), .window_req_o(), .event_hit_o(),
      .event_miss_o(),
      .table_req_o(unit_req), .table_addr_o(unit_addr),
      .table_rvalid_i({1'b0, table_rvalid_i[1], 2'b00, table_rvalid_i[0]}),
      .table_rdata_i({32'd0, table_rdata_i[1], 64'd0, table_rdata_i[0]}),
      .reg_req_i, .reg_write_i(mem_we_o), .reg_addr_i(mem_addr_o[1][9:2]),
      .reg_wdata_i(mem_wdata_o), .reg_rdata_o
    );
  end else begin : gen_untranslated
    assign gnt = '1;
    assign rvalid = mem_rvalid_q;
    assign rdata = mem_rdata_i;
    assign err = mem_err_i;
    assign mem_req_o = req;
    assign mem_addr_o = addr;
    assign {mem_we_o, mem_be_o, mem_wdata_o} = {we, be, wdata};
    assign mem_translated_o = '0;
    assign {table_req_o, table_addr_o, reg_rdata_o} = '0;
  end
endmodule
