// Proof that the two lookups of the RTMMU are equal if the tables answer in fixed numbers of cycles
// [P0-28, P0-29].
//
// For every sequence of lookups, every content of the tables, which may change in any cycle, and a
// reset in any cycle, both have in every cycle
// - the same readiness, requests and addresses
// - the same result, with the same tag, page, start and data; neither has another one.
//
// By induction, so for ever: what the general lookup counts is what it should count, and a slot is
// filled and emptied within `Cycles`.
module tau_rtmmu_fixed_proof #(
  parameter int unsigned PageBits = 4,
  parameter int unsigned SlotBits = 2,
  parameter int unsigned Latency = 1,  // of tables 0, 1, 3 and 4
  parameter int unsigned Latency2 = 1
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                lookup_valid_i,
  input logic [PageBits-1:0] lookup_page_i,
  input logic [3:0]          lookup_tag_i,
  input logic [4:0][31:0]    table_rdata_i
);

  localparam int unsigned Cycles = 2 * Latency > Latency2 ? 2 * Latency : Latency2;
  localparam int unsigned Slots = 2 ** SlotBits;

  logic is_first = 1'b1;
  always @(posedge clk_i) is_first <= 1'b0;
  always_comb assume (!is_first || !rst_ni);

  // Lookups taken so many cycles ago. The tables answer as many cycles later as they should.
  logic [Cycles:0]   taken;
  logic [Cycles-1:0] taken_q;
  logic [4:0]        rvalid;
  assign taken = {taken_q, lookup_valid_i};
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) taken_q <= '0;
    else taken_q <= taken[Cycles-1:0];
  end
  assign rvalid = {{2{taken[2*Latency]}}, taken[Latency2], {2{taken[Latency]}}};

  // Of the general lookup, and of the fixed one.
  logic [1:0]                  ready, valid, mapped;
  logic [1:0][3:0]             tag;
  logic [1:0][PageBits-1:0]    page, start;
  logic [1:0][29:0]            data;
  logic [1:0][4:0]             req;
  logic [4:0][PageBits:0]      addr0, addr1;

  tau_rtmmu_any_lookup #(
    .PageBits(PageBits),
    .SlotBits(SlotBits)
  ) u_any (
    .clk_i,
    .rst_ni,
    .lookup_valid_i,
    .lookup_ready_o (ready[0]),
    .lookup_page_i,
    .lookup_tag_i,
    .result_valid_o (valid[0]),
    .result_mapped_o(mapped[0]),
    .result_tag_o   (tag[0]),
    .result_page_o  (page[0]),
    .result_start_o (start[0]),
    .result_data_o  (data[0]),
    .table_req_o    (req[0]),
    .table_addr_o   (addr0),
    .table_rvalid_i (rvalid),
    .table_rdata_i
  );
  tau_rtmmu_fixed_lookup #(
    .PageBits       (PageBits),
    .ValidityLatency(Latency),
    .PageLatency    (Latency2)
  ) u_fixed (
    .clk_i,
    .rst_ni,
    .lookup_valid_i,
    .lookup_ready_o (ready[1]),
    .lookup_page_i,
    .lookup_tag_i,
    .result_valid_o (valid[1]),
    .result_mapped_o(mapped[1]),
    .result_tag_o   (tag[1]),
    .result_page_o  (page[1]),
    .result_start_o (start[1]),
    .result_data_o  (data[1]),
    .table_req_o    (req[1]),
    .table_addr_o   (addr1),
    .table_rvalid_i (rvalid),
    .table_rdata_i
  );

  // What the general lookup should count: lookups in flight, and those without answers of tables.
  logic [SlotBits:0] in_flight, first, second, third;
  always_comb begin
    in_flight = '0;
    first = '0;
    second = '0;
    third = '0;
    for (int unsigned i = 1; i <= Cycles; i++) begin
      in_flight = in_flight + {{SlotBits{1'b0}}, taken[i]};
      if (i <= Latency) first = first + {{SlotBits{1'b0}}, taken[i]};
      if (i <= 2 * Latency) second = second + {{SlotBits{1'b0}}, taken[i]};
      if (i <= Latency2) third = third + {{SlotBits{1'b0}}, taken[i]};
    end
  end
  (* hierconn *) wire [SlotBits:0] \u_any.count_q ;
  (* hierconn *) wire [SlotBits-1:0] \u_any.head_q ;
  (* hierconn *) wire [SlotBits-1:0] \u_any.tail_q ;
  (* hierconn *) wire [SlotBits-1:0] \u_any.at0_q ;
  (* hierconn *) wire [SlotBits-1:0] \u_any.at1_q ;
  (* hierconn *) wire [SlotBits-1:0] \u_any.at2_q ;
  (* hierconn *) wire [SlotBits-1:0] \u_any.at3_q ;
  (* hierconn *) wire [SlotBits-1:0] \u_any.at4_q ;
  (* hierconn *) wire [Slots-1:0] \u_any.has_top_q ;
  (* hierconn *) wire [Slots-1:0] \u_any.has_page_q ;
  (* hierconn *) wire [Slots-1:0] \u_any.has_data_q ;
  logic [SlotBits:0]   count;
  logic [SlotBits-1:0] head, tail, at_second, at_third;
  assign count = \u_any.count_q ;
  assign head = \u_any.head_q ;
  assign tail = \u_any.tail_q ;
  assign at_second = tail - second[SlotBits-1:0];
  assign at_third = tail - third[SlotBits-1:0];
  logic [Slots-1:0] has_second, has_third;  // slots in flight with answers
  for (genvar i = 0; i < Slots; i++) begin : gen_slot
    logic [SlotBits-1:0] ahead;
    assign ahead = SlotBits'(i) - head;
    assign has_second[i] = {1'b0, ahead} < in_flight - second;
    assign has_third[i] = {1'b0, ahead} < in_flight - third;
  end

  always @(posedge clk_i) begin
    if (rst_ni) begin
      Counts: assert (count == in_flight && head + count[SlotBits-1:0] == tail);
      FirstAnswers: assert (\u_any.at0_q == tail - first[SlotBits-1:0] &&
                            \u_any.at1_q == tail - first[SlotBits-1:0]);
      SecondAnswers: assert (\u_any.at3_q == at_second &&
                             \u_any.at4_q == at_second &&
                             \u_any.has_top_q == has_second &&
                             \u_any.has_page_q == has_second);
      ThirdAnswers: assert (\u_any.at2_q == at_third &&
                            \u_any.has_data_q == has_third);
      EqualReady: assert (ready[0] && ready[1]);
      EqualReads: assert (req[0] == req[1] && addr0 == addr1);
      Asked: assert (req[0] == {{2{taken[Latency]}}, {3{taken[0]}}});
      EqualResult: assert (valid[0] == taken[Cycles] && valid[1] == taken[Cycles]);
      EqualContent: assert (!valid[0] ||
                            (mapped[0] == mapped[1] && tag[0] == tag[1] && page[0] == page[1] &&
                             start[0] == start[1] && data[0] == data[1]));
      Translated: cover (valid[1] && mapped[1] && taken[Cycles-1:0] == '1);
      Refused: cover (valid[1] && !mapped[1]);
    end
  end
endmodule
