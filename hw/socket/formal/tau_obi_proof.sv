// Proof that the OBI port keeps the rules of OBI on both sides, on a small space.
//
// It holds for every manager that keeps them, every unit that keeps the socket's rules, and every
// memory that answers each granted request once, in order, at any later cycle:
// - Grant: only of a request.
// - Answer: each granted request is answered exactly once, in order, with its own data or error.
// - Holds: a request to the memory stays as it is until it is granted.
// - Memory: it gets each access that is allowed exactly once, in order, translated, and no other.
// - Lost: when nothing is on its way, nothing is owed.
//
// A word of the memory is its address, with an error at words chosen by the prover.
module tau_obi_proof #(
  parameter int unsigned PageBits = 2,
  parameter int unsigned FrameBits = 2,
  parameter int unsigned GranuleBits = 3
) (
  input logic                 clk_i,
  input logic                 user,
  input logic                 req,
  input logic [4:0]           place,
  input logic                 we,
  input logic                 data_bit,
  input logic                 lookup_ready,
  input logic                 result_valid,
  input logic                 last_hit,
  input logic [FrameBits-1:0] any_frame,
  input logic                 mem_gnt,
  input logic                 mem_rvalid
);

  localparam int unsigned Pages = 2 ** PageBits;
  localparam int unsigned KeptBits = FrameBits + GranuleBits;  // of an address: its ends
  localparam int unsigned MemBits = KeptBits + 2;  // address, store, data
  localparam int unsigned AnswerBits = KeptBits + 2;  // cause, data

  function automatic logic [KeptBits-1:0] ends_of(input logic [31:0] address);
    ends_of = {address[31:30], address[KeptBits-1:2]};
  endfunction

  logic rst_ni = 1'b0;
  always @(posedge clk_i) rst_ni <= 1'b1;

  // Few bits of a request are free: the window, behind its end, page and word; of the data one.
  logic [31:0] addr, wdata;
  logic [3:0]  be;
  assign addr = {place[4:3], {(27 - PageBits) {1'b0}}, place[2:0], 2'b00};
  assign wdata = {32{data_bit}};
  assign be = {4{data_bit}};

  // The mode may change while the request waits: that of its first cycle counts.
  logic req_q = 1'b0;
  logic mode, mode_q;
  assign mode = req_q ? mode_q : user;
  always @(posedge clk_i) {req_q, mode_q} <= {rst_ni && req && !gnt, mode};

  // What the unit says of each page, and where the memory answers with an error.
  (* anyconst *) logic [2*Pages-1:0]         causes;
  (* anyconst *) logic [FrameBits*Pages-1:0] frames;
  (* anyconst *) logic [KeptBits-1:0]        error_at;

  logic                 gnt, rvalid, err, mem_req, mem_translated, mem_we;
  logic                 lookup_valid, lookup_user;
  logic [31:0]          rdata, mem_addr, mem_wdata;
  logic [3:0]           mem_be;
  logic [PageBits-1:0]  lookup_page, page;
  logic [2:0]           lookup_access;
  logic [1:0]           cause, result_cause;
  logic [FrameBits-1:0] result_frame;
  logic                 window_req, at_once;

  // Queues: pages that the unit looks up, addresses in the memory, accesses that the memory must
  // get, answers that the core must get.
  logic [2*PageBits-1:0]   pages_q;
  logic [4*KeptBits-1:0]   there_q;
  logic [8*MemBits-1:0]    accesses_q;
  logic [8*AnswerBits-1:0] answers_q;
  logic [1:0] pages_head = '0, pages_tail = '0;
  logic [2:0] there_head = '0, there_tail = '0;
  logic [3:0] accesses_head = '0, accesses_tail = '0, answers_head = '0, answers_tail = '0;
  logic       quiet_q = 1'b0;

  logic                  granted, in_window, mem_taken, lookup_taken, mem_err;
  logic [1:0]            due_cause;
  logic [KeptBits-1:0]   physical, mem_word;
  logic [MemBits-1:0]    mem_access;
  logic [AnswerBits-1:0] answer;
  assign granted = req && gnt;
  assign mem_taken = mem_req && mem_gnt;
  assign lookup_taken = lookup_valid && lookup_ready;
  assign page = addr[GranuleBits+:PageBits];
  assign in_window = addr[31] && addr[30:GranuleBits+PageBits] == '0 && page != '0;
  assign physical = !in_window ? ends_of(addr)
                    : {2'b11, frames[FrameBits*page+:FrameBits], addr[GranuleBits-1:2]};
  assign due_cause = in_window ? causes[2*page+:2]
      : mode ? tau_status_pkg::CauseOutside : tau_status_pkg::CauseNone;
  assign mem_access = {physical, we, data_bit};
  assign answer = {due_cause != '0 ? due_cause : physical == error_at ? 2'd3 : 2'd0, physical};
  assign mem_word = there_q[KeptBits*there_head[1:0]+:KeptBits];
  assign mem_err = mem_word == error_at;
  assign result_cause = causes[2*pages_q[PageBits*pages_head[0]+:PageBits]+:2];
  assign result_frame = frames[FrameBits*pages_q[PageBits*pages_head[0]+:PageBits]+:FrameBits];

  always @(posedge clk_i) begin
    if (!rst_ni) begin
      quiet_q <= 1'b0;
    end else begin
      if (lookup_taken) begin
        pages_q[PageBits*pages_tail[0]+:PageBits] <= lookup_page;
        pages_tail <= pages_tail + 1'b1;
      end
      pages_head <= pages_head + result_valid;
      if (mem_taken) begin
        there_q[KeptBits*there_tail[1:0]+:KeptBits] <= ends_of(mem_addr);
        there_tail <= there_tail + 1'b1;
        accesses_head <= accesses_head + 1'b1;
      end
      there_head <= there_head + mem_rvalid;
      if (granted) begin
        if (due_cause == '0) begin
          accesses_q[MemBits*accesses_tail[2:0]+:MemBits] <= mem_access;
          accesses_tail <= accesses_tail + 1'b1;
        end
        answers_q[AnswerBits*answers_tail[2:0]+:AnswerBits] <= answer;
        answers_tail <= answers_tail + 1'b1;
      end
      answers_head <= answers_head + rvalid;
      quiet_q <= pages_head == pages_tail && there_head == there_tail && !mem_req && !req;
    end
  end

  tau_obi_port #(
    .PageBits   (PageBits),
    .FrameBits  (FrameBits),
    .GranuleBits(GranuleBits)
  ) u_port (
    .clk_i,
    .rst_ni,
    .fetch_i         (1'b0),
    .user_i          (user),
    .core_req_i      (req),
    .core_gnt_o      (gnt),
    .core_addr_i     (addr),
    .core_we_i       (we),
    .core_be_i       (be),
    .core_wdata_i    (wdata),
    .core_rvalid_o   (rvalid),
    .core_rdata_o    (rdata),
    .core_err_o      (err),
    .mem_req_o       (mem_req),
    .mem_gnt_i       (mem_gnt),
    .mem_translated_o(mem_translated),
    .mem_addr_o      (mem_addr),
    .mem_we_o        (mem_we),
    .mem_be_o        (mem_be),
    .mem_wdata_o     (mem_wdata),
    .mem_rvalid_i    (mem_rvalid),
    .mem_rdata_i     (32'(mem_word)),
    .mem_err_i       (mem_err),
    .lookup_valid_o  (lookup_valid),
    .lookup_ready_i  (lookup_ready),
    .lookup_page_o   (lookup_page),
    .lookup_access_o (lookup_access),
    .lookup_user_o   (lookup_user),
    .result_valid_i  (result_valid),
    .result_fault_i  (result_cause != '0),
    .result_cause_i  (result_cause),
    .result_frame_i  (result_frame),
    .last_hit_i      (last_hit),
    .last_frame_i    (last_hit ? frames[FrameBits*page+:FrameBits] : any_frame),
    .window_req_o    (window_req),
    .at_once_o       (at_once),
    .answer_cause_o  (cause)
  );

  logic        mem_req_q = 1'b0;
  logic [6:0]  core_q;
  logic [KeptBits+2:0] mem_q;
  always @(posedge clk_i) begin
    mem_req_q <= rst_ni && mem_req && !mem_gnt;
    core_q <= {place, we, data_bit};
    mem_q <= {mem_translated, ends_of(mem_addr), mem_we, mem_wdata[0]};
  end

  // The partners keep their rules.
  always @(posedge clk_i) begin
    for (int unsigned i = 0; i < Pages; i++) begin
      assume (causes[2*i+:2] != tau_status_pkg::CauseOutside);
    end
    assume (!req_q || (req && core_q == {place, we, data_bit}));
    assume (rst_ni || !(req || result_valid || mem_rvalid || last_hit));
    assume (!result_valid || pages_head != pages_tail);
    assume (!last_hit || (lookup_ready && causes[2*page+:2] == '0));
    assume (!mem_rvalid || there_head != there_tail);
  end

  logic [MemBits-1:0]    due_access;
  logic [AnswerBits-1:0] due;
  // What is granted in this cycle may go to the memory at once.
  assign due_access = accesses_head == accesses_tail ? mem_access
                      : accesses_q[MemBits*accesses_head[2:0]+:MemBits];
  assign due = answers_q[AnswerBits*answers_head[2:0]+:AnswerBits];
  always @(posedge clk_i) begin
    if (rst_ni) begin
      GrantOfRequest: assert (!gnt || req);
      AnswerWasOwed: assert (!rvalid || answers_head != answers_tail);
      AnswerInOrder: assert (!rvalid || (cause == due[KeptBits+:2] && err == (cause != '0) &&
                                         (err || rdata == 32'(due[KeptBits-1:0]))));
      Holds: assert (!mem_req_q || (mem_req && mem_q ==
                                    {mem_translated, ends_of(mem_addr), mem_we, mem_wdata[0]}));
      MemoryWasOwed: assert (!mem_taken || accesses_head != accesses_tail ||
                             (granted && due_cause == '0));
      MemoryInOrder: assert (!mem_taken ||
                             (due_access == {ends_of(mem_addr), mem_we, mem_wdata[0]} &&
                              mem_addr[29:KeptBits] == '0 && mem_addr[1:0] == '0 &&
                              mem_be == {4{mem_wdata[0]}} && mem_wdata == {32{mem_wdata[0]}}));
      Lost: assert (!quiet_q || (answers_head == answers_tail && accesses_head == accesses_tail));
      Translated: cover (rvalid && !err && due[KeptBits-1-:2] == 2'b11);
      Unmapped: cover (rvalid && cause == tau_status_pkg::CauseUnmapped);
      Refused: cover (rvalid && cause == tau_status_pkg::CauseOutside);
      LastWaits: cover (at_once && !mem_gnt);
      Waiting: cover (mem_req_q && answers_tail - answers_head == 4'd4);
      FaultBehindMemory: cover (rvalid && cause == tau_status_pkg::CauseRights &&
                                answers_tail == 4'd3 && answers_head == 4'd2);
    end
  end
endmodule
