// Proof of a port of the composable unit: applications cannot see each other in it
// [P2-1, P2-8].
//
// Two copies have any two pasts: other lookups, other tables, for different times. Then both
// forget, while neither has a lookup on its way. From then on both get the same lookups, and the
// same rows of the table when it is not being loaded (tau_composable_table_proof.sv). For ever
// after:
// - SameAnswers: both take the same lookups, give the same answers and fill the same lines.
// - SameState: what later answers follow from is equal. It makes the proof an induction, with which
//   the port's own assertions are proved too.
//
// And at all times, of each copy:
// - KeptWasInTheTable, FoundWasInTheTable: each translation that a TLB has or that a search found
//   went by in a row since the table was loaded. Any one translation stands for all.
module tau_composable_port_proof #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Entries = 4,
  localparam int unsigned RowBits = 4,
  localparam int unsigned RowEntriesBits = 4 * (PageBits + FrameBits + 11),
  localparam int unsigned InputBits = 1 + PageBits + 3 + 2 + RowBits + RowEntriesBits
) (
  input logic                      clk_i,
  input logic                      switch_i,
  input logic [InputBits-1:0]      first_i,
  input logic [InputBits-1:0]      second_i,
  // What both could still see differently while the table is loaded.
  input logic [RowEntriesBits-1:0] half_loaded_i
);

  localparam int unsigned AnswerBits = FrameBits + PageBits + 12;
  localparam int unsigned EntryBits = PageBits + FrameBits + 11;

  logic rst_ni = 1'b0;
  logic is_same_q = 1'b0;  // since the switch
  always @(posedge clk_i) begin
    rst_ni <= 1'b1;
    is_same_q <= is_same_q || switch_i;
  end

  logic [AnswerBits-1:0] answers [2];
  logic                  ready [2];
  logic [1:0]            went_by_q = 2'b00;  // since the port forgot its kept answers
  logic [1:0]            is_loading;

  logic [EntryBits-2:0] any_q;
  always @(posedge clk_i) any_q <= any_q;

  for (genvar i = 0; i < 2; i++) begin : gen_copy
    logic [InputBits-1:0]      in;
    logic                      valid, result, fault, fill, is_one, hit, miss, forget, loading;
    logic [1:0]                cause;
    logic [2:0]                access, fill_rights;
    logic [PageBits-1:0]       page, fill_page;
    logic [FrameBits-1:0]      frame;
    logic [RowBits-1:0]        row;
    logic [RowEntriesBits-1:0] entries, row_entries;
    assign in = i == 0 || is_same_q || switch_i ? first_i : second_i;
    assign {valid, page, access, forget, loading, row, entries} = in;
    assign row_entries = i == 0 || !forget ? entries : half_loaded_i;
    assign is_loading[i] = loading;

    tau_composable_port #(
      .PageBits (PageBits),
      .FrameBits(FrameBits),
      .Entries  (Entries),
      .RowBits  (RowBits)
    ) u_port (
      .clk_i,
      .rst_ni,
      .lookup_valid_i (valid),
      .lookup_ready_o (ready[i]),
      .lookup_page_i  (page),
      .lookup_access_i(access),
      .result_valid_o (result),
      .result_fault_o (fault),
      .result_cause_o (cause),
      .result_frame_o (frame),
      .fill_o         (fill),
      .fill_page_o    (fill_page),
      .fill_rights_o  (fill_rights),
      .fill_is_one_o  (is_one),
      .row_i          (row),
      .row_entries_i  (row_entries),
      .forget_i       (forget),
      .loading_i      (loading),
      .event_hit_o    (hit),
      .event_miss_o   (miss)
    );

    // A frame counts where it is used.
    assign answers[i] = {ready[i], result, result ? {fault, cause} : 3'd0,
                         fill || (result && !fault) ? frame : FrameBits'(0), fill,
                         fill ? {fill_page, fill_rights, is_one} : (PageBits + 4)'(0), hit, miss};
    logic started_q = 1'b0;
    always @(posedge clk_i) begin
      started_q <= rst_ni && forget && !loading;
      assume (loading ? forget : !started_q);
      assume (!switch_i || (ready[i] && !valid && forget));
    end

    logic [3:0] goes_by;
    for (genvar column = 0; column < 4; column++) begin : gen_column
      assign goes_by[column] = row_entries[EntryBits*column+:EntryBits] == {1'b1, any_q};
    end
    always @(posedge clk_i) went_by_q[i] <= !forget && (went_by_q[i] || goes_by != '0);
  end

  // What later answers follow from.
  (* hierconn *) wire [1023:0] \gen_copy[0].u_port.proof_state ;
  (* hierconn *) wire [1023:0] \gen_copy[1].u_port.proof_state ;

  (* hierconn *) wire [EntryBits-2:0] \gen_copy[0].u_port.proof_any ;
  (* hierconn *) wire [EntryBits-2:0] \gen_copy[1].u_port.proof_any ;
  assign \gen_copy[0].u_port.proof_any = any_q;
  assign \gen_copy[1].u_port.proof_any = any_q;
  (* hierconn *) wire [Entries-1:0] \gen_copy[0].u_port.proof_kept ;
  (* hierconn *) wire [Entries-1:0] \gen_copy[1].u_port.proof_kept ;
  (* hierconn *) wire \gen_copy[0].u_port.proof_found ;
  (* hierconn *) wire \gen_copy[1].u_port.proof_found ;
  logic [1:0] is_kept, is_found;
  assign is_kept = {\gen_copy[1].u_port.proof_kept != '0, \gen_copy[0].u_port.proof_kept != '0};
  assign is_found = {\gen_copy[1].u_port.proof_found , \gen_copy[0].u_port.proof_found };

  always @(posedge clk_i) begin
    assume (!switch_i || (rst_ni && !is_same_q));
    IsBehindReset: assert (rst_ni || !is_same_q);
    SameAnswers: assert (!is_same_q || answers[0] == answers[1]);
    SameState: assert (!is_same_q || \gen_copy[0].u_port.proof_state ==
                       \gen_copy[1].u_port.proof_state );
    KeptWasInTheTable: assert ((is_kept & ~went_by_q) == '0);
    FoundWasInTheTable: assert ((is_found & ~went_by_q & ~is_loading) == '0);
  end
endmodule
