// The lines in front of a port of the composable unit: translations that answer in the cycle of the
// request.
//
// A line has the translation of a block of four of the smallest pages. The block's number selects
// its line, so a line is read as a word of a memory and compared with one block only. Of a block of
// the smallest pages a line has one. What a port translates goes into its line; an answer changes
// nothing.
// A load of the table clears each line, and before the first load none counts.
`include "tau_assert.svh"

module tau_composable_lines #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Lines = 64
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,  // of the assertions

  // The request on the port's wires, whether valid or not.
  input  logic                 may_answer_i,
  input  logic [PageBits-1:0]  page_i,
  input  logic [2:0]           access_i,
  output logic                 hit_o,
  output logic [FrameBits-1:0] frame_o,

  // A load clears the line of this number. It fills none meanwhile.
  input  logic                 clear_i,
  input  logic [5:0]           clear_line_i,

  // The port has translated this page; `is_one`: its block has other translations.
  input  logic                 fill_i,
  input  logic [PageBits-1:0]  fill_page_i,
  input  logic [2:0]           fill_rights_i,
  input  logic [FrameBits-1:0] fill_frame_i,
  input  logic                 fill_is_one_i
);

  // A small window has fewer.
  localparam int unsigned LineBits = $clog2(Lines) < PageBits - 3 ? $clog2(Lines) : PageBits - 3;
  localparam int unsigned AboveBits = PageBits - 2 - LineBits;
  localparam int unsigned WordBits = 1 + 3 + FrameBits + 1 + 2 + AboveBits;

  // The line of a page's block. Blocks that follow each other have lines of their own, and so have
  // those of large arrays that are walked together. Four bits come as they are: they address RAMs
  // of 16 words, and the others choose a RAM behind them.
  function automatic logic [LineBits-1:0] line_of(input logic [PageBits-1:0] page);
    line_of = LineBits'(page >> 2) ^ (LineBits'(page >> (2 + LineBits)) << 4);
  endfunction

  // {valid, rights, frame, one page only, that page, the block's number above the line's}
  (* ram_style = "distributed" *)
  logic [WordBits-1:0] line_q [2 ** LineBits];
  // No reset: a memory, whose valid bits the first load clears.
  always_ff @(posedge clk_i) begin
    if (clear_i || fill_i) begin
      line_q[clear_i ? LineBits'(clear_line_i) : line_of(fill_page_i)] <=
          {!clear_i, fill_rights_i, fill_frame_i, fill_is_one_i, fill_page_i[1:0],
           fill_page_i[PageBits-1-:AboveBits]};
    end
  end

  logic [LineBits-1:0]  line;
  logic                 valid, is_one;
  logic [2:0]           rights;
  logic [FrameBits-1:0] frame;
  logic [1:0]           one;
  logic [AboveBits-1:0] above;
  assign line = line_of(page_i);
  assign {valid, rights, frame, is_one, one, above} = line_q[line];
  assign hit_o = may_answer_i && valid && above == page_i[PageBits-1-:AboveBits] &&
                 (!is_one || one == page_i[1:0]) && (access_i & ~rights) == '0;
  // A larger page lies in the frames as in the window.
  assign frame_o = {frame[FrameBits-1:2], is_one ? frame[1:0] : page_i[1:0]};

  logic unused;
  assign unused = ^clear_line_i;

  `TAU_ASSERT(LinesAreSelected, 2 ** $clog2(Lines) == Lines && Lines <= 64 && FrameBits > 2)
  `TAU_ASSERT(ClearsAlone, !(clear_i && fill_i))

`ifdef FORMAL
  // The word of the line that the proof chooses by a page, and of the line that is read; 0 if it is
  // empty.
  logic [PageBits-1:0] proof_page;
  logic [LineBits-1:0] proof_line;
  logic [WordBits-1:0] proof_word, any_word;
  logic [31:0]         proof_number;
  logic [63:0]         proof_kept, proof_read;
  assign proof_line = line_of(proof_page);
  assign any_word = line_q[proof_line];
  assign proof_word = any_word[WordBits-1] ? any_word : '0;
  assign proof_number = 32'(proof_line);
  assign proof_kept = 64'(proof_word);
  assign proof_read = valid ? {1'b1, rights, frame, is_one, one, above} : '0;
`endif
endmodule
