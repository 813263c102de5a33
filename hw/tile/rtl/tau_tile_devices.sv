// The devices at 0x4000_0000: console, exit, cycles, timer, mailbox, counters. hw/tile/doc/tile.md
// lists the registers. A read is answered one cycle later. A write is a whole word.
module tau_tile_devices
  import tau_tile_pkg::*;
#(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned GranuleBits = 12,
  parameter int unsigned Unit = 0
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [31:0]         tile_i,

  input  logic                req_i,
  input  logic                we_i,
  input  logic [9:0]          addr_i,  // bytes
  input  logic [31:0]         wdata_i,
  output logic [31:0]         rdata_o,

  // Events of this cycle, one bit per counter.
  input  logic [SizeCounters-1:0] count_i,
  // Cause of the latest error of each port.
  input  logic [1:0]          instr_cause_i,
  input  logic [1:0]          data_cause_i,
  // Words that DMA channels moved so far.
  input  logic [31:0]         words_moved_i,
  input  logic                core_sleep_i,
  // The kernel's registers of DMA channels: address bits tell which.
  output logic                dma_we_o,
  output logic [63:0]         cycle_o,
  output logic [31:0]         misses_fetch_o,
  output logic [31:0]         misses_data_o,
  output logic                timer_irq_o,
  output logic                instr_lock_o
);

  logic [63:0] timer_compare_q;
  logic [63:0] counter_q[SizeCounters];
  logic [31:0] high_q;
  assign misses_fetch_o = counter_q[CounterMissesFetch][31:0];
  assign misses_data_o = counter_q[CounterMissesData][31:0];
  assign dma_we_o = req_i && we_i && addr_i[9:7] == RegisterDma[9:7];

  logic [31:0] awake_cycles_q;  // since the core last slept
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycle_o <= '0;
      awake_cycles_q <= '0;
      timer_irq_o <= 1'b0;
    end else begin
      cycle_o <= cycle_o + 64'd1;
      awake_cycles_q <= core_sleep_i ? '0 : awake_cycles_q + 32'd1;
      timer_irq_o <= cycle_o >= timer_compare_q;
    end
  end

  for (genvar i = 0; i < SizeCounters; i++) begin : gen_counter
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) counter_q[i] <= '0;
      else if (count_i[i]) counter_q[i] <= counter_q[i] + 64'd1;
    end
  end

  // Reading the low word of a 64-bit number latches its high word for the next read.
  logic [63:0] pair;
  always_comb begin
    pair = cycle_o;
    if (addr_i[9:7] == RegisterCounters[9:7]) pair = counter_q[addr_i[6:3]];
    else if (addr_i[9:3] == RegisterTimerCompare[9:3]) pair = timer_compare_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      high_q <= '0;
    end else if (req_i && !we_i && !addr_i[2]) begin
      high_q <= pair[63:32];
    end
  end

  // Not reset: an answer, which is used only after a read.
  always_ff @(posedge clk_i) begin
    if (req_i && !we_i) begin
      unique case (addr_i) inside
        10'(RegisterCycle), 10'(RegisterTimerCompare),
        [10'(RegisterCounters) : 10'(RegisterCounters) + 10'd127]:
          rdata_o <= addr_i[2] ? high_q : pair[31:0];
        10'(RegisterCycle) + 10'd4, 10'(RegisterTimerCompare) + 10'd4: rdata_o <= high_q;
        10'(RegisterNumber): rdata_o <= tile_i;
        10'(RegisterConfig): rdata_o <= {8'(GranuleBits), 8'(Unit), 8'(FrameBits), 8'(PageBits)};
        10'(RegisterFetchCause): rdata_o <= {30'd0, instr_cause_i};
        10'(RegisterDataCause): rdata_o <= {30'd0, data_cause_i};
        10'(RegisterStatus): rdata_o <= tau_host_pkg::tau_host_command_status(tile_i);
        [10'(RegisterCommand) : 10'(RegisterCommand) + 10'd15]:
          rdata_o <= tau_host_pkg::tau_host_command_word(tile_i, 32'(addr_i[3:2]));
        [10'(RegisterReady) : 10'(RegisterReady) + 10'd63]:
          rdata_o <= tau_host_pkg::tau_host_ready(tile_i, 32'(addr_i[5:2]), cycle_o);
        default: rdata_o <= '0;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      timer_compare_q <= '1;
      instr_lock_o <= 1'b0;
    end else if (req_i && we_i) begin
      unique case (addr_i) inside
        10'(RegisterConsole): tau_host_pkg::tau_host_console(tile_i, wdata_i);
        10'(RegisterExit): tau_host_pkg::tau_host_exit(tile_i, wdata_i);
        10'(RegisterTimerCompare): timer_compare_q[31:0] <= wdata_i;
        10'(RegisterTimerCompare) + 10'd4: timer_compare_q[63:32] <= wdata_i;
        10'(RegisterLock): instr_lock_o <= 1'b1;
        10'(RegisterOwner):
          tau_host_pkg::tau_host_owner(tile_i, wdata_i, misses_fetch_o, misses_data_o,
                                       words_moved_i, awake_cycles_q, cycle_o);
        10'(RegisterNext): tau_host_pkg::tau_host_command_next(tile_i);
        10'(RegisterFaultRecords): tau_host_pkg::tau_host_fault_records(tile_i, wdata_i);
        [10'(RegisterStart) : 10'(RegisterStart) + 10'd127]:
          tau_host_pkg::tau_host_stopwatch(tile_i, 32'(addr_i[6:4]), 32'(addr_i[3:2]), wdata_i,
                                           cycle_o);
        [10'(RegisterReady) : 10'(RegisterReady) + 10'd63]:
          tau_host_pkg::tau_host_ready_set(tile_i, 32'(addr_i[5:2]), wdata_i, cycle_o);
        default: ;
      endcase
    end
  end

  final begin
    for (int unsigned i = 0; i < SizeCounters; i++) begin
      tau_host_pkg::tau_host_counter(tile_i, i, counter_q[i]);
    end
    tau_host_pkg::tau_host_counter(tile_i, SizeCounters, cycle_o);
  end
endmodule
