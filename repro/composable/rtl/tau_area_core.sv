// The core for synthesis: Ibex as the simulated tile has it. With `Translated` also the unit, and
// the two ports around it.
module tau_area_core #(
  parameter bit Translated = 1'b0,
  parameter int unsigned Entries = 4,
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  localparam int unsigned WordBits = FrameBits + 8
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     timer_irq_i,

  // Field 0 fetches, 1 loads and stores. Everything is answered one cycle after its request.
  output logic [1:0]               local_req_o,
  output logic [1:0]               local_outside_o,
  output logic [1:0][31:0]         local_addr_o,
  output logic                     local_we_o,
  output logic [3:0]               local_be_o,
  output logic [31:0]              local_wdata_o,
  input  logic [1:0][31:0]         local_rdata_i,
  input  logic [1:0]               local_err_i,

  output logic [1:0]               frame_req_o,
  output logic [1:0][WordBits-1:0] frame_word_o,
  output logic                     frame_we_o,
  output logic [3:0]               frame_be_o,
  output logic [31:0]              frame_wdata_o,
  input  logic [1:0][31:0]         frame_rdata_i,

  output logic [1:0]               table_req_o,
  output logic [1:0][PageBits:0]   table_addr_o,
  input  logic [1:0]               table_rvalid_i,
  input  logic [1:0][31:0]         table_rdata_i,

  input  logic                     reg_req_i,
  output logic [31:0]              reg_rdata_o
);
  logic [1:0]       req, gnt, rvalid, err, user;
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
  assign local_addr_o = addr;
  assign {local_we_o, local_be_o, local_wdata_o} = {we, be, wdata};

  if (Translated) begin : gen_translated
    tau_area_ports #(
      .PageBits(PageBits),
      .FrameBits(FrameBits),
      .Entries(Entries)
    ) u_ports (
      .clk_i,
      .rst_ni,
      .user_i(user),
      .core_req_i(req), .core_gnt_o(gnt), .core_addr_i(addr), .core_we_i(we), .core_be_i(be),
      .core_wdata_i(wdata), .core_rvalid_o(rvalid), .core_rdata_o(rdata), .core_err_o(err),
      .local_req_o, .local_outside_o, .local_rdata_i, .local_err_i,
      .frame_req_o, .frame_word_o, .frame_we_o, .frame_be_o, .frame_wdata_o, .frame_rdata_i,
      .table_req_o, .table_addr_o, .table_rvalid_i, .table_rdata_i,
      .reg_req_i, .reg_rdata_o
    );
  end else begin : gen_untranslated
    assign gnt = '1;
    assign rdata = local_rdata_i;
    assign err = local_err_i;
    assign local_req_o = req;
    assign local_outside_o = '0;
    assign {frame_req_o, frame_word_o, frame_we_o, frame_be_o, frame_wdata_o} = '0;
    assign {table_req_o, table_addr_o, reg_rdata_o} = '0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) rvalid <= '0;
      else rvalid <= req;
    end
  end
endmodule
