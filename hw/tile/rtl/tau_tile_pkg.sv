// The tile's address map and the numbers that hardware, software and host agree on.
// hw/tile/doc/tile.md explains them; hw/tile/sw/tile.h repeats them for programs.
package tau_tile_pkg;
  // Upper address byte of each part; the banks below 0x0100_0000 are told apart by bit 19.
  localparam logic [31:0] InstrBase = 32'h0010_0000;
  localparam logic [31:0] DataBase = 32'h0018_0000;
  localparam logic [31:0] TableBase0 = 32'h2000_0000;
  localparam logic [31:0] TableBase1 = 32'h2400_0000;
  localparam logic [31:0] TableBase2 = 32'h2800_0000;
  localparam logic [31:0] PlainBase = 32'h2C00_0000;
  localparam logic [31:0] LinksBase = 32'h3000_0000;
  localparam logic [31:0] DeviceBase = 32'h4000_0000;
  localparam logic [31:0] UnitBase = 32'h4100_0000;

  localparam int unsigned BankBits = 17;  // 512 KiB of words
  localparam int unsigned PlainBits = 18;  // 1 MiB of words

  // Why an access was answered with an error. A unit answers with the first three.
  localparam logic [1:0] CauseNone = 2'd0;
  localparam logic [1:0] CauseUnmapped = 2'd1;
  localparam logic [1:0] CauseRights = 2'd2;
  localparam logic [1:0] CauseOutside = 2'd3;

  // Counters, in the order of their addresses.
  localparam int unsigned CountFetchLocal = 0;
  localparam int unsigned CountFetchWindow = 1;
  localparam int unsigned CountLoadLocal = 2;
  localparam int unsigned CountStoreLocal = 3;
  localparam int unsigned CountLoadWindow = 4;
  localparam int unsigned CountStoreWindow = 5;
  localparam int unsigned CountHitInstr = 6;
  localparam int unsigned CountHitData = 7;
  localparam int unsigned CountMissInstr = 8;
  localparam int unsigned CountMissData = 9;
  localparam int unsigned CountFaultInstr = 10;  // not mapped, rights, outside
  localparam int unsigned CountFaultData = 13;
  localparam int unsigned Counters = 16;
endpackage
