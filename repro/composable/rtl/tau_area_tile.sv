// A tile for synthesis: the core, banks for the kernel, the memory that applications share, all
// block RAMs, and a timer. Two forms: with `Translated` the unit stands between the core and the
// applications' memory, and there is a memory for its tables; without it, the core has the same
// memories, untranslated. So the two differ in virtual memory only.
module tau_area_tile #(
  parameter bit Translated = 1'b0
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  output logic [7:0] console_o,
  output logic       kept_o
);
  localparam int unsigned PageBits = 18;
  localparam int unsigned FrameBits = 18;
  localparam int unsigned BankBits = 12;  // of a word's number: 16 KiB each
  localparam int unsigned MemoryBits = 13;  // 32 KiB
  localparam int unsigned TableBits = 10;  // tables of eight applications

  logic [1:0]               req, translated, in_memory, err;
  logic [1:0][31:0]         addr, rdata, memory_rdata;
  logic                     we, timer_irq;
  logic [3:0]               be;
  logic [31:0]              wdata;
  logic [1:0]               table_req, table_rvalid_q;
  logic [1:0][PageBits:0]   table_addr;
  logic [1:0][31:0]         table_rdata;
  logic                     unit_take;
  logic [31:0]              rdata_unit;

  tau_area_core #(
    .Translated(Translated),
    .PageBits(PageBits),
    .FrameBits(FrameBits)
  ) u_core (
    .clk_i,
    .rst_ni,
    .timer_irq_i(timer_irq),
    .mem_req_o(req), .mem_translated_o(translated), .mem_addr_o(addr), .mem_we_o(we),
    .mem_be_o(be), .mem_wdata_o(wdata), .mem_rdata_i(rdata), .mem_err_i(err),
    .table_req_o(table_req), .table_addr_o(table_addr), .table_rvalid_i(table_rvalid_q),
    .table_rdata_i(table_rdata),
    .reg_req_i(unit_take), .reg_rdata_o(rdata_unit)
  );

  // Everything is answered one cycle after the request.
  typedef enum logic [2:0] {
    PartInstr, PartData, PartTable, PartDevice, PartUnit, PartMemory, PartNone
  } part_e;
  part_e       part, part_q;
  logic [31:0] rdata_instr, rdata_data, rdata_table, rdata_device, rdata_fetch;
  logic        fetch_memory_q;
  assign unit_take = req[1] && part == PartUnit;
  for (genvar i = 0; i < 2; i++) begin : gen_in_memory
    assign in_memory[i] = Translated ? translated[i] : addr[i][31];
  end
  always_comb begin
    part = in_memory[1] ? PartMemory : PartNone;
    if (!in_memory[1]) begin
      unique case (addr[1][31:24])
        8'h00: part = addr[1][19] ? PartData : PartInstr;
        8'h20: part = PartTable;
        8'h40: part = PartDevice;
        8'h41: part = PartUnit;
        default: part = PartNone;
      endcase
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      part_q <= PartNone;
      err[0] <= 1'b0;
      fetch_memory_q <= 1'b0;
    end else begin
      if (req[1]) part_q <= part;
      fetch_memory_q <= in_memory[0];
      err[0] <= addr[0][31:20] != 12'h001 && !in_memory[0];
    end
  end
  assign err[1] = part_q == PartNone;
  assign rdata[0] = fetch_memory_q ? memory_rdata[0] : rdata_fetch;
  always_comb begin
    unique case (part_q)
      PartInstr: rdata[1] = rdata_instr;
      PartData: rdata[1] = rdata_data;
      PartTable: rdata[1] = rdata_table;
      PartDevice: rdata[1] = rdata_device;
      PartUnit: rdata[1] = rdata_unit;
      PartMemory: rdata[1] = memory_rdata[1];
      default: rdata[1] = '0;
    endcase
  end

  tau_area_memory #(.WordBits(BankBits)) u_instr_bank (
    .clk_i,
    .a_req_i(req[1] && part == PartInstr), .a_addr_i(addr[1][BankBits+1:2]), .a_we_i(we),
    .a_be_i(be), .a_wdata_i(wdata), .a_rdata_o(rdata_instr),
    .b_addr_i(addr[0][BankBits+1:2]), .b_rdata_o(rdata_fetch),
    .c_addr_i('0), .c_rdata_o()
  );
  tau_area_memory #(.WordBits(BankBits)) u_data_bank (
    .clk_i,
    .a_req_i(req[1] && part == PartData), .a_addr_i(addr[1][BankBits+1:2]), .a_we_i(we),
    .a_be_i(be), .a_wdata_i(wdata), .a_rdata_o(rdata_data),
    .b_addr_i('0), .b_rdata_o(),
    .c_addr_i('0), .c_rdata_o()
  );

  // Timer and console.
  logic [63:0] cycle_q, compare_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycle_q <= '0;
      compare_q <= '1;
      timer_irq <= 1'b0;
      console_o <= '0;
    end else begin
      cycle_q <= cycle_q + 1'b1;
      timer_irq <= cycle_q >= compare_q;
      if (req[1] && part == PartDevice && we) begin
        unique case (addr[1][3:2])
          2'd0: compare_q[31:0] <= wdata;
          2'd1: compare_q[63:32] <= wdata;
          default: console_o <= wdata[7:0];
        endcase
      end
    end
  end
  always_ff @(posedge clk_i) begin
    rdata_device <= addr[1][2] ? cycle_q[63:32] : cycle_q[31:0];
  end

  // The memory of applications.
  tau_area_memory #(.WordBits(MemoryBits)) u_memory (
    .clk_i,
    .a_req_i(req[1] && part == PartMemory), .a_addr_i(addr[1][MemoryBits+1:2]), .a_we_i(we),
    .a_be_i(be), .a_wdata_i(wdata), .a_rdata_o(memory_rdata[1]),
    .b_addr_i(addr[0][MemoryBits+1:2]), .b_rdata_o(memory_rdata[0]),
    .c_addr_i('0), .c_rdata_o()
  );
  // It needs few bits of a frame's number. The rest are kept as if it needed all.
  always_ff @(posedge clk_i) begin
    kept_o <= Translated && ^{addr[0][FrameBits+9:MemoryBits+2], addr[1][FrameBits+9:MemoryBits+2]};
  end

  if (Translated) begin : gen_table
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) table_rvalid_q <= '0;
      else table_rvalid_q <= table_req;
    end
    tau_area_memory #(.WordBits(TableBits)) u_table (
      .clk_i,
      .a_req_i(req[1] && part == PartTable), .a_addr_i(addr[1][TableBits+1:2]), .a_we_i(we),
      .a_be_i(be), .a_wdata_i(wdata), .a_rdata_o(rdata_table),
      .b_addr_i(table_addr[0][TableBits-1:0]), .b_rdata_o(table_rdata[0]),
      .c_addr_i(table_addr[1][TableBits-1:0]), .c_rdata_o(table_rdata[1])
    );
  end else begin : gen_no_table
    assign table_rvalid_q = '0;
    assign table_rdata = '0;
    assign rdata_table = '0;
  end
endmodule
