// Proof of the composable unit in the tile: applications cannot see each other in it [P2-1, P2-8].
//
// Two copies of unit and ports (tau_composable_copy.sv) have any two pasts: other lookups, other
// tables, for different times. Then each loads the chosen table by a store of code in a bank, in
// whichever cycle. When both loads are over, or go on together, the cores' requests become the
// same, before any of them is for the window. For ever after, through all later loads:
// - Answers: all that the cores, the memories, the counters and readers of registers see is equal.
// - States, Lines, Tables, Loads: what later answers follow from is equal. They make the proof an
//   induction. Each `Step` assumes that all of them held one cycle before, and that what earlier
//   steps prove holds now. Any one entry stands for the table, any one line for the lines.
module tau_composable_proof #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Entries = 4,
  parameter bit Ports = 1'b1,
  parameter int unsigned Step = 1,
  localparam int unsigned InputBits = 2 * 102 + 38
) (
  input logic                 clk_i,
  input logic                 switch_i,
  input logic [InputBits-1:0] first_i,
  input logic [InputBits-1:0] second_i,
  input logic [63:0]          first_words_i,
  input logic [63:0]          second_words_i,
  input logic [3:0]           has_i,
  input logic [4*(PageBits+FrameBits+10)-1:0] entry_i
);

  localparam int unsigned EntryBits = PageBits + FrameBits + 11;

  logic rst_ni = 1'b0;
  logic is_same_q = 1'b0;  // since the switch
  logic is_together_q = 1'b0;  // the latest loads began in the same cycle
  logic [64*EntryBits-1:0] table_q;  // the table that both load
  always @(posedge clk_i) begin
    rst_ni <= 1'b1;
    is_same_q <= is_same_q || switch_i;
    table_q <= table_q;
  end

  logic [1:0]                   is_switched, start, loading;
  logic [1:0][PageBits-7:0]     number, loads;
  logic [1:0][5:0]              read;
  logic [1:0][PageBits-1:0]     any_page;
  logic [1:0][127:0]            any_line, line;
  logic [1:0][511:0]            answers;
  logic [1:0][33:0]             registers;
  logic [1:0][2047:0]           unit_state, port_state;
  logic [1:0][127:0]            load_state;
  logic [1:0][6:0]              doubtful;
  logic [1:0][64*EntryBits-1:0] entries;
  logic [1:0][7:0]              row_found;
  logic [1:0][2*PageBits-1:0]   wanted;
  logic [127:0]                 is_of_table;
  logic [1:0]                   is_alike;
  logic [2:0]                   holds;
  logic                         held_q = 1'b1, is_line_read;
  assign is_alike[0] = Step == 3 && is_same_q && entries[0] == entries[1] &&
                       wanted[0][PageBits-1:0] == wanted[1][PageBits-1:0];
  assign is_alike[1] = Step == 3 && is_same_q && entries[0] == entries[1] &&
                       wanted[0][PageBits+:PageBits] == wanted[1][PageBits+:PageBits];

  for (genvar i = 0; i < 2; i++) begin : gen_copy
    logic [InputBits-1:0] in;
    logic [63:0]          words;
    assign in = i == 0 || is_same_q || switch_i ? first_i : second_i;
    assign words = i == 0 || is_same_q || is_together_q ? first_words_i : second_words_i;

    tau_composable_copy #(
      .PageBits (PageBits),
      .FrameBits(FrameBits),
      .Entries  (Entries),
      .Ports    (Ports),
      .Proved   (1'b1),
      .OnlyTable(Step == 2)
    ) u_copy (
      .clk_i,
      .rst_ni,
      .in_i         (in),
      .words_i      (words),
      .is_alike_i   (is_alike),
      .row_i        (row_found),
      .has_i        (has_i),
      .first_i      (entry_i),
      .number_o     (number[i]),
      .any_page_o   (any_page[i]),
      .any_line_o   (any_line[i]),
      .line_o       (line[i]),
      .is_switched_o(is_switched[i]),
      .start_o      (start[i]),
      .loading_o    (loading[i]),
      .loads_o      (loads[i]),
      .read_o       (read[i]),
      .answers_o    (answers[i]),
      .registers_o  (registers[i]),
      .unit_state_o (unit_state[i]),
      .port_state_o (port_state[i]),
      .load_state_o (load_state[i]),
      .doubtful_o   (doubtful[i]),
      .entries_o    (entries[i]),
      .row_found_o  (row_found[i]),
      .wanted_o     (wanted[i])
    );
    // TableIsItsWords, of each entry.
    for (genvar j = 0; j < 64; j++) begin : gen_entry
      assign is_of_table[64*i+j] = entries[i][EntryBits*j+:EntryBits] ==
          (loading[i] && read[i] <= j ? '0 : table_q[EntryBits*j+:EntryBits]);
    end
    always_comb assume (!rst_ni || is_same_q || !is_switched[i] || &is_of_table[64*i+:64]);
    // Forgotten, of the lines that are read.
    if (Step != 2) begin : gen_forgotten
      always_comb assume (!rst_ni || !is_switched[i] || loading[i] || line[i] == '0);
    end
  end

  always @(posedge clk_i) begin
    is_together_q <= rst_ni && (start == '0 ? is_together_q : start == 2'b11 &&
                                (is_same_q || switch_i || first_i[31:0] == second_i[31:0]));
  end
  // Of any one entry, which stands for all.
  logic [5:0]                any_place_q;
  logic [1:0][EntryBits-1:0] any_entry;
  logic                      is_load;
  always @(posedge clk_i) any_place_q <= any_place_q;
  always_comb begin
    any_entry = '0;
    for (int unsigned j = 0; j < 64; j++) begin
      if (any_place_q == j) begin
        any_entry = {entries[1][EntryBits*j+:EntryBits], entries[0][EntryBits*j+:EntryBits]};
      end
    end
  end
  assign holds[0] = is_load && (!is_same_q || entries[0] == entries[1]);
  assign is_load = (rst_ni || !(is_same_q || is_together_q)) &&
      (!is_together_q || (load_state[0] == load_state[1] && loads[0] == loads[1] &&
                          doubtful[0] == doubtful[1])) &&
      (!is_same_q || (load_state[0] == load_state[1] && (is_together_q || loading == '0)));
  assign holds[1] = !is_same_q ||
      (unit_state[0] == unit_state[1] && port_state[0] == port_state[1]);
  assign holds[2] = !is_same_q ||
      (answers[0] == answers[1] &&
       (registers[0] == registers[1] ||
        (registers[0][33:32] == 2'b11 && registers[1][33:32] == 2'b11 && !is_together_q)));
  // Lines, of those that are read.
  assign is_line_read = !is_same_q || loading != '0 || line[0] == line[1];
  always @(posedge clk_i) begin
    held_q <= holds[0] && (Step == 2 || (holds[1] && is_line_read)) &&
              (Step != 3 || !is_same_q || any_line[0] == any_line[1]);
  end
  always_comb begin
    assume (number[0] == number[1] && any_page[0] == any_page[1]);
    assume (!switch_i || (rst_ni && !is_same_q && is_switched == 2'b11 &&
                          (is_together_q || loading == '0)));
    assume (held_q);
    if (Step == 1) Loads: assert (is_load); else assume (is_load);
    if (Step == 2) Tables: assert (!is_same_q || any_entry[0] == any_entry[1]);
    if (Step > 2) assume (holds[0]);
    if (Step == 3) Lines: assert (!is_same_q || any_line[0] == any_line[1]);
    if (Step == 3) States: assert (holds[1]);
    if (Step > 3) assume (holds[1] && is_line_read);
    if (Step == 4) Answers: assert (holds[2]);
  end
endmodule
