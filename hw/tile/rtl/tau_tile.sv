// One tile: an Ibex core, its memories and devices, and a socket for the unit that translates the
// window on both of the core's ports. Simulation only: the host fills the memories and serves
// frames and mailbox. hw/README.md has the block diagram, hw/tile/doc/tile.md has every address.
//
// `TAU_UNIT is the unit's module. `TAU_UNIT_PARAMETERS are its parameters other than sizes.
`ifndef TAU_UNIT
`define TAU_UNIT tau_bare
`define TAU_UNIT_NUMBER UnitBare
`endif
`ifndef TAU_UNIT_PARAMETERS
`define TAU_UNIT_PARAMETERS
`endif
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
  // Frames of the upper half are devices (tau_tile_special.sv), and there is a memory tile.
  parameter bit SpecialFrames = 1'b0,
  localparam int unsigned OffsetBits = GranuleBits - 2,  // of a word in a page
  localparam int unsigned WordBits = FrameBits + OffsetBits,
  localparam int unsigned LinkBits = $clog2(SizeCommunicationFrames) + OffsetBits
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [31:0]         tile_i,  // the tile's number
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
  logic                   timer_irq, double_fault, core_sleep, lock;
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
    .hart_id_i             (tile_i),
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

  // The socket.
  logic                 instr_lookup_valid, instr_lookup_ready, instr_lookup_user;
  logic [PageBits-1:0]  instr_lookup_page;
  logic [2:0]           instr_lookup_access;
  logic                 instr_result_valid, instr_result_fault;
  logic [1:0]           instr_result_cause;
  logic [FrameBits-1:0] instr_result_frame;
  logic                 instr_last_hit;
  logic [FrameBits-1:0] instr_last_frame;
  logic                 data_lookup_valid, data_lookup_ready, data_lookup_user;
  logic [PageBits-1:0]  data_lookup_page;
  logic [2:0]           data_lookup_access;
  logic                 data_result_valid, data_result_fault;
  logic [1:0]           data_result_cause;
  logic [FrameBits-1:0] data_result_frame;
  logic                 data_last_hit;
  logic [FrameBits-1:0] data_last_frame;
  logic [4:0]             table_req, table_rvalid;
  logic [4:0][PageBits:0] table_addr;
  logic [4:0][31:0]       table_rdata;
  logic                 reg_req;
  logic [31:0]          reg_rdata;
  logic [1:0]           event_hit, event_miss;

  `TAU_UNIT #(
    .PageBits (PageBits),
    .FrameBits(FrameBits)
    `TAU_UNIT_PARAMETERS
  ) u_unit (
    .clk_i,
    .rst_ni,
    .instr_lookup_valid_i (instr_lookup_valid),
    .instr_lookup_ready_o (instr_lookup_ready),
    .instr_lookup_page_i  (instr_lookup_page),
    .instr_lookup_access_i(instr_lookup_access),
    .instr_lookup_user_i  (instr_lookup_user),
    .instr_result_valid_o (instr_result_valid),
    .instr_result_fault_o (instr_result_fault),
    .instr_result_cause_o (instr_result_cause),
    .instr_result_frame_o (instr_result_frame),
    .instr_last_hit_o     (instr_last_hit),
    .instr_last_frame_o   (instr_last_frame),
    .data_lookup_valid_i  (data_lookup_valid),
    .data_lookup_ready_o  (data_lookup_ready),
    .data_lookup_page_i   (data_lookup_page),
    .data_lookup_access_i (data_lookup_access),
    .data_lookup_user_i   (data_lookup_user),
    .data_result_valid_o  (data_result_valid),
    .data_result_fault_o  (data_result_fault),
    .data_result_cause_o  (data_result_cause),
    .data_result_frame_o  (data_result_frame),
    .data_last_hit_o      (data_last_hit),
    .data_last_frame_o    (data_last_frame),
    .table_req_o          (table_req),
    .table_addr_o         (table_addr),
    .table_rvalid_i       (table_rvalid),
    .table_rdata_i        (table_rdata),
    .reg_req_i            (reg_req),
    .reg_write_i          (data_we),
    .reg_addr_i           (data_addr[9:2]),
    .reg_wdata_i          (data_wdata),
    .reg_rdata_o          (reg_rdata),
    .event_hit_o          (event_hit),
    .event_miss_o         (event_miss)
  );

  // Both ports of the core: bit 0 fetches, bit 1 loads and stores.
  logic                instr_local_req, instr_local_outside, instr_local_gnt, instr_local_err;
  logic [31:0]         instr_local_rdata;
  logic                instr_frame_req, instr_frame_gnt;
  logic [WordBits-1:0] instr_frame_word;
  logic [31:0]         instr_frame_rdata;
  logic                instr_window_req, instr_at_once;
  logic [1:0]          instr_answer_cause;
  logic                data_local_req, data_local_outside, data_local_gnt, data_local_err;
  logic [31:0]         data_local_rdata;
  logic                data_frame_req, data_frame_gnt;
  logic [WordBits-1:0] data_frame_word;
  logic [31:0]         data_frame_rdata;
  logic                data_window_req, data_at_once;
  logic [1:0]          data_answer_cause;
  logic [1:0]          frame_we, answer_window;
  logic [1:0][3:0]     frame_be;
  logic [1:0][31:0]    frame_wdata;

  tau_tile_port #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .GranuleBits(GranuleBits)
  ) u_port[1:0] (
    .clk_i,
    .rst_ni,
    .fetch_i        (2'b01),
    .user_i         ({data_user, instr_user}),
    .core_req_i     ({data_req, instr_req}),
    .core_gnt_o     ({data_gnt, instr_gnt}),
    .core_addr_i    ({data_addr, instr_addr}),
    .core_we_i      ({data_we, 1'b0}),
    .core_be_i      ({data_be, 4'hF}),
    .core_wdata_i   ({data_wdata, 32'd0}),
    .core_rvalid_o  ({data_rvalid, instr_rvalid}),
    .core_rdata_o   ({data_rdata, instr_rdata}),
    .core_err_o     ({data_err, instr_err}),
    .local_req_o    ({data_local_req, instr_local_req}),
    .local_outside_o({data_local_outside, instr_local_outside}),
    .local_gnt_i    ({data_local_gnt, instr_local_gnt}),
    .local_rdata_i  ({data_local_rdata, instr_local_rdata}),
    .local_err_i    ({data_local_err, instr_local_err}),
    .lookup_valid_o ({data_lookup_valid, instr_lookup_valid}),
    .lookup_ready_i ({data_lookup_ready, instr_lookup_ready}),
    .lookup_page_o  ({data_lookup_page, instr_lookup_page}),
    .lookup_access_o({data_lookup_access, instr_lookup_access}),
    .lookup_user_o  ({data_lookup_user, instr_lookup_user}),
    .result_valid_i ({data_result_valid, instr_result_valid}),
    .result_fault_i ({data_result_fault, instr_result_fault}),
    .result_cause_i ({data_result_cause, instr_result_cause}),
    .result_frame_i ({data_result_frame, instr_result_frame}),
    .last_hit_i     ({data_last_hit, instr_last_hit}),
    .last_frame_i   ({data_last_frame, instr_last_frame}),
    .frame_req_o    ({data_frame_req, instr_frame_req}),
    .frame_gnt_i    ({data_frame_gnt, instr_frame_gnt}),
    .frame_word_o   ({data_frame_word, instr_frame_word}),
    .frame_we_o     (frame_we),
    .frame_be_o     (frame_be),
    .frame_wdata_o  (frame_wdata),
    .frame_rdata_i  ({data_frame_rdata, instr_frame_rdata}),
    .window_req_o   ({data_window_req, instr_window_req}),
    .at_once_o      ({data_at_once, instr_at_once}),
    .answer_window_o(answer_window),
    .answer_cause_o ({data_answer_cause, instr_answer_cause})
  );

  tau_mmu_socket #(
    .PageBits(PageBits)
  ) u_socket (
    .clk_i,
    .rst_ni,
    .lookup_valid_i({data_lookup_valid, instr_lookup_valid}),
    .lookup_ready_i({data_lookup_ready, instr_lookup_ready}),
    .result_valid_i({data_result_valid, instr_result_valid}),
    .event_hit_i   (event_hit),
    .event_miss_i  (event_miss),
    .window_req_i  ({data_window_req, instr_window_req}),
    .store_i       (reg_req && data_we && !crash_dump.current_pc[31]),
    .table_req_i   (table_req),
    .table_rvalid_i(table_rvalid),
    .table_addr_i  (table_addr)
  );

  // The local side of the fetch port: the instruction bank or nothing.
  logic instr_in_bank;
  assign instr_in_bank = instr_addr[31:19] == AddressInstr[31:19] && !instr_local_outside;
  assign instr_local_gnt = !stall[0];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) instr_local_err <= 1'b0;
    else if (instr_local_req && instr_local_gnt) instr_local_err <= !instr_in_bank;
  end

  // The local side of the data port. The address alone selects the part that answers.
  typedef enum logic [3:0] {
    PartInstr, PartData, PartTable0, PartTable1, PartTable2, PartPlain, PartLinks, PartDevices,
    PartUnit, PartFrames, PartMemoryTile, PartNone
  } part_e;

  part_e part, part_q;
  always_comb begin
    part = PartNone;
    if (!data_local_outside) begin
      unique case (data_addr[31:26])
        AddressTable0[31:26]: if (data_addr[25:PageBits+3] == '0) part = PartTable0;
        AddressTable1[31:26]: if (data_addr[25:PageBits+3] == '0) part = PartTable1;
        AddressTable2[31:26]: if (data_addr[25:PageBits+2] == '0) part = PartTable2;
        AddressPlain[31:26]: if (data_addr[25:PlainBits+2] == '0) part = PartPlain;
        AddressLinks[31:26]: if (data_addr[25:FrameBits+2] == '0) part = PartLinks;
        AddressDevice[31:26]: begin
          if (data_addr[25:10] == AddressDevice[25:10]) part = PartDevices;
          else if (data_addr[25:10] == AddressUnit[25:10]) part = PartUnit;
        end
        AddressMemoryTile[31:26]: if (SpecialFrames && !data_we) part = PartMemoryTile;
        AddressInstr[31:26]: begin
          if (data_addr[31:19] == AddressData[31:19]) part = PartData;
          else if (data_addr[31:19] == AddressInstr[31:19] && !(data_we && lock)) part = PartInstr;
        end
        default: begin
          if (&data_addr[31:30] && (data_addr[29:GranuleBits] >> FrameBits) == '0) begin
            part = PartFrames;
          end
        end
      endcase
    end
  end

  // The memory tile takes its time, the same for each word: the grant waits.
  localparam int unsigned MemoryTileWait = SizeMemoryTileCycles - 1;
  logic [$clog2(MemoryTileWait+1)-1:0] waited_q;
  logic                                memory_tile_wait;
  assign memory_tile_wait = part == PartMemoryTile &&
                            waited_q != ($bits(waited_q))'(MemoryTileWait);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waited_q <= '0;
    else waited_q <= data_local_req && memory_tile_wait ? waited_q + 1'b1 : '0;
  end

  logic local_take;
  assign data_local_gnt = !stall[1] && !memory_tile_wait;
  assign local_take = data_local_req && data_local_gnt;
  assign reg_req = local_take && part == PartUnit;
  assign data_local_err = part_q == PartNone;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) part_q <= PartNone;
    else if (local_take) part_q <= part;
  end

  logic [15:0][31:0] rdata;  // the answer of each part
  logic [31:0]       rdata_memory_tile;
  assign data_local_rdata = rdata[part_q];
  assign rdata[PartUnit] = reg_rdata;
  assign rdata[PartFrames] = data_frame_rdata;
  assign rdata[PartMemoryTile] = rdata_memory_tile;
  assign rdata[15:PartNone] = '0;

// A memory on the data bus. Req, Addr, Rvalid and Rdata are the ports of its Count readers.
// It starts as the host says: the program's image, or what fills the rest.
`define TAU_TILE_RAM(Name, Words, Count, Delay, Start, Part, Req, Addr, Rvalid, Rdata)             \
  tau_ram #(                                                                                       \
    .WordBits(Words),                                                                              \
    .Readers (Count),                                                                              \
    .Latency (Delay)                                                                               \
  ) Name (                                                                                         \
    .clk_i,                                                                                        \
    .rst_ni,                                                                                       \
    .a_req_i      (local_take && part == Part),                                                    \
    .a_addr_i     (data_addr[Words+1:2]),                                                          \
    .a_we_i       (data_we),                                                                       \
    .a_be_i       (data_be),                                                                       \
    .a_wdata_i    (data_wdata),                                                                    \
    .a_rdata_o    (rdata[Part]),                                                                   \
    .read_req_i   (Req),                                                                           \
    .read_addr_i  (Addr),                                                                          \
    .read_rvalid_o(Rvalid),                                                                        \
    .read_rdata_o (Rdata)                                                                          \
  );                                                                                               \
  initial begin                                                                                    \
    for (int unsigned i = 0; i < 2 ** (Words); i++) begin                                          \
      Name.memory[i] = tau_host_pkg::tau_host_word(tile_i, Start + 4 * i);                         \
    end                                                                                            \
  end

  `TAU_TILE_RAM(u_instr_bank, BankBits, 1, 1, AddressInstr, PartInstr,
                instr_local_req && instr_local_gnt && instr_in_bank, instr_addr[BankBits+1:2], ,
                instr_local_rdata)
  `TAU_TILE_RAM(u_data_bank, BankBits, 1, 1, AddressData, PartData, '0, '0, , )
  `TAU_TILE_RAM(u_table0, PageBits + 1, 2, Latency0, AddressTable0, PartTable0,
                {table_req[3], table_req[0]}, {table_addr[3], table_addr[0]},
                {table_rvalid[3], table_rvalid[0]}, {table_rdata[3], table_rdata[0]})
  `TAU_TILE_RAM(u_table1, PageBits + 1, 2, Latency1, AddressTable1, PartTable1,
                {table_req[4], table_req[1]}, {table_addr[4], table_addr[1]},
                {table_rvalid[4], table_rvalid[1]}, {table_rdata[4], table_rdata[1]})
  `TAU_TILE_RAM(u_table2, PageBits, 1, Latency2, AddressTable2, PartTable2,
                table_req[2], table_addr[2][PageBits-1:0], table_rvalid[2], table_rdata[2])
  `TAU_TILE_RAM(u_plain, PlainBits, 1, 1, AddressPlain, PartPlain, '0, '0, , )
  `TAU_TILE_RAM(u_links, FrameBits, 1, 1, AddressLinks, PartLinks, '0, '0, , )

  // Not reset: an answer, which `part_q` qualifies.
  always_ff @(posedge clk_i) begin
    if (local_take && part == PartTable0 && data_we) begin
      tau_host_pkg::tau_host_table_write(tile_i, 32'(data_addr[PageBits+2:2]), data_wdata,
                                         32'(data_be));
    end
    if (local_take && part == PartMemoryTile) begin
      rdata_memory_tile <= tau_host_pkg::tau_host_memory_tile(32'(data_addr[25:2]));
    end
  end

  assign {data_frame_gnt, instr_frame_gnt} = ~stall[3:2];
  logic        frame_special;
  logic [31:0] special_rdata;
  tau_tile_frames #(
    .WordBits     (WordBits),
    .SpecialFrames(SpecialFrames)
  ) u_frames (
    .clk_i,
    .rst_ni,
    .tile_i,
    .fetch_i        (instr_frame_req && instr_frame_gnt),
    .fetch_word_i   (instr_frame_word),
    .fetch_rdata_o  (instr_frame_rdata),
    .window_req_i   (data_frame_req),
    .window_gnt_i   (data_frame_gnt),
    .window_word_i  (data_frame_word),
    .window_we_i    (frame_we[1]),
    .window_be_i    (frame_be[1]),
    .window_wdata_i (frame_wdata[1]),
    .local_i        (local_take && part == PartFrames),
    .local_word_i   (data_addr[WordBits+1:2]),
    .local_we_i     (data_we),
    .local_be_i     (data_be),
    .local_wdata_i  (data_wdata),
    .rdata_o        (data_frame_rdata),
    .special_o      (frame_special),
    .special_rdata_i(special_rdata)
  );

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
      .OffsetBits(OffsetBits)
    ) u_special (
      .clk_i,
      .rst_ni,
      .tile_i,
      .cycle_i       (cycle),
      .misses_fetch_i(misses_fetch),
      .misses_data_i (misses_data),
      .words_moved_i (words_moved),
      .req_i         (frame_special),
      .word_i        (data_frame_word),
      .we_i          (frame_we[1]),
      .be_i          (frame_be[1]),
      .wdata_i       (frame_wdata[1]),
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
      .kernel_channel_i  (data_addr[6:4]),
      .kernel_register_i (data_addr[3:2]),
      .kernel_wdata_i    (data_wdata),
      .page_we_i         (dma_page_we),
      .page_channel_i    (dma_channel),
      .page_register_i   (dma_register),
      .page_wdata_i      (frame_wdata[1]),
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
    assign unused = ^{dma_kernel_we, misses_fetch, misses_data, dma_turns_i, frame_special};
  end

  logic [SizeCounters-1:0] count;
  logic                instr_faulted, data_faulted;
  assign instr_faulted = instr_rvalid && instr_err;
  assign data_faulted = data_rvalid && data_err;
  always_comb begin
    count = '0;
    count[CounterFetchesLocal] = instr_local_req && instr_local_gnt;
    count[CounterFetchesWindow] = instr_window_req && instr_gnt;
    count[CounterLoadsLocal] = local_take && !data_we;
    count[CounterStoresLocal] = local_take && data_we;
    count[CounterLoadsWindow] = data_window_req && data_gnt && !data_we;
    count[CounterStoresWindow] = data_window_req && data_gnt && data_we;
    count[CounterHitsFetch] = event_hit[0] || instr_at_once;
    count[CounterHitsData] = event_hit[1] || data_at_once;
    count[CounterMissesFetch] = event_miss[0];
    count[CounterMissesData] = event_miss[1];
    for (int unsigned i = 0; i < 3; i++) begin
      count[CounterFaultsFetchUnmapped+i] = instr_faulted && instr_answer_cause == 2'(i + 1);
      count[CounterFaultsDataUnmapped+i] = data_faulted && data_answer_cause == 2'(i + 1);
    end
  end

  logic [1:0] instr_cause, data_cause;
  tau_mmu_causes u_causes (
    .clk_i,
    .rst_ni,
    .instr_req_i         (instr_req),
    .instr_gnt_i         (instr_gnt),
    .instr_addr_i        (instr_addr),
    .instr_rvalid_i      (instr_rvalid),
    .instr_err_i         (instr_err),
    .instr_answer_cause_i(instr_answer_cause),
    .instr_cause_o       (instr_cause),
    .data_req_i          (data_req),
    .data_gnt_i          (data_gnt),
    .data_rvalid_i       (data_rvalid),
    .data_err_i          (data_err),
    .data_answer_cause_i (data_answer_cause),
    .data_cause_o        (data_cause)
  );

  tau_tile_devices #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .GranuleBits(GranuleBits),
    .Unit       (`TAU_UNIT_NUMBER)
  ) u_devices (
    .clk_i,
    .rst_ni,
    .tile_i,
    .req_i        (local_take && part == PartDevices),
    .we_i         (data_we),
    .addr_i       (data_addr[9:0]),
    .wdata_i      (data_wdata),
    .rdata_o      (rdata[PartDevices]),
    .count_i      (count),
    .instr_cause_i(instr_cause),
    .data_cause_i (data_cause),
    .words_moved_i(words_moved),
    .core_sleep_i (core_sleep),
    .dma_we_o     (dma_kernel_we),
    .cycle_o      (cycle),
    .misses_fetch_o(misses_fetch),
    .misses_data_o(misses_data),
    .timer_irq_o  (timer_irq),
    .instr_lock_o (lock)
  );

  tau_tile_monitor u_monitor (
    .clk_i,
    .rst_ni,
    .tile_i,
    .cycle_i        (cycle),
    .window_req_i   (data_window_req),
    .gnt_i          (data_gnt),
    .addr_i         (data_addr),
    .we_i           (data_we),
    .answer_window_i(answer_window[1]),
    .answer_cause_i (data_answer_cause),
    // Inside the core, as its privilege mode.
    .trap_i         (u_core.u_ibex_core.cs_registers_i.csr_save_cause_i),
    .trap_cause_i   (32'(u_core.u_ibex_core.cs_registers_i.csr_mcause_i)),
    .trap_pc_i      (u_core.u_ibex_core.cs_registers_i.exception_pc),
    .trap_address_i (u_core.u_ibex_core.cs_registers_i.csr_mtval_i),
    .resume_i       (u_core.u_ibex_core.cs_registers_i.csr_restore_mret_i),
    .resume_user_i  (u_core.u_ibex_core.cs_registers_i.mstatus_q.mpp == ibex_pkg::PRIV_LVL_U)
  );

  // A fault in a handler overwrites the return address, so the program cannot continue.
  logic unused;
  assign unused = ^{crash_dump, frame_we[0], frame_be[0], frame_wdata[0], answer_window[0]};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
    end else if (double_fault) begin
      tau_host_pkg::tau_host_double_fault(tile_i, crash_dump.current_pc, crash_dump.exception_pc,
                                          crash_dump.exception_addr);
    end
  end
endmodule
