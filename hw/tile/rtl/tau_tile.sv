// One tile: an Ibex core, its memories and devices, and a socket for the unit that translates the
// window on both of the core's ports. Simulation only: the host fills the memories and serves
// frames and mailbox. hw/README.md has the block diagram, hw/tile/doc/tile.md has every address.
//
// `TAU_UNIT_NUMBER says which unit it is; tau_mmu.sv has the other words for it.
`include "tau_assert.svh"

module tau_tile
  import tau_tile_pkg::*;
#(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned GranuleBits = 12,  // of an address inside the smallest page
  parameter int unsigned Latency0 = 1,
  parameter int unsigned Latency1 = 1,
  parameter int unsigned Latency2 = 1,
  parameter bit WritebackStage = 1'b0,
  parameter bit BranchTargetALU = 1'b0,
  parameter ibex_pkg::rv32m_e RV32M = ibex_pkg::RV32MFast,
  parameter ibex_pkg::rv32b_e RV32B = ibex_pkg::RV32BNone,
  parameter int unsigned Tile = 0,
  // Frames of the upper half are devices (tau_tile_special.sv), and there is a memory tile.
  parameter bit SpecialFrames = 1'b0,
  localparam int unsigned OffsetBits = GranuleBits - 2,  // of a word in a page
  localparam int unsigned WordBits = FrameBits + OffsetBits,
  localparam int unsigned LinkBits = $clog2(SizeCommunicationFrames) + OffsetBits
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // Random wait states, for tests: tau_tile_stall.sv.
  input  logic [7:0]          stall_threshold_i,
  input  logic [31:0]         stall_seed_i,
  input  logic                dma_turns_i,

  // Words for the other tile: stores of the core, and what DMA channels move.
  output logic                link_store_valid_o,
  output logic [LinkBits-1:0] link_store_word_o,
  output logic [3:0]          link_store_be_o,
  output logic [31:0]         link_store_wdata_o,
  output logic                link_move_valid_o,
  output logic [WordBits-1:0] link_move_source_o,
  output logic [LinkBits-1:0] link_move_destination_o
);

  localparam int unsigned BankBits = $clog2(SizeBankBytes) - 2;  // of a word's number
  localparam int unsigned PlainBits = $clog2(SizePlainBytes) - 2;

  // The core.
  logic                   instr_req, instr_gnt, instr_rvalid, instr_err;
  logic [31:0]            instr_addr, instr_rdata;
  logic                   data_req, data_gnt, data_rvalid, data_err, data_we;
  logic [3:0]             data_be;
  logic [31:0]            data_addr, data_wdata, data_rdata;
  logic                   timer_irq, double_fault, core_sleep;
  ibex_pkg::crash_dump_t  crash_dump;

  ibex_top #(
    .PMPEnable      (1'b0),
    .RV32M          (RV32M),
    .RegFile        (ibex_pkg::RegFileFPGA),
    .RV32B          (RV32B),
    .WritebackStage (WritebackStage),
    .BranchTargetALU(BranchTargetALU)
  ) u_core (
    .clk_i,
    .rst_ni,
    .test_en_i             (1'b0),
    .ram_cfg_i             ('0),
    .hart_id_i             (Tile),
    .boot_addr_i           (AddressInstr),
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
    .irq_timer_i           (timer_irq),
    .irq_external_i        (1'b0),
    .irq_fast_i            ('0),
    .irq_nm_i              (1'b0),
    .scramble_key_valid_i  (1'b0),
    .scramble_key_i        ('0),
    .scramble_nonce_i      ('0),
    .scramble_req_o        (),
    .debug_req_i           (1'b0),
    .crash_dump_o          (crash_dump),
    .double_fault_seen_o   (double_fault),
    .fetch_enable_i        (ibex_pkg::IbexMuBiOn),
    .alert_minor_o         (),
    .alert_major_internal_o(),
    .alert_major_bus_o     (),
    .core_sleep_o          (core_sleep),
    .scan_rst_ni           (1'b1)
  );

  // The core has no port for its privilege mode. In the cycle of a trap or mret, the first fetch of
  // the new stream is already on the bus. Fetches therefore use the next mode.
  logic instr_user, data_user;
  assign instr_user = u_core.u_ibex_core.cs_registers_i.priv_lvl_d == ibex_pkg::PRIV_LVL_U;
  assign data_user = u_core.u_ibex_core.priv_mode_lsu == ibex_pkg::PRIV_LVL_U;

  logic [3:0] stall;
  tau_tile_stall u_stall (
    .clk_i,
    .rst_ni,
    .threshold_i(stall_threshold_i),
    .seed_i     (stall_seed_i),
    .stall_o    (stall)
  );

  // The MMU: the buses behind it, and what it tells.
  logic             instr_mem_req, instr_mem_gnt, instr_mem_translated, instr_mem_rvalid;
  logic [31:0]      instr_mem_addr, instr_mem_rdata;
  logic             mem_req, mem_gnt, mem_translated, mem_we, mem_rvalid, mem_err, instr_mem_err;
  logic [3:0]       mem_be;
  logic [31:0]      mem_addr, mem_wdata, mem_rdata;
  logic [1:0]       window_req, event_hit, event_miss;
  logic [1:0]       instr_answer_cause, data_answer_cause, instr_cause, data_cause, ctrl_part;
  logic             ctrl_req;
  logic [31:0]      ctrl_rdata;

  tau_obi_mmu #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .GranuleBits(GranuleBits),
    .FramesBase (AddressFrames),
    .Latency0   (Latency0),
    .Latency1   (Latency1),
    .Latency2   (Latency2)
  ) u_mmu (
    .clk_i,
    .rst_ni,
    .instr_user_i          (instr_user),
    .instr_req_i           (instr_req),
    .instr_gnt_o           (instr_gnt),
    .instr_addr_i          (instr_addr),
    .instr_rvalid_o        (instr_rvalid),
    .instr_rdata_o         (instr_rdata),
    .instr_err_o           (instr_err),
    .data_user_i           (data_user),
    .data_req_i            (data_req),
    .data_gnt_o            (data_gnt),
    .data_addr_i           (data_addr),
    .data_we_i             (data_we),
    .data_be_i             (data_be),
    .data_wdata_i          (data_wdata),
    .data_rvalid_o         (data_rvalid),
    .data_rdata_o          (data_rdata),
    .data_err_o            (data_err),
    .instr_mem_req_o       (instr_mem_req),
    .instr_mem_gnt_i       (instr_mem_gnt),
    .instr_mem_translated_o(instr_mem_translated),
    .instr_mem_addr_o      (instr_mem_addr),
    .instr_mem_rvalid_i    (instr_mem_rvalid),
    .instr_mem_rdata_i     (instr_mem_rdata),
    .instr_mem_err_i       (instr_mem_err),
    .data_mem_req_o        (mem_req),
    .data_mem_gnt_i        (mem_gnt),
    .data_mem_translated_o (mem_translated),
    .data_mem_addr_o       (mem_addr),
    .data_mem_we_o         (mem_we),
    .data_mem_be_o         (mem_be),
    .data_mem_wdata_o      (mem_wdata),
    .data_mem_rvalid_i     (mem_rvalid),
    .data_mem_rdata_i      (mem_rdata),
    .data_mem_err_i        (mem_err),
    .instr_answer_cause_o  (instr_answer_cause),
    .data_answer_cause_o   (data_answer_cause),
    .window_req_o          (window_req),
    .event_hit_o           (event_hit),
    .event_miss_o          (event_miss),
    .ctrl_req_i            (ctrl_req),
    .ctrl_gnt_o            (),
    .ctrl_addr_i           ({ctrl_part, ($bits(u_mmu.ctrl_addr_i) - 2)'(mem_addr)}),
    .ctrl_we_i             (mem_we),
    .ctrl_be_i             (mem_be),
    .ctrl_wdata_i          (mem_wdata),
    .ctrl_rvalid_o         (),
    .ctrl_rdata_o          (ctrl_rdata),
    .ctrl_err_o            (),
    .instr_cause_o         (instr_cause),
    .data_cause_o          (data_cause)
  );

  // Fetches: the instruction bank, a frame through the window, or nothing.
  logic instr_take, instr_in_bank, instr_translated_q;
  assign instr_mem_gnt = instr_mem_translated ? !stall[2] : !stall[0];
  assign instr_take = instr_mem_req && instr_mem_gnt;
  assign instr_in_bank = !instr_mem_translated && instr_mem_addr[31:19] == AddressInstr[31:19];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {instr_mem_rvalid, instr_mem_err, instr_translated_q} <= '0;
    else begin
      instr_mem_rvalid <= instr_take;
      instr_mem_err <= !instr_mem_translated && !instr_in_bank;
      instr_translated_q <= instr_mem_translated;
    end
  end

  // Loads and stores. The address alone selects the part that answers.
  typedef enum logic [3:0] {
    PartInstr, PartData, PartMmu, PartPlain, PartLinks, PartDevices, PartFrames, PartMemoryTile,
    PartNone
  } part_e;

  part_e part, part_q;
  always_comb begin
    part = PartNone;
    ctrl_part = mem_addr[27:26];
    unique case (mem_addr[31:26])
      AddressTable0[31:26], AddressTable1[31:26]: begin
        if (mem_addr[25:PageBits+3] == '0) part = PartMmu;
      end
      AddressTable2[31:26]: if (mem_addr[25:PageBits+2] == '0) part = PartMmu;
      AddressPlain[31:26]: if (mem_addr[25:PlainBits+2] == '0) part = PartPlain;
      AddressLinks[31:26]: if (mem_addr[25:FrameBits+2] == '0) part = PartLinks;
      AddressDevice[31:26]: begin
        ctrl_part = 2'd3;
        if (mem_addr[25:10] == AddressDevice[25:10]) part = PartDevices;
        else if (mem_addr[25:10] == AddressUnit[25:10]) part = PartMmu;
      end
      AddressMemoryTile[31:26]: if (SpecialFrames && !mem_we) part = PartMemoryTile;
      AddressInstr[31:26]: begin
        if (mem_addr[31:19] == AddressInstr[31:19]) part = PartInstr;
        else if (mem_addr[31:19] == AddressData[31:19]) part = PartData;
      end
      default: begin
        if (&mem_addr[31:30] && (mem_addr[29:GranuleBits] >> FrameBits) == '0) part = PartFrames;
      end
    endcase
  end

  // The memory tile takes its time, the same for each word: the grant waits.
  localparam int unsigned MemoryTileWait = SizeMemoryTileCycles - 1;
  logic [$clog2(MemoryTileWait+1)-1:0] waited_q;
  logic                                memory_tile_wait;
  assign memory_tile_wait = part == PartMemoryTile &&
                            waited_q != ($bits(waited_q))'(MemoryTileWait);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waited_q <= '0;
    else waited_q <= mem_req && memory_tile_wait ? waited_q + 1'b1 : '0;
  end

  logic take, translated_q;
  assign mem_gnt = mem_translated ? !stall[3] : !stall[1] && !memory_tile_wait;
  assign take = mem_req && mem_gnt;
  assign ctrl_req = take && part == PartMmu;
  assign mem_err = part_q == PartNone;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mem_rvalid <= 1'b0;
      translated_q <= 1'b0;
      part_q <= PartNone;
    end else begin
      mem_rvalid <= take;
      if (take) {translated_q, part_q} <= {mem_translated, part};
    end
  end

  logic [15:0][31:0] rdata;  // the answer of each part
  logic [31:0]       rdata_memory_tile;
  assign mem_rdata = rdata[part_q];
  assign rdata[PartMmu] = ctrl_rdata;
  assign rdata[PartMemoryTile] = rdata_memory_tile;
  assign rdata[15:PartNone] = '0;

// A word of a memory starts as the host says: the program's image, or what fills the rest.
`define TAU_TILE_CONTENTS(Memory, Words, Start)                                                    \
  initial begin                                                                                    \
    for (int unsigned i = 0; i < 2 ** (Words); i++) begin                                          \
      Memory[i] = tau_host_pkg::tau_host_word(Tile, Start + 4 * i);                                \
    end                                                                                            \
  end

