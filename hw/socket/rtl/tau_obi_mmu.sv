// An MMU for a core with OBI buses, with its tables inside. The buses of tau_mmu_buses.svh are
// between core and memory. Software writes tables and registers through a third bus, the control,
// which is answered one cycle after the request, always.
//
// The control has 4 parts of 2^PartBits bytes. Everything else in them gets an error.
// - 0, 1, 2: the three memories of tables: 2^(PageBits + 1) words each, half as many in the last
// - 3: words 0 to 255 are the unit's registers. Word 256 is the cause of the latest error of a
//   fetch, word 257 of a load or store (tau_mmu_causes.sv).
module tau_obi_mmu #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned GranuleBits = 12,
  parameter logic [31:0] FramesBase = 32'hC000_0000,
  // Cycles from a lookup's read to its answer, of the three memories.
  parameter int unsigned Latency0 = 1,
  parameter int unsigned Latency1 = 1,
  parameter int unsigned Latency2 = 1,
  localparam int unsigned PartBits = PageBits + 3 < 11 ? 11 : PageBits + 3
) (
  input  logic              clk_i,
  input  logic              rst_ni,

`include "tau_mmu_buses.svh"

  input  logic              ctrl_req_i,
  output logic              ctrl_gnt_o,
  input  logic [PartBits+1:0] ctrl_addr_i,
  input  logic              ctrl_we_i,
  input  logic [3:0]        ctrl_be_i,
  input  logic [31:0]       ctrl_wdata_i,
  output logic              ctrl_rvalid_o,
  output logic [31:0]       ctrl_rdata_o,
  output logic              ctrl_err_o,

  output logic [1:0]        instr_cause_o,
  output logic [1:0]        data_cause_o
);

  logic [4:0]             table_req, table_rvalid;
  logic [4:0][PageBits:0] table_addr;
  logic [4:0][31:0]       table_rdata;

  // The addressed part, and whether its word exists.
  logic [1:0]       part, part_q;
  logic [3:0]       part_req;
  logic [3:0][31:0] rdata;
  logic [31:0]      reg_rdata;
  logic             exists, is_cause_q, is_data_q;
  assign part = ctrl_addr_i[PartBits+1-:2];
  always_comb begin
    unique case (part)
      2'd2: exists = (ctrl_addr_i[PartBits-1:0] >> (PageBits + 2)) == '0;
      2'd3: exists = (ctrl_addr_i[PartBits-1:0] >> 11) == '0;
      default: exists = (ctrl_addr_i[PartBits-1:0] >> (PageBits + 3)) == '0;
    endcase
    part_req = '0;
    part_req[part] = ctrl_req_i && exists;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {ctrl_rvalid_o, ctrl_err_o} <= '0;
    else {ctrl_rvalid_o, ctrl_err_o} <= {ctrl_req_i, ctrl_req_i && !exists};
  end
  // Not reset: the kind of an answer, which ctrl_rvalid_o qualifies.
  always_ff @(posedge clk_i) begin
    {part_q, is_cause_q, is_data_q} <= {part, ctrl_addr_i[10], ctrl_addr_i[2]};
  end
  assign ctrl_gnt_o = 1'b1;
  assign ctrl_rdata_o = rdata[part_q];
  assign rdata[3] = !is_cause_q ? reg_rdata : {30'd0, is_data_q ? data_cause_o : instr_cause_o};
  logic unused;
  assign unused = ^ctrl_addr_i[1:0];

  tau_mmu #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .GranuleBits(GranuleBits),
    .FramesBase (FramesBase),
    .Latency0   (Latency0),
    .Latency1   (Latency1),
    .Latency2   (Latency2)
  ) u_mmu (
    .table_req_o   (table_req),
    .table_addr_o  (table_addr),
    .table_rvalid_i(table_rvalid),
    .table_rdata_i (table_rdata),
    .reg_req_i     (part_req[3] && !ctrl_addr_i[10]),
    .reg_write_i   (ctrl_we_i),
    .reg_addr_i    (ctrl_addr_i[9:2]),
    .reg_wdata_i   (ctrl_wdata_i),
    .reg_rdata_o   (reg_rdata),
    .*  // clock, reset and the buses
  );

  tau_mmu_causes u_causes (
    .instr_rvalid_i      (instr_rvalid_o),
    .instr_err_i         (instr_err_o),
    .instr_gnt_i         (instr_gnt_o),
    .instr_answer_cause_i(instr_answer_cause_o),
    .data_rvalid_i       (data_rvalid_o),
    .data_err_i          (data_err_o),
    .data_gnt_i          (data_gnt_o),
    .data_answer_cause_i (data_answer_cause_o),
    .*
  );

// A memory of tables: its part of the control, and the ports of its Count readers.
`define TAU_OBI_MMU_TABLE(Part, Words, Count, Delay, Req, Addr, Rvalid, Rdata)                     \
  tau_ram #(                                                                                       \
    .WordBits(Words),                                                                              \
    .Readers (Count),                                                                              \
    .Latency (Delay)                                                                               \
  ) u_table``Part (                                                                                \
    .clk_i,                                                                                        \
    .rst_ni,                                                                                       \
    .a_req_i      (part_req[Part]),                                                                \
    .a_addr_i     (ctrl_addr_i[Words+1:2]),                                                        \
    .a_we_i       (ctrl_we_i),                                                                     \
    .a_be_i       (ctrl_be_i),                                                                     \
    .a_wdata_i    (ctrl_wdata_i),                                                                  \
    .a_rdata_o    (rdata[Part]),                                                                   \
    .read_req_i   (Req),                                                                           \
    .read_addr_i  (Addr),                                                                          \
    .read_rvalid_o(Rvalid),                                                                        \
    .read_rdata_o (Rdata)                                                                          \
  );

  `TAU_OBI_MMU_TABLE(0, PageBits + 1, 2, Latency0, {table_req[3], table_req[0]},
                     {table_addr[3], table_addr[0]}, {table_rvalid[3], table_rvalid[0]},
                     {table_rdata[3], table_rdata[0]})
  `TAU_OBI_MMU_TABLE(1, PageBits + 1, 2, Latency1, {table_req[4], table_req[1]},
                     {table_addr[4], table_addr[1]}, {table_rvalid[4], table_rvalid[1]},
                     {table_rdata[4], table_rdata[1]})
  `TAU_OBI_MMU_TABLE(2, PageBits, 1, Latency2, table_req[2], table_addr[2][PageBits-1:0],
                     table_rvalid[2], table_rdata[2])
endmodule
