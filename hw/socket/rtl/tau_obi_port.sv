// One port of a core: an OBI subordinate for the core's virtual addresses, an OBI manager for
// physical ones, and the lookup port of a unit between them.
//
// A request in the window is granted when the unit takes its lookup. Its result goes straight to
// the memory. A fault, and a request of user mode outside the window, is answered without memory.
// The mode does not delay a grant that the memory gives: Ibex knows it late in its cycle.
// An error of this port always comes out of a register (Ibex has a path from its error input to its
// request). Everything else goes to the memory as it is.
//
// A unit may keep the translation it used last. An access goes to that frame in the cycle of its
// request, and counts only if the unit says that it is the right one. The comparison runs in
// parallel with the frame's address, and delays neither it nor the grant. If the memory does not
// take the access in that cycle, it waits here like one that was looked up.
//
// At most two window accesses are on their way to the memory, as many as Ibex ever has, and at most
// three in it. OBI answers in order, so only an answer of this port waits for those of the memory.
// A proof in formal/ has the rules of OBI on both sides.
//
// The tile has a port of its own, for memories that answer one cycle after the grant.
// docs/design/mmu.md says why there are two.
`include "tau_assert.svh"

module tau_obi_port #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned GranuleBits = 12,  // of an address inside a page
  parameter logic [31:0] FramesBase = 32'hC000_0000  // aligned to the size of all frames
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,

  // Constant: fetches instructions; otherwise loads and stores data.
  input  logic                                 fetch_i,
  // User mode, in the first cycle of a request.
  input  logic                                 user_i,

  // The core.
  input  logic                                 core_req_i,
  output logic                                 core_gnt_o,
  input  logic [31:0]                          core_addr_i,
  input  logic                                 core_we_i,
  input  logic [3:0]                           core_be_i,
  input  logic [31:0]                          core_wdata_i,
  output logic                                 core_rvalid_o,
  output logic [31:0]                          core_rdata_o,
  output logic                                 core_err_o,

  // The memory. `translated` belongs to the address: it is a word of a frame, through the window.
  output logic                                 mem_req_o,
  input  logic                                 mem_gnt_i,
  output logic                                 mem_translated_o,
  output logic [31:0]                          mem_addr_o,
  output logic                                 mem_we_o,
  output logic [3:0]                           mem_be_o,
  output logic [31:0]                          mem_wdata_o,
  input  logic                                 mem_rvalid_i,
  input  logic [31:0]                          mem_rdata_i,
  input  logic                                 mem_err_i,

  // The unit in the socket.
  output logic                                 lookup_valid_o,
  input  logic                                 lookup_ready_i,
  output logic [PageBits-1:0]                  lookup_page_o,
  output logic [2:0]                           lookup_access_o,
  output logic                                 lookup_user_o,
  input  logic                                 result_valid_i,
  input  logic                                 result_fault_i,
  input  logic [1:0]                           result_cause_i,
  input  logic [FrameBits-1:0]                 result_frame_i,
  input  logic                                 last_hit_i,
  input  logic [FrameBits-1:0]                 last_frame_i,

  // To be watched: whether the core's request is for the window, whether it goes to the frame of
  // the last translation, and the cause of the answer's error (0: not an error; 3: the memory's, or
  // outside the window in user mode).
  output logic                                 window_req_o,
  output logic                                 at_once_o,
  output logic [1:0]                           answer_cause_o
);

  localparam int unsigned PageFieldBits = 31 - GranuleBits;
  localparam int unsigned WordBits = GranuleBits - 2;

  logic [PageFieldBits-1:0] page_field;
  logic                     in_window;
  assign page_field = core_addr_i[30:GranuleBits];
  assign in_window = core_addr_i[31] && (page_field >> PageBits) == '0 && page_field != '0;

  // A core changes its mode while it waits for the grant of a fetch that it no longer needs.
  logic user, waits_q, user_q;
  assign user = waits_q ? user_q : user_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {waits_q, user_q} <= '0;
    else {waits_q, user_q} <= {core_req_i && !core_gnt_o, user};
  end

  // The two accesses on their way, 0 the older. `answered`: the unit's result has arrived, but the
  // memory has not taken the access yet.
  logic [1:0]           valid_q, answered_q, fault_q, we_q;
  logic [1:0]           cause0_q, cause1_q;
  logic [FrameBits-1:0] frame0_q, frame1_q;
  logic [WordBits-1:0]  word, word0_q, word1_q;
  logic [3:0]           be0_q, be1_q;
  logic [31:0]          wdata0_q, wdata1_q;

  // Accesses in the memory.
  logic [1:0] count_q;
  logic       takes, taken, drained;
  assign takes = count_q != '1 && mem_gnt_i;
  assign taken = mem_req_o && mem_gnt_i;
  assign drained = count_q == '0 || (count_q == 2'd1 && mem_rvalid_i);

  logic accept, leave, head_answered, head_fault, result_to_head;
  assign result_to_head = !answered_q[0];
  assign head_answered = valid_q[0] && (answered_q[0] || result_valid_i);
  assign head_fault = answered_q[0] ? fault_q[0] : result_fault_i;
  assign leave = head_answered && (head_fault ? drained : takes);

  // With nothing in front of it, the core's request is on the memory's wires. A refused access that
  // the memory's answers hold up also holds up what follows it.
  logic asks, offered, is_last, last_waits, outside, outside_gnt, refuse, held_q;
  assign asks = core_req_i && !held_q;
  assign offered = asks && in_window && (!valid_q[1] || leave);
  assign is_last = asks && in_window && !valid_q[0] && last_hit_i;
  assign last_waits = is_last && !takes;
  assign outside = asks && !in_window && !valid_q[0];
  assign outside_gnt = outside && count_q != '1 && (mem_gnt_i || user);
  assign refuse = held_q || (outside_gnt && user);

  assign word = core_addr_i[GranuleBits-1:2];
  assign mem_req_o = count_q != '1 &&
                     ((head_answered && !head_fault) || is_last || (outside && !user));
  assign mem_translated_o = valid_q[0] || in_window;
  always_comb begin
    mem_addr_o = core_addr_i;
    if (valid_q[0]) begin
      mem_addr_o = FramesBase | 32'({answered_q[0] ? frame0_q : result_frame_i, word0_q, 2'b00});
    end else if (in_window) begin
      mem_addr_o = FramesBase | 32'({last_frame_i, word, 2'b00});
    end
  end
  assign mem_we_o = valid_q[0] ? we_q[0] : core_we_i;
  assign mem_be_o = valid_q[0] ? be0_q : core_be_i;
  assign mem_wdata_o = valid_q[0] ? wdata0_q : core_wdata_i;

  assign lookup_valid_o = offered && !is_last;
  assign lookup_page_o = page_field[PageBits-1:0];
  assign lookup_access_o = fetch_i ? 3'b100 : {1'b0, core_we_i, !core_we_i};
  assign lookup_user_o = user;
  assign accept = (lookup_valid_o && lookup_ready_i) || last_waits;
  assign core_gnt_o = (offered && lookup_ready_i) || outside_gnt;

  // Position of a new access: behind those that stay.
  logic accept0, accept1;
  assign accept0 = accept && (!valid_q[0] || (leave && !valid_q[1]));
  assign accept1 = accept && !accept0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      answered_q <= '0;
      count_q <= '0;
    end else begin
      count_q <= count_q + 2'(taken) - 2'(mem_rvalid_i);
      if (leave) begin
        valid_q <= {accept1, valid_q[1] || accept0};
        answered_q <= {1'b0, answered_q[1] || (result_valid_i && !result_to_head)};
      end else begin
        valid_q <= valid_q | {accept1, accept0};
        if (result_valid_i) answered_q <= {!result_to_head || answered_q[1], 1'b1};
        else if (last_waits) answered_q[0] <= 1'b1;
      end
    end
  end

  // Not reset: accesses, which valid_q and answered_q qualify.
  always_ff @(posedge clk_i) begin
    // The younger access moves up, with the result that arrives for it in this cycle.
    if (leave) begin
      fault_q[0] <= answered_q[1] ? fault_q[1] : result_fault_i;
      cause0_q <= answered_q[1] ? cause1_q : result_cause_i;
      frame0_q <= answered_q[1] ? frame1_q : result_frame_i;
    end else if (last_waits) begin
      fault_q[0] <= 1'b0;
      frame0_q <= last_frame_i;
    end else if (result_valid_i && result_to_head) begin
      fault_q[0] <= result_fault_i;
      cause0_q <= result_cause_i;
      frame0_q <= result_frame_i;
    end
    if (result_valid_i && !result_to_head) begin
      fault_q[1] <= result_fault_i;
      cause1_q <= result_cause_i;
      frame1_q <= result_frame_i;
    end
    if (accept0) begin
      word0_q <= word;
      we_q[0] <= core_we_i;
      be0_q <= core_be_i;
      wdata0_q <= core_wdata_i;
    end else if (leave) begin
      word0_q <= word1_q;
      we_q[0] <= we_q[1];
      be0_q <= be1_q;
      wdata0_q <= wdata1_q;
    end
    if (accept1) begin
      word1_q <= word;
      we_q[1] <= core_we_i;
      be1_q <= core_be_i;
      wdata1_q <= core_wdata_i;
    end
  end

  // The answers of this port itself.
  logic       refused_q;
  logic [1:0] cause_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      refused_q <= 1'b0;
      held_q <= 1'b0;
      cause_q <= '0;
    end else begin
      refused_q <= (leave && head_fault) || (refuse && drained);
      held_q <= refuse && !drained;
      cause_q <= refuse ? tau_status_pkg::CauseOutside : answered_q[0] ? cause0_q : result_cause_i;
    end
  end

  assign core_rvalid_o = refused_q || mem_rvalid_i;
  assign core_rdata_o = mem_rdata_i;
  assign core_err_o = refused_q || (mem_rvalid_i && mem_err_i);
  assign window_req_o = core_req_i && in_window;
  assign at_once_o = is_last;
  assign answer_cause_o = refused_q ? cause_q
                          : core_err_o ? tau_status_pkg::CauseOutside : tau_status_pkg::CauseNone;

  `TAU_ASSERT(OneAnswerAtATime, !(refused_q && mem_rvalid_i))
  `TAU_ASSERT(MemoryWasAsked, !mem_rvalid_i || count_q != '0)
  `TAU_ASSERT(ResultWasAskedFor,
              !result_valid_i || (valid_q[0] && !answered_q[0]) || (valid_q[1] && !answered_q[1]))
  `TAU_ASSERT(FaultHasCause, !result_valid_i || result_fault_i == (result_cause_i != '0))
  `TAU_ASSERT(CauseIsTheUnits, !result_valid_i || result_cause_i != 2'd3)
  `TAU_ASSERT(LastIsReady, !is_last || lookup_ready_i)
  `TAU_ASSERT(OldestFirst, valid_q != 2'b10 && (answered_q & ~valid_q) == '0)
endmodule
