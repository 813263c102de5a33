// The port list of every unit in the MMU socket. hw/tile/doc/tile.md, "The MMU socket", defines the
// ports. It is an include file and not an interface, because Yosys, which synthesizes the units,
// cannot carry an interface through parameters.
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // Lookup and result of fetches.
  input  logic                 instr_lookup_valid_i,
  output logic                 instr_lookup_ready_o,
  input  logic [PageBits-1:0]  instr_lookup_page_i,
  input  logic [2:0]           instr_lookup_access_i,
  input  logic                 instr_lookup_user_i,
  output logic                 instr_result_valid_o,
  output logic                 instr_result_fault_o,
  output logic [1:0]           instr_result_cause_o,
  output logic [FrameBits-1:0] instr_result_frame_o,
  output logic                 instr_last_hit_o,
  output logic [FrameBits-1:0] instr_last_frame_o,

  // Lookup and result of loads and stores.
  input  logic                 data_lookup_valid_i,
  output logic                 data_lookup_ready_o,
  input  logic [PageBits-1:0]  data_lookup_page_i,
  input  logic [2:0]           data_lookup_access_i,
  input  logic                 data_lookup_user_i,
  output logic                 data_result_valid_o,
  output logic                 data_result_fault_o,
  output logic [1:0]           data_result_cause_o,
  output logic [FrameBits-1:0] data_result_frame_o,
  output logic                 data_last_hit_o,
  output logic [FrameBits-1:0] data_last_frame_o,

  // Table memories 0 to 4: c[b], h[b], d[b], sp[a], s[i] of the validity array. Table 2 can be a
  // page table.
  output logic [4:0]             table_req_o,
  output logic [4:0][PageBits:0] table_addr_o,
  input  logic [4:0]             table_rvalid_i,
  input  logic [4:0][31:0]       table_rdata_i,

  // The unit's registers.
  input  logic                 reg_req_i,
  input  logic                 reg_write_i,
  input  logic [7:0]           reg_addr_i,
  input  logic [31:0]          reg_wdata_i,
  output logic [31:0]          reg_rdata_o,

  // Pulses for the tile's counters; bit 0 fetches, bit 1 data.
  output logic [1:0]           event_hit_o,
  output logic [1:0]           event_miss_o