// A memory on the data bus, which fetches may read.
`define TAU_TILE_RAM(Name, Words, Start, Part, Req, Rdata)                                         \
  tau_ram #(                                                                                       \
    .WordBits(Words)                                                                               \
  ) Name (                                                                                         \
    .clk_i,                                                                                        \
    .rst_ni,                                                                                       \
    .a_req_i      (take && part == Part),                                                          \
    .a_addr_i     (mem_addr[Words+1:2]),                                                           \
    .a_we_i       (mem_we),                                                                        \
    .a_be_i       (mem_be),                                                                        \
    .a_wdata_i    (mem_wdata),                                                                     \
    .a_rdata_o    (rdata[Part]),                                                                   \
    .read_req_i   (Req),                                                                           \
    .read_addr_i  (instr_mem_addr[Words+1:2]),                                                     \
    .read_rvalid_o(),                                                                              \
    .read_rdata_o (Rdata)                                                                          \
  );                                                                                               \
  `TAU_TILE_CONTENTS(Name.memory, Words, Start)

  logic [31:0] instr_bank_rdata;
  `TAU_TILE_RAM(u_instr_bank, BankBits, AddressInstr, PartInstr, instr_take && instr_in_bank,
                instr_bank_rdata)
  `TAU_TILE_RAM(u_data_bank, BankBits, AddressData, PartData, 1'b0, )
  `TAU_TILE_RAM(u_plain, PlainBits, AddressPlain, PartPlain, 1'b0, )
  `TAU_TILE_RAM(u_links, FrameBits, AddressLinks, PartLinks, 1'b0, )
  `TAU_TILE_CONTENTS(u_mmu.u_table0.memory, PageBits + 1, AddressTable0)
  `TAU_TILE_CONTENTS(u_mmu.u_table1.memory, PageBits + 1, AddressTable1)
  `TAU_TILE_CONTENTS(u_mmu.u_table2.memory, PageBits, AddressTable2)

  // Not reset: an answer, which `part_q` qualifies.
  always_ff @(posedge clk_i) begin
    if (take && part == PartMemoryTile) begin
      rdata_memory_tile <= tau_host_pkg::tau_host_memory_tile(32'(mem_addr[25:2]));
    end
  end

  // The frames: through the window, or untranslated. The host keeps the pages and stores only what
  // was written. A fetch does not see a write of the same cycle. Not reset: a memory.
  logic                frames_take, frame_special, frame_special_q;
  logic [WordBits-1:0] frame_word, instr_frame_word;
  logic [31:0]         memory_rdata, instr_memory_rdata, special_rdata;
  assign frames_take = take && part == PartFrames;
  assign frame_word = mem_addr[WordBits+1:2];
  assign instr_frame_word = instr_mem_addr[WordBits+1:2];
  assign frame_special = SpecialFrames && frame_word[WordBits-1];
  always_ff @(posedge clk_i) begin
    // A special frame cannot be executed: a fetch of it gives 0, an illegal instruction.
    if (instr_take && instr_mem_translated) begin
      instr_memory_rdata <= SpecialFrames && instr_frame_word[WordBits-1] ? '0 :
          tau_host_pkg::tau_host_frame_read(Tile, 32'(instr_frame_word));
    end
    if (frames_take) frame_special_q <= frame_special;
    if (frames_take && !frame_special) begin
      if (mem_we) begin
        tau_host_pkg::tau_host_frame_write(Tile, 32'(frame_word), mem_wdata, 32'(mem_be));
      end else begin
        memory_rdata <= tau_host_pkg::tau_host_frame_read(Tile, 32'(frame_word));
      end
    end
  end
  assign rdata[PartFrames] = frame_special_q ? special_rdata : memory_rdata;
  assign instr_mem_rdata = instr_translated_q ? instr_memory_rdata : instr_bank_rdata;

  logic [31:0] awake_cycles;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) awake_cycles <= '0;
    else awake_cycles <= core_sleep ? '0 : awake_cycles + 32'd1;
  end

  logic [63:0] cycle;
  logic        dma_kernel_we;
  logic [31:0] words_moved, misses_fetch, misses_data;
  if (SpecialFrames) begin : gen_special
    logic        dma_page_we;
    logic [2:0]  dma_channel;
    logic [1:0]  dma_register;
    logic [31:0] dma_words;

    tau_tile_special #(
      .FrameBits (FrameBits),
      .OffsetBits(OffsetBits),
      .Tile      (Tile)
    ) u_special (
      .clk_i,
      .rst_ni,
      .cycle_i       (cycle),
      .misses_fetch_i(misses_fetch),
      .misses_data_i (misses_data),
      .words_moved_i (words_moved),
      .req_i         (frames_take && mem_translated && frame_special),
      .word_i        (frame_word),
      .we_i          (mem_we),
      .be_i          (mem_be),
      .wdata_i       (mem_wdata),
      .rdata_o       (special_rdata),
      .link_valid_o  (link_store_valid_o),
      .link_word_o   (link_store_word_o),
      .link_be_o     (link_store_be_o),
      .link_wdata_o  (link_store_wdata_o),
      .dma_we_o      (dma_page_we),
      .dma_channel_o (dma_channel),
      .dma_register_o(dma_register),
      .dma_words_i   (dma_words)
    );

    tau_tile_dma #(
      .FrameBits (FrameBits),
      .OffsetBits(OffsetBits)
    ) u_dma (
      .clk_i,
      .rst_ni,
      .cycle_i           (cycle),
      .turns_i           (dma_turns_i),
      .kernel_we_i       (dma_kernel_we),
      .kernel_channel_i  (mem_addr[6:4]),
      .kernel_register_i (mem_addr[3:2]),
      .kernel_wdata_i    (mem_wdata),
      .page_we_i         (dma_page_we),
      .page_channel_i    (dma_channel),
      .page_register_i   (dma_register),
      .page_wdata_i      (mem_wdata),
      .page_words_o      (dma_words),
      .move_valid_o      (link_move_valid_o),
      .move_source_o     (link_move_source_o),
      .move_destination_o(link_move_destination_o),
      .moved_o           (words_moved)
    );
  end else begin : gen_no_special
    assign special_rdata = '0;
    assign words_moved = '0;
    assign {link_store_valid_o, link_store_word_o, link_store_be_o, link_store_wdata_o} = '0;
    assign {link_move_valid_o, link_move_source_o, link_move_destination_o} = '0;
    logic unused;
    assign unused = ^{dma_kernel_we, misses_fetch, misses_data, dma_turns_i};
  end

  logic [SizeCounters-1:0] count;
  logic                instr_faulted, data_faulted;
  assign instr_faulted = instr_rvalid && instr_err;
  assign data_faulted = data_rvalid && data_err;
  always_comb begin
    count = '0;
    count[CounterFetchesLocal] = instr_req && instr_gnt && !window_req[0];
    count[CounterFetchesWindow] = window_req[0] && instr_gnt;
    count[CounterLoadsLocal] = data_req && data_gnt && !window_req[1] && !data_we;
    count[CounterStoresLocal] = data_req && data_gnt && !window_req[1] && data_we;
    count[CounterLoadsWindow] = window_req[1] && data_gnt && !data_we;
    count[CounterStoresWindow] = window_req[1] && data_gnt && data_we;
    count[CounterHitsFetch] = event_hit[0];
    count[CounterHitsData] = event_hit[1];
    count[CounterMissesFetch] = event_miss[0];
    count[CounterMissesData] = event_miss[1];
    for (int unsigned i = 0; i < 3; i++) begin
      count[CounterFaultsFetchUnmapped+i] = instr_faulted && instr_answer_cause == 2'(i + 1);
      count[CounterFaultsDataUnmapped+i] = data_faulted && data_answer_cause == 2'(i + 1);
    end
  end

  tau_tile_devices #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .GranuleBits(GranuleBits),
    .Unit       (`TAU_UNIT_NUMBER),
    .Tile       (Tile)
  ) u_devices (
    .clk_i,
    .rst_ni,
    .req_i        (take && part == PartDevices),
    .we_i         (mem_we),
    .addr_i       (mem_addr[9:0]),
    .wdata_i      (mem_wdata),
    .rdata_o      (rdata[PartDevices]),
    .count_i      (count),
    .instr_cause_i(instr_cause),
    .data_cause_i (data_cause),
    .words_moved_i(words_moved),
    .awake_cycles_i(awake_cycles),
    .dma_we_o     (dma_kernel_we),
    .cycle_o      (cycle),
    .misses_fetch_o(misses_fetch),
    .misses_data_o(misses_data),
    .timer_irq_o  (timer_irq)
  );

  // Of the window are answers out of a frame, and the unit's faults.
  logic answer_window;
  assign answer_window = data_rvalid &&
      (data_err ? data_answer_cause != tau_status_pkg::CauseOutside : translated_q);
  tau_tile_monitor #(
    .Tile(Tile)
  ) u_monitor (
    .clk_i,
    .rst_ni,
    .cycle_i        (cycle),
    .window_req_i   (window_req[1]),
    .gnt_i          (data_gnt),
    .addr_i         (data_addr),
    .we_i           (data_we),
    .answer_window_i(answer_window),
    .answer_cause_i (data_answer_cause),
    // Inside the core, as its privilege mode.
    .trap_i         (u_core.u_ibex_core.cs_registers_i.csr_save_cause_i),
    .trap_cause_i   (32'(u_core.u_ibex_core.cs_registers_i.csr_mcause_i)),
    .trap_pc_i      (u_core.u_ibex_core.cs_registers_i.exception_pc),
    .trap_address_i (u_core.u_ibex_core.cs_registers_i.csr_mtval_i),
    .resume_i       (u_core.u_ibex_core.cs_registers_i.csr_restore_mret_i)
  );

  // A fault in a handler overwrites the return address, so the program cannot continue.
  logic unused;
  assign unused = ^{crash_dump, instr_mem_addr[1:0]};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
    end else if (double_fault) begin
      tau_host_pkg::tau_host_double_fault(Tile, crash_dump.current_pc, crash_dump.exception_pc,
                                          crash_dump.exception_addr);
    end
  end
endmodule
