// Proof of the lines of the composable unit: they answer what was filled since the latest load, and
// nothing of the time before it.
//
// Two copies have any two pasts. Then both begin a load, and from then on both are asked and filled
// alike. For ever after:
// - SameAnswers: both give the same answers.
// - SameLine: what they follow from is equal. It makes the proof an induction.
//
// And at all times, of each copy:
// - KeptWasFilled, AnswerIsKept: an answer is a translation that was filled since the latest load,
//   with rights that allow the access.
//
// The line of any one page stands for all lines. What is assumed of a load: it clears every line
// before the port answers again, and none is filled meanwhile.
module tau_composable_lines_proof #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Lines = 64,
  localparam int unsigned InputBits = 1 + 2 * PageBits + 3 + 1 + 6 + 1 + 3 + FrameBits + 1 + 1
) (
  input logic                 clk_i,
  input logic                 switch_i,
  input logic [InputBits-1:0] first_i,
  input logic [InputBits-1:0] second_i
);

  localparam int unsigned LineBits = $clog2(Lines);
  localparam int unsigned WordBits = PageBits + FrameBits + 5 - LineBits;

  logic rst_ni = 1'b0;
  logic is_same_q = 1'b0;  // since the switch
  always @(posedge clk_i) begin
    rst_ni <= 1'b1;
    is_same_q <= is_same_q || switch_i;
  end

  logic [PageBits-1:0]  any_page_q;
  logic [FrameBits-1:0] any_frame_q;
  logic [2:0]           any_rights_q;
  always @(posedge clk_i) begin
    any_page_q <= any_page_q;
    any_frame_q <= any_frame_q;
    any_rights_q <= any_rights_q;
  end

  (* hierconn *) wire [PageBits-1:0] \gen_copy[0].u_lines.proof_page ;
  (* hierconn *) wire [PageBits-1:0] \gen_copy[1].u_lines.proof_page ;
  assign \gen_copy[0].u_lines.proof_page = any_page_q;
  assign \gen_copy[1].u_lines.proof_page = any_page_q;
  (* hierconn *) wire [LineBits-1:0] \gen_copy[0].u_lines.proof_line ;
  (* hierconn *) wire [LineBits-1:0] \gen_copy[0].u_lines.line ;
  (* hierconn *) wire [LineBits-1:0] \gen_copy[1].u_lines.line ;
  (* hierconn *) wire [WordBits-1:0] \gen_copy[0].u_lines.proof_word ;
  (* hierconn *) wire [WordBits-1:0] \gen_copy[1].u_lines.proof_word ;
  logic [LineBits-1:0] any_line;
  logic [1:0]          is_any_line;
  logic [WordBits-1:0] words [2];
  assign any_line = \gen_copy[0].u_lines.proof_line ;
  assign is_any_line = {\gen_copy[1].u_lines.line == any_line,
                        \gen_copy[0].u_lines.line == any_line};
  assign words[0] = \gen_copy[0].u_lines.proof_word ;
  assign words[1] = \gen_copy[1].u_lines.proof_word ;

  // Of the chosen line: not cleared since the latest load began; of the chosen translation: filled.
  logic [1:0]         is_stale_q = 2'b11;
  logic [1:0]         was_filled_q = 2'b00;
  logic [1:0]         starts, is_answer, is_allowed, is_kept;
  logic [FrameBits:0] answers [2];

  for (genvar i = 0; i < 2; i++) begin : gen_copy
    logic [InputBits-1:0] in;
    logic                 start, may_answer, hit, clear, fill, fill_is_one, is_filled;
    logic [PageBits-1:0]  page, fill_page;
    logic [2:0]           access, fill_rights;
    logic [5:0]           clear_line;
    logic [FrameBits-1:0] frame, fill_frame;
    assign in = i == 0 || is_same_q || switch_i ? first_i : second_i;
    assign {start, may_answer, page, access, clear, clear_line, fill, fill_page, fill_rights,
            fill_frame, fill_is_one} = in;
    assign starts[i] = start;

    tau_composable_lines #(
      .PageBits (PageBits),
      .FrameBits(FrameBits),
      .Lines    (Lines)
    ) u_lines (
      .clk_i,
      .rst_ni,
      .may_answer_i (may_answer),
      .page_i       (page),
      .access_i     (access),
      .hit_o        (hit),
      .frame_o      (frame),
      .clear_i      (clear),
      .clear_line_i (clear_line),
      .fill_i       (fill),
      .fill_page_i  (fill_page),
      .fill_rights_i(fill_rights),
      .fill_frame_i (fill_frame),
      .fill_is_one_i(fill_is_one)
    );

    assign answers[i] = hit && is_any_line[i] ? {1'b1, frame} : '0;
    assign is_answer[i] = hit && page == any_page_q && frame == any_frame_q &&
                          words[i][WordBits-2-:3] == any_rights_q;
    assign is_allowed[i] = (access & ~any_rights_q) == '0;

    // Whether a translation of a page, alone or of its block, is one of the chosen page.
    assign is_filled = fill && fill_rights == any_rights_q &&
                       fill_page[PageBits-1:2] == any_page_q[PageBits-1:2] &&
                       fill_frame[FrameBits-1:2] == any_frame_q[FrameBits-1:2] &&
                       (fill_is_one ? fill_page[1:0] == any_page_q[1:0] &&
                                      fill_frame[1:0] == any_frame_q[1:0]
                                    : any_page_q[1:0] == any_frame_q[1:0]);

    // The word of the chosen line translates the chosen page like that.
    logic                            valid, is_one;
    logic [2:0]                      rights;
    logic [FrameBits-1:0]            kept_frame;
    logic [1:0]                      one;
    logic [PageBits-2-LineBits-1:0]  above;
    assign {valid, rights, kept_frame, is_one, one, above} = words[i];
    assign is_kept[i] = valid && rights == any_rights_q &&
                        above == any_page_q[PageBits-1:2+LineBits] &&
                        kept_frame[FrameBits-1:2] == any_frame_q[FrameBits-1:2] &&
                        (is_one ? one == any_page_q[1:0] && kept_frame[1:0] == any_frame_q[1:0]
                                : any_page_q[1:0] == any_frame_q[1:0]);

    always @(posedge clk_i) begin
      if (start) is_stale_q[i] <= 1'b1;
      else if (clear && LineBits'(clear_line) == any_line) is_stale_q[i] <= 1'b0;
      was_filled_q[i] <= !start && (was_filled_q[i] || is_filled);
      assume (!(start && clear) && !(fill && (start || clear)));
      assume (!is_stale_q[i] || !(may_answer || fill));
    end
  end

  always @(posedge clk_i) begin
    assume (!switch_i || (rst_ni && !is_same_q && starts == 2'b11));
    IsBehindReset: assert (rst_ni || !is_same_q);
    KeptWasFilled: assert ((is_kept & ~was_filled_q & ~is_stale_q) == '0);
    AnswerIsKept: assert ((is_answer & ~(is_kept & is_allowed)) == '0);
    SameAnswers: assert (!is_same_q || answers[0] == answers[1]);
    SameLine: assert (!is_same_q || (is_stale_q[0] == is_stale_q[1] &&
                                     (is_stale_q[0] || words[0] == words[1])));
  end
endmodule
