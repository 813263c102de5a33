// For a unit that does not read a table: makes no request and silences lint.
`ifndef TAU_MMU_UNUSED_SVH
`define TAU_MMU_UNUSED_SVH

`define TAU_MMU_TABLE_UNUSED(Number)                                                               \
  assign table``Number``_req_o = 1'b0;                                                             \
  assign table``Number``_addr_o = '0;                                                              \
  logic unused_table``Number;                                                                      \
  assign unused_table``Number = ^{table``Number``_rvalid_i, table``Number``_rdata_i};

`endif
