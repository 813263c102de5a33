// One port of the core. It separates accesses to local memory and to the window, has the unit in
// the socket translate window addresses, and answers in order.
//
// A window access is granted when the unit takes its lookup. Its result goes straight to the
// frames; a fault waits one cycle instead, so both are answered one cycle after the result and an
// error always comes out of a register (Ibex has a path from its error input to its request).
//
// A unit may keep translations. An access goes to the frame of one in the cycle of its request,
// and counts only if the unit says that it is the right one. The comparison runs in parallel
// with the frames' address, and delays neither it nor the grant: an access that does not count
// is a lookup like any other.
//
// At most two window accesses are on their way, as many as the core ever has. A local access is
// answered exactly one cycle after its grant, so it is held back while window accesses are on
// their way; a window access behind a local one cannot overtake it.
//
// In user mode only the window exists. An access outside the window is left to the local side,
// which knows what exists there: `outside_o` tells it when user mode asks for anything else.
//
// hw/socket/ has the general port, for memories of any latency. docs/design/mmu.md says why there
// are two.
`include "tau_assert.svh"

module tau_tile_port #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  // Of an address inside a page.
  parameter int unsigned GranuleBits = 12
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,

  // Constant: fetches instructions; otherwise loads and stores data.
  input  logic                                 fetch_i,
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

  // Everything that is not translated. Address and write data are the core's. Answered one cycle
  // after the grant.
  output logic                                 local_req_o,
  output logic                                 local_outside_o,
  input  logic                                 local_gnt_i,
  input  logic [31:0]                          local_rdata_i,
  input  logic                                 local_err_i,

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

  // The frames. Answered one cycle after the grant.
  output logic                                 frame_req_o,
  input  logic                                 frame_gnt_i,
  output logic [FrameBits+GranuleBits-3:0]     frame_word_o,
  output logic                                 frame_we_o,
  output logic [3:0]                           frame_be_o,
  output logic [31:0]                          frame_wdata_o,
  input  logic [31:0]                          frame_rdata_i,

  // Watched by the tile: whether the core's request is for the window, whether it goes to the frame
  // of the last translation, whether the answer is a window access's, and the error's cause (0: not
  // an error; always 3 for a local one).
  output logic                                 window_req_o,
  output logic                                 at_once_o,
  output logic                                 answer_window_o,
  output logic [1:0]                           answer_cause_o
);

  localparam int unsigned PageFieldBits = 31 - GranuleBits;
  localparam int unsigned WordBits = GranuleBits - 2;

  logic [PageFieldBits-1:0] page_field;
  logic                     in_window;
  assign page_field = core_addr_i[30:GranuleBits];
  assign in_window = core_addr_i[31] && (page_field >> PageBits) == '0 && page_field != '0;

  // The two accesses in flight, 0 the older. `answered`: the unit's result has arrived, but the
  // frames have not taken the access yet.
  logic [1:0]           valid_q, answered_q, fault_q, we_q;
  logic [1:0]           cause0_q, cause1_q;
  logic [FrameBits-1:0] frame0_q, frame1_q;
  logic [WordBits-1:0]  word, word0_q, word1_q;
  logic [3:0]           be0_q, be1_q;
  logic [31:0]          wdata0_q, wdata1_q;

  logic accept, leave, head_answered, head_fault, result_to_head;
  assign result_to_head = !answered_q[0];
  assign head_answered = valid_q[0] && (answered_q[0] || result_valid_i);
  assign head_fault = answered_q[0] ? fault_q[0] : result_fault_i;
  assign leave = head_answered && (head_fault || frame_gnt_i);

  // With nothing in front of it, the core's request is on the frames' wires.
  logic offered, is_last, at_once;
  assign offered = core_req_i && in_window && (!valid_q[1] || leave);
  assign is_last = offered && !valid_q[0] && last_hit_i;
  assign at_once = is_last && frame_gnt_i;

  assign word = core_addr_i[GranuleBits-1:2];
  assign frame_req_o = (head_answered && !head_fault) || is_last;
  assign frame_word_o = !valid_q[0] ? {last_frame_i, word} :
                        {answered_q[0] ? frame0_q : result_frame_i, word0_q};
  assign frame_we_o = valid_q[0] ? we_q[0] : core_we_i;
  assign frame_be_o = valid_q[0] ? be0_q : core_be_i;
  assign frame_wdata_o = valid_q[0] ? wdata0_q : core_wdata_i;

  assign lookup_valid_o = offered && !at_once;
  assign lookup_page_o = page_field[PageBits-1:0];
  assign lookup_access_o = fetch_i ? 3'b100 : {1'b0, core_we_i, !core_we_i};
  assign lookup_user_o = user_i;
  assign accept = lookup_valid_o && lookup_ready_i;

  assign local_req_o = core_req_i && !in_window && !valid_q[0];
  assign local_outside_o = user_i;
  assign core_gnt_o = (offered && lookup_ready_i) || (local_req_o && local_gnt_i);

  // Position of a new access: behind those that stay.
  logic accept0, accept1;
  assign accept0 = accept && (!valid_q[0] || (leave && !valid_q[1]));
  assign accept1 = accept && !accept0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      answered_q <= '0;
    end else begin
      if (leave) begin
        valid_q <= {accept1, valid_q[1] || accept0};
        answered_q <= {1'b0, answered_q[1] || (result_valid_i && !result_to_head)};
      end else begin
        valid_q <= valid_q | {accept1, accept0};
        if (result_valid_i) answered_q <= {!result_to_head || answered_q[1], 1'b1};
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

  logic       window_answer_q, window_fault_q, local_answer_q;
  logic [1:0] window_cause_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      window_answer_q <= 1'b0;
      window_fault_q <= 1'b0;
      window_cause_q <= '0;
      local_answer_q <= 1'b0;
    end else begin
      window_answer_q <= leave || at_once;
      window_fault_q <= leave && head_fault;
      window_cause_q <= !(leave && head_fault) ? '0 : answered_q[0] ? cause0_q : result_cause_i;
      local_answer_q <= local_req_o && local_gnt_i;
    end
  end

  assign core_rvalid_o = window_answer_q || local_answer_q;
  assign core_rdata_o = window_answer_q ? frame_rdata_i : local_rdata_i;
  assign core_err_o = window_fault_q || (local_answer_q && local_err_i);
  assign window_req_o = core_req_i && in_window;
  assign at_once_o = at_once;
  assign answer_window_o = window_answer_q;
  assign answer_cause_o = local_answer_q && local_err_i ? tau_status_pkg::CauseOutside
                          : window_cause_q;

  // The byte enables select the bytes of a word.
  logic unused;
  assign unused = ^core_addr_i[1:0];

  `TAU_ASSERT(OneAnswerAtATime, !(window_answer_q && local_answer_q))
  `TAU_ASSERT(ResultWasAskedFor,
              !result_valid_i || (valid_q[0] && !answered_q[0]) || (valid_q[1] && !answered_q[1]))
  `TAU_ASSERT(FaultHasCause, !result_valid_i || result_fault_i == (result_cause_i != '0))
  `TAU_ASSERT(CauseIsTheUnits, !result_valid_i || result_cause_i != 2'd3)
  `TAU_ASSERT(LastIsReady, !is_last || lookup_ready_i)
  `TAU_ASSERT(OldestFirst, valid_q != 2'b10 && (answered_q & ~valid_q) == '0)

`ifdef FORMAL
  // What later answers follow from, with 0 for what does not count any more.
  logic [1023:0] proof_state;
  assign proof_state = {valid_q, answered_q, window_answer_q, window_fault_q, window_cause_q,
                        local_answer_q,
                        valid_q[0] ? {1'b1, word0_q, we_q[0], be0_q, wdata0_q} : '0,
                        valid_q[1] ? {1'b1, word1_q, we_q[1], be1_q, wdata1_q} : '0,
                        answered_q[0] ? {fault_q[0], cause0_q, fault_q[0] ? '0 : frame0_q} : '0,
                        answered_q[1] ? {fault_q[1], cause1_q, fault_q[1] ? '0 : frame1_q} : '0};
`endif
endmodule
