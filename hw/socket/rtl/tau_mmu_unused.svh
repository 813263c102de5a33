// For units that do less than the socket allows.
`ifndef TAU_MMU_UNUSED_SVH
`define TAU_MMU_UNUSED_SVH

// Reads no table of that number: it sends no request, and lint accepts that.
`define TAU_MMU_TABLE_UNUSED(Number)                                                               \
  assign table_req_o[Number] = 1'b0;                                                               \
  assign table_addr_o[Number] = '0;                                                                \
  logic unused_table``Number;                                                                      \
  assign unused_table``Number = ^{table_rvalid_i[Number], table_rdata_i[Number]};

// Keeps no translation that an access could use at once.
`define TAU_MMU_LAST_UNUSED                                                                        \
  assign instr_last_hit_o = 1'b0;                                                                  \
  assign instr_last_frame_o = '0;                                                                  \
  assign data_last_hit_o = 1'b0;                                                                   \
  assign data_last_frame_o = '0;

`endif
