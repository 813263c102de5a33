// Proof of the table of the composable unit: a load leaves nothing of the time before it.
//
// Two copies have any two pasts. Then both start a load of the same words while neither is loading.
// For ever after, until another load, which is the same for both too:
// - SameTimes: both load for the same cycles, and the same row goes by.
// - SameRow: when they do not load, its entries are the same, in whichever place they are.
// - SameState: each entry that has been written, and all else that follows, is equal. It makes the
//   proof an induction.
// Table memory 0 answers in one cycle.
module tau_composable_table_proof #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  localparam int unsigned InputBits = 1 + PageBits + 1 + 64
) (
  input logic                 clk_i,
  input logic                 switch_i,
  input logic [InputBits-1:0] first_i,
  input logic [InputBits-1:0] second_i
);

  localparam int unsigned EntryBits = PageBits + FrameBits + 11;

  logic rst_ni = 1'b0;
  logic is_same_q = 1'b0;  // since the switch
  always @(posedge clk_i) begin
    rst_ni <= 1'b1;
    is_same_q <= is_same_q || switch_i;
  end

  logic                   loading [2], starts [2], rvalid_q [2];
  logic [3:0]             row [2];
  logic [4*EntryBits-1:0] entries [2];
  initial rvalid_q[0] = 1'b0;
  initial rvalid_q[1] = 1'b0;

  for (genvar i = 0; i < 2; i++) begin : gen_copy
    logic [InputBits-1:0] in;
    logic                 req;
    logic [PageBits:0]    first_word;
    logic [31:0]          page_word, frame_word;
    assign in = i == 0 || is_same_q || switch_i ? first_i : second_i;
    assign {starts[i], first_word, page_word, frame_word} = in;
    always @(posedge clk_i) rvalid_q[i] <= rst_ni && req;

    tau_composable_table #(
      .PageBits (PageBits),
      .FrameBits(FrameBits)
    ) u_table (
      .clk_i,
      .rst_ni,
      .start_i       (starts[i]),
      .first_word_i  (first_word),
      .loading_o     (loading[i]),
      .req_o         (req),
      .page_rvalid_i (rvalid_q[i]),
      .page_rdata_i  (page_word),
      .frame_rvalid_i(rvalid_q[i]),
      .frame_rdata_i (frame_word),
      .row_o         (row[i]),
      .row_entries_o (entries[i])
    );

    always @(posedge clk_i) begin
      assume (!starts[i] || !loading[i]);
      assume (!switch_i || starts[i]);
    end
  end

  // The place of any one entry.
  logic [5:0] place_q;
  always @(posedge clk_i) place_q <= place_q;
  (* hierconn *) wire [5:0] \gen_copy[0].u_table.proof_place ;
  (* hierconn *) wire [5:0] \gen_copy[1].u_table.proof_place ;
  assign \gen_copy[0].u_table.proof_place = place_q;
  assign \gen_copy[1].u_table.proof_place = place_q;
  (* hierconn *) wire [EntryBits-1:0] \gen_copy[0].u_table.proof_entry ;
  (* hierconn *) wire [EntryBits-1:0] \gen_copy[1].u_table.proof_entry ;
  (* hierconn *) wire \gen_copy[0].u_table.is_loaded_q ;
  (* hierconn *) wire \gen_copy[1].u_table.is_loaded_q ;
  (* hierconn *) wire [63:0] \gen_copy[0].u_table.u_load.proof_state ;
  (* hierconn *) wire [63:0] \gen_copy[1].u_table.u_load.proof_state ;

  // Every word that was asked for is on its way, or was read.
  (* hierconn *) wire \gen_copy[0].u_table.u_load.asking_q ;
  (* hierconn *) wire \gen_copy[1].u_table.u_load.asking_q ;
  (* hierconn *) wire [5:0] \gen_copy[0].u_table.u_load.asked_q ;
  (* hierconn *) wire [5:0] \gen_copy[1].u_table.u_load.asked_q ;
  (* hierconn *) wire [5:0] \gen_copy[0].u_table.u_load.read_q ;
  (* hierconn *) wire [5:0] \gen_copy[1].u_table.u_load.read_q ;
  logic       asking [2];
  logic [6:0] asked [2], read [2];
  logic [1:0] is_sound;
  assign asking[0] = \gen_copy[0].u_table.u_load.asking_q ;
  assign asking[1] = \gen_copy[1].u_table.u_load.asking_q ;
  assign asked[0] = {1'b0, \gen_copy[0].u_table.u_load.asked_q };
  assign asked[1] = {1'b0, \gen_copy[1].u_table.u_load.asked_q };
  assign read[0] = {1'b0, \gen_copy[0].u_table.u_load.read_q };
  assign read[1] = {1'b0, \gen_copy[1].u_table.u_load.read_q };
  logic [1:0] started_q = 2'b00;
  for (genvar i = 0; i < 2; i++) begin : gen_load
    always @(posedge clk_i) started_q[i] <= rst_ni && starts[i];
    assign is_sound[i] = asking[i] ? loading[i] && read[i] + rvalid_q[i] == asked[i] :
                         loading[i] == rvalid_q[i] && (!loading[i] || read[i] == 7'd63);
  end

  always @(posedge clk_i) begin
    assume (!switch_i || (rst_ni && !is_same_q));
    IsBehindReset: assert (rst_ni || !is_same_q);
    LoadsBehindStart: assert ((started_q & ~{loading[1], loading[0]}) == '0);
    EachIsRead: assert (!rst_ni || is_sound == 2'b11);
    SameTimes: assert (!is_same_q || (loading[0] == loading[1] && row[0] == row[1] &&
                                      rvalid_q[0] == rvalid_q[1]));
    SameRow: assert (!is_same_q || loading[0] || row[0] != place_q[5:2] ||
                     entries[0][EntryBits*place_q[1:0]+:EntryBits] ==
                     entries[1][EntryBits*place_q[1:0]+:EntryBits]);
    SameLoad: assert (!is_same_q || \gen_copy[0].u_table.u_load.proof_state ==
                      \gen_copy[1].u_table.u_load.proof_state );
    SameState: assert (!is_same_q || (\gen_copy[0].u_table.is_loaded_q &&
                                      \gen_copy[1].u_table.is_loaded_q &&
                                      \gen_copy[0].u_table.proof_entry ==
                                      \gen_copy[1].u_table.proof_entry ));
  end
endmodule
