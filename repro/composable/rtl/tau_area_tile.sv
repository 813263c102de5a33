// A tile for synthesis: the core, banks for the kernel, the memory that applications share, all
// block RAMs, and a timer. Two forms: with `Translated` the unit stands between the core and the
// applications' memory, and there is a memory for its tables; without it, the core has the same
// memories, untranslated. So the two differ in virtual memory only.
module tau_area_tile #(
  parameter bit Translated = 1'b0,
  parameter int unsigned Entries = 4
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  output logic [7:0] console_o,
  output logic       kept_o
);
  localparam int unsigned PageBits = 18;
  localparam int unsigned FrameBits = 18;
  localparam int unsigned WordBits = FrameBits + 8;
  localparam int unsigned BankBits = 12;  // of a word's number: 16 KiB each
  localparam int unsigned MemoryBits = 13;  // 32 KiB
  localparam int unsigned TableBits = 10;  // tables of eight applications

  logic [1:0][31:0]         addr;
  logic                     we, timer_irq;
  logic [3:0]               be;
  logic [31:0]              wdata;
  logic [1:0]               local_req, local_outside, local_err;
  logic [1:0][31:0]         local_rdata;
  logic [1:0]               frame_req;
  logic [1:0][WordBits-1:0] frame_word;
  logic [1:0][31:0]         memory_rdata;
  logic                     frame_we;
  logic [3:0]               frame_be;
  logic [31:0]              frame_wdata;
  logic [1:0]               table_req, table_rvalid_q;
  logic [1:0][PageBits:0]   table_addr;
  logic [1:0][31:0]         table_rdata;
  logic                     unit_take;
  logic [31:0]              rdata_unit;

  tau_area_core #(
    .Translated(Translated),
    .Entries(Entries),
    .PageBits(PageBits),
    .FrameBits(FrameBits)
  ) u_core (
    .clk_i,
    .rst_ni,
    .timer_irq_i(timer_irq),
    .local_req_o(local_req), .local_outside_o(local_outside), .local_addr_o(addr), .local_we_o(we),
    .local_be_o(be), .local_wdata_o(wdata), .local_rdata_i(local_rdata), .local_err_i(local_err),
    .frame_req_o(frame_req), .frame_word_o(frame_word), .frame_we_o(frame_we),
    .frame_be_o(frame_be), .frame_wdata_o(frame_wdata), .frame_rdata_i(memory_rdata),
    .table_req_o(table_req), .table_addr_o(table_addr), .table_rvalid_i(table_rvalid_q),
    .table_rdata_i(table_rdata),
    .reg_req_i(unit_take), .reg_rdata_o(rdata_unit)
  );

  // The local side: answered one cycle after the request.
  typedef enum logic [2:0] {
    PartInstr, PartData, PartTable, PartDevice, PartUnit, PartMemory, PartNone
  } part_e;
  part_e       part, part_q;
  logic [31:0] rdata_instr, rdata_data, rdata_table, rdata_device, rdata_fetch;
  logic        fetch_memory, fetch_memory_q;
  assign unit_take = local_req[1] && part == PartUnit;
  assign fetch_memory = !Translated && addr[0][31];
  always_comb begin
    part = PartNone;
    if (!local_outside[1]) begin
      unique case (addr[1][31:24])
        8'h00: part = addr[1][19] ? PartData : PartInstr;
        8'h20: part = PartTable;
        8'h40: part = PartDevice;
        8'h41: part = PartUnit;
        8'h80: part = Translated ? PartNone : PartMemory;
        default: part = PartNone;
      endcase
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      part_q <= PartNone;
      local_err[0] <= 1'b0;
      fetch_memory_q <= 1'b0;
    end else begin
      if (local_req[1]) part_q <= part;
      fetch_memory_q <= fetch_memory;
      local_err[0] <= local_outside[0] || (addr[0][31:20] != 12'h001 && !fetch_memory);
    end
  end
  assign local_err[1] = part_q == PartNone;
  assign local_rdata[0] = fetch_memory_q ? memory_rdata[0] : rdata_fetch;
  always_comb begin
    unique case (part_q)
      PartInstr: local_rdata[1] = rdata_instr;
      PartData: local_rdata[1] = rdata_data;
      PartTable: local_rdata[1] = rdata_table;
      PartDevice: local_rdata[1] = rdata_device;
      PartUnit: local_rdata[1] = rdata_unit;
      PartMemory: local_rdata[1] = memory_rdata[1];
      default: local_rdata[1] = '0;
    endcase
  end

  tau_area_memory #(.WordBits(BankBits)) u_instr_bank (
    .clk_i,
    .a_req_i(local_req[1] && part == PartInstr), .a_addr_i(addr[1][BankBits+1:2]), .a_we_i(we),
    .a_be_i(be), .a_wdata_i(wdata), .a_rdata_o(rdata_instr),
    .b_addr_i(addr[0][BankBits+1:2]), .b_rdata_o(rdata_fetch),
    .c_addr_i('0), .c_rdata_o()
  );
  tau_area_memory #(.WordBits(BankBits)) u_data_bank (
    .clk_i,
    .a_req_i(local_req[1] && part == PartData), .a_addr_i(addr[1][BankBits+1:2]), .a_we_i(we),
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
      if (local_req[1] && part == PartDevice && we) begin
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
  logic [1:0][MemoryBits-1:0] memory_word;
  for (genvar i = 0; i < 2; i++) begin : gen_word
    assign memory_word[i] = Translated ? frame_word[i][MemoryBits-1:0] : addr[i][MemoryBits+1:2];
  end
  tau_area_memory #(.WordBits(MemoryBits)) u_memory (
    .clk_i,
    .a_req_i(Translated ? frame_req[1] : local_req[1] && part == PartMemory),
    .a_addr_i(memory_word[1]), .a_we_i(Translated ? frame_we : we),
    .a_be_i(Translated ? frame_be : be), .a_wdata_i(Translated ? frame_wdata : wdata),
    .a_rdata_o(memory_rdata[1]),
    .b_addr_i(memory_word[0]), .b_rdata_o(memory_rdata[0]),
    .c_addr_i('0), .c_rdata_o()
  );
  // It needs few bits of a frame's number. The rest are kept as if it needed all.
  always_ff @(posedge clk_i) begin
    kept_o <= ^{frame_word[0][WordBits-1:MemoryBits], frame_word[1][WordBits-1:MemoryBits]};
  end

  if (Translated) begin : gen_table
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) table_rvalid_q <= '0;
      else table_rvalid_q <= table_req;
    end
    tau_area_memory #(.WordBits(TableBits)) u_table (
      .clk_i,
      .a_req_i(local_req[1] && part == PartTable), .a_addr_i(addr[1][TableBits+1:2]), .a_we_i(we),
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
