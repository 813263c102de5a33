// The smallest SoC with an MMU: Ibex, the MMU, one memory, a console and an exit.
//
// | from | what |
// |---|---|
// | 0x0010_0000 | memory, 1 MiB; reset at 0x0010_0080; its second quarter is the frames |
// | 0x2000_0000 | the MMU's control (tau_obi_mmu.sv) |
// | 0x4000_0000 | a store prints a byte; at + 4 it ends the program with that code |
// | 0x8000_0000 | the window, translated |
//
// Everything else gets an error. Everything is in machine mode, as Ibex has no port for its mode.
module tau_example #(
  parameter int unsigned PageBits = 8,  // a window of 1 MiB
  parameter int unsigned FrameBits = 6  // on 256 KiB
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        console_valid_o,
  output logic        exit_valid_o,
  output logic [31:0] word_o
);

  localparam logic [31:0] MemoryBase = 32'h0010_0000, FramesBase = 32'h0014_0000;
  localparam logic [31:0] ControlBase = 32'h2000_0000, DevicesBase = 32'h4000_0000;
  localparam int unsigned MemoryBits = 18;  // of a word's number

  logic        instr_req, instr_gnt, instr_rvalid, instr_err;
  logic        data_req, data_gnt, data_rvalid, data_err, data_we;
  logic [3:0]  data_be;
  logic [31:0] instr_addr, instr_rdata, data_addr, data_wdata, data_rdata;

  ibex_top #(
    .PMPEnable(1'b0),
    .RegFile  (ibex_pkg::RegFileFPGA)
  ) u_core (
    .clk_i,
    .rst_ni,
    .test_en_i             (1'b0),
    .ram_cfg_i             ('0),
    .hart_id_i             ('0),
    .boot_addr_i           (MemoryBase),
    .instr_req_o           (instr_req),
    .instr_gnt_i           (instr_gnt),
    .instr_rvalid_i        (instr_rvalid),
    .instr_addr_o          (instr_addr),
    .instr_rdata_i         (instr_rdata),
    .instr_rdata_intg_i    ('0),
    .instr_err_i           (instr_err),
    .data_req_o            (data_req),
    .data_gnt_i            (data_gnt),
    .data_rvalid_i         (data_rvalid),
    .data_we_o             (data_we),
    .data_be_o             (data_be),
    .data_addr_o           (data_addr),
    .data_wdata_o          (data_wdata),
    .data_wdata_intg_o     (),
    .data_rdata_i          (data_rdata),
    .data_rdata_intg_i     ('0),
    .data_err_i            (data_err),
    .irq_software_i        (1'b0),
    .irq_timer_i           (1'b0),
    .irq_external_i        (1'b0),
    .irq_fast_i            ('0),
    .irq_nm_i              (1'b0),
    .scramble_key_valid_i  (1'b0),
    .scramble_key_i        ('0),
    .scramble_nonce_i      ('0),
    .scramble_req_o        (),
    .debug_req_i           (1'b0),
    .crash_dump_o          (),
    .double_fault_seen_o   (),
    .fetch_enable_i        (ibex_pkg::IbexMuBiOn),
    .alert_minor_o         (),
    .alert_major_internal_o(),
    .alert_major_bus_o     (),
    .core_sleep_o          (),
    .scan_rst_ni           (1'b1)
  );

  logic        fetch_req, fetch_rvalid, fetch_err, mem_req, mem_rvalid, mem_err, mem_we;
  logic [3:0]  mem_be;
  logic [31:0] fetch_addr, fetch_rdata, mem_addr, mem_wdata, mem_rdata, ctrl_rdata;
  logic        in_control, ctrl_err;

  tau_obi_mmu #(
    .PageBits  (PageBits),
    .FrameBits (FrameBits),
    .FramesBase(FramesBase)
  ) u_mmu (
    .clk_i,
    .rst_ni,
    .instr_user_i          (1'b0),
    .instr_req_i           (instr_req),
    .instr_gnt_o           (instr_gnt),
    .instr_addr_i          (instr_addr),
    .instr_rvalid_o        (instr_rvalid),
    .instr_rdata_o         (instr_rdata),
    .instr_err_o           (instr_err),
    .data_user_i           (1'b0),
    .data_req_i            (data_req),
    .data_gnt_o            (data_gnt),
    .data_addr_i           (data_addr),
    .data_we_i             (data_we),
    .data_be_i             (data_be),
    .data_wdata_i          (data_wdata),
    .data_rvalid_o         (data_rvalid),
    .data_rdata_o          (data_rdata),
    .data_err_o            (data_err),
    .instr_mem_req_o       (fetch_req),
    .instr_mem_gnt_i       (1'b1),
    .instr_mem_translated_o(),
    .instr_mem_addr_o      (fetch_addr),
    .instr_mem_rvalid_i    (fetch_rvalid),
    .instr_mem_rdata_i     (fetch_rdata),
    .instr_mem_err_i       (fetch_err),
    .data_mem_req_o        (mem_req),
    .data_mem_gnt_i        (1'b1),
    .data_mem_translated_o (),
    .data_mem_addr_o       (mem_addr),
    .data_mem_we_o         (mem_we),
    .data_mem_be_o         (mem_be),
    .data_mem_wdata_o      (mem_wdata),
    .data_mem_rvalid_i     (mem_rvalid),
    .data_mem_rdata_i      (mem_rdata),
    .data_mem_err_i        (mem_err),
    .instr_answer_cause_o  (),
    .data_answer_cause_o   (),
    .window_req_o          (),
    .event_hit_o           (),
    .event_miss_o          (),
    .ctrl_req_i            (mem_req && in_control),
    .ctrl_gnt_o            (),
    .ctrl_addr_i           (mem_addr[PageBits+4:0]),
    .ctrl_we_i             (mem_we),
    .ctrl_be_i             (mem_be),
    .ctrl_wdata_i          (mem_wdata),
    .ctrl_rvalid_o         (),
    .ctrl_rdata_o          (ctrl_rdata),
    .ctrl_err_o            (ctrl_err),
    .instr_cause_o         (),
    .data_cause_o          ()
  );

  // Everything answers one cycle after its request.
  logic        in_memory, in_devices, in_control_q, outside_q;
  logic [31:0] memory_rdata;
  assign in_memory = mem_addr[31:20] == MemoryBase[31:20];
  assign in_control = mem_addr[31:PageBits+5] == ControlBase[31:PageBits+5];
  assign in_devices = mem_addr[31:3] == DevicesBase[31:3] && mem_we;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {mem_rvalid, fetch_err, in_control_q, outside_q} <= '0;
    end else begin
      mem_rvalid <= mem_req;
      in_control_q <= in_control;
      outside_q <= !(in_memory || in_control || in_devices);
      fetch_err <= fetch_addr[31:20] != MemoryBase[31:20];
    end
  end
  assign mem_rdata = in_control_q ? ctrl_rdata : memory_rdata;
  assign mem_err = outside_q || (in_control_q && ctrl_err);

  tau_ram #(
    .WordBits(MemoryBits)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .a_req_i      (mem_req && in_memory),
    .a_addr_i     (mem_addr[MemoryBits+1:2]),
    .a_we_i       (mem_we),
    .a_be_i       (mem_be),
    .a_wdata_i    (mem_wdata),
    .a_rdata_o    (memory_rdata),
    .read_req_i   (fetch_req),
    .read_addr_i  (fetch_addr[MemoryBits+1:2]),
    .read_rvalid_o(fetch_rvalid),
    .read_rdata_o (fetch_rdata)
  );

  assign console_valid_o = mem_req && in_devices && !mem_addr[2];
  assign exit_valid_o = mem_req && in_devices && mem_addr[2];
  assign word_o = mem_wdata;
  logic unused;
  assign unused = ^{fetch_addr[1:0], mem_addr[1:0]};

`ifdef TAU_EXAMPLE_PROGRAM
  initial $readmemh(`"`TAU_EXAMPLE_PROGRAM`", u_memory.memory);
`endif
endmodule
