// Proof of the RTMMU on a small space [P0-11, P0-25].
//
// It holds for every content of the tables, every sequence of lookups on both ports and fixed
// latencies:
// - Cycles: a lookup is taken at once (instr: unless there is a data lookup), and its result leaves
//   exactly max(2 Latency, Latency2) cycles later. There is no other result.
// - Equal: fault, cause and frame are the definition's, so no page without a valid entry is
//   translated.
// - Lemma (with TAU_PROOF_LEMMA): assume that sp is right for every page and that the stacks hold
//   the mapped pages. Then a page is translated if and only if it is mapped, whatever c, h, s and d
//   hold elsewhere.
//
// Covered: each case of Lemma 1 can occur.
module tau_rtmmu_proof #(
  parameter int unsigned PageBits = 2,
  parameter int unsigned FrameBits = 2,
  parameter int unsigned Latency = 1,
  parameter int unsigned Latency2 = 1
) (
  input logic                clk_i,
  input logic                instr_lookup_valid,
  input logic [PageBits-1:0] instr_lookup_page,
  input logic [2:0]          instr_lookup_access,
  input logic                data_lookup_valid,
  input logic [PageBits-1:0] data_lookup_page,
  input logic [2:0]          data_lookup_access
);

  localparam int unsigned Pages = 2 ** PageBits;
  localparam int unsigned Cycles = 2 * Latency > Latency2 ? 2 * Latency : Latency2;

  logic rst_ni = 1'b0;
  always @(posedge clk_i) rst_ni <= 1'b1;

  // The tables: word i in bits 32 i.
  (* anyconst *) logic [64*Pages-1:0] regions;
  (* anyconst *) logic [64*Pages-1:0] stacks;
  (* anyconst *) logic [32*Pages-1:0] entries;
  logic [64*Pages-1:0] data;
  assign data = {{32 * Pages{1'b0}}, entries};

  logic                 instr_lookup_ready, instr_result_valid, instr_result_fault;
  logic                 data_lookup_ready, data_result_valid, data_result_fault;
  logic [1:0]           instr_result_cause, data_result_cause;
  logic [FrameBits-1:0] instr_result_frame, data_result_frame;
  logic [4:0]           table_req;
  logic [PageBits:0]    table2_addr;

  tau_proof_socket #(
    .PageBits (PageBits),
    .FrameBits(FrameBits),
    .Latency  (Latency),
    .Latency2 (Latency2)
  ) u_socket (
    .clk_i,
    .rst_ni,
    .regions_i            (regions),
    .stacks_i             (stacks),
    .entries_i            (data),
    .instr_lookup_valid_i (instr_lookup_valid),
    .instr_lookup_ready_o (instr_lookup_ready),
    .instr_lookup_page_i  (instr_lookup_page),
    .instr_lookup_access_i(instr_lookup_access),
    .instr_result_valid_o (instr_result_valid),
    .instr_result_fault_o (instr_result_fault),
    .instr_result_cause_o (instr_result_cause),
    .instr_result_frame_o (instr_result_frame),
    .data_lookup_valid_i  (data_lookup_valid),
    .data_lookup_ready_o  (data_lookup_ready),
    .data_lookup_page_i   (data_lookup_page),
    .data_lookup_access_i (data_lookup_access),
    .data_result_valid_o  (data_result_valid),
    .data_result_fault_o  (data_result_fault),
    .data_result_cause_o  (data_result_cause),
    .data_result_frame_o  (data_result_frame),
    .write_i              (1'b0),
    .write_addr_i         (8'd0),
    .write_data_i         (32'd0),
    .table_req_o          (table_req),
    .table2_addr_o        (table2_addr)
  );

  // The definition, for every page: docs/spec/vspace.md, "The pages validity array".
  logic [31:0]      cache [Pages];
  logic [31:0]      helper [Pages];
  logic [31:0]      stack [Pages];
  logic [26:0]      top [Pages];
  logic [31:0]      entry [Pages];
  logic [26:0]      cache_top [Pages];    // sp[c[b]], if c[b] is a page
  logic [31:0]      helper_page [Pages];  // s[h[b]], if h[b] is a page
  logic [Pages-1:0] named;                // 0 < c <= b
  logic [Pages-1:0] valid;
  for (genvar b = 0; b < Pages; b++) begin : gen_page
    assign cache[b] = regions[64*b+:32];
    assign top[b] = regions[64*b+32+:27];
    assign helper[b] = stacks[64*b+:32];
    assign stack[b] = stacks[64*b+32+:32];
    assign entry[b] = entries[32*b+:32];
    assign cache_top[b] = top[cache[b][PageBits-1:0]];
    assign helper_page[b] = stack[helper[b][PageBits-1:0]];
    assign named[b] = cache[b] != 0 && cache[b] <= b;
    assign valid[b] = named[b] && cache[b] <= helper[b] && helper[b] < Pages &&
                      helper[b] <= {5'd0, cache_top[b]} && helper_page[b] == b;
  end

  // The lookup taken in this cycle, with its answer, and the earlier ones.
  logic                take, is_data, expect_fault;
  logic [PageBits-1:0] page;
  logic [2:0]          access;
  logic [1:0]          expect_cause;
  logic [31:0]         word;
  logic [Cycles-1:0]   take_q = '0;
  logic [Cycles-1:0]   is_data_q, fault_q;
  logic [2*Cycles-1:0]         cause_q;
  logic [FrameBits*Cycles-1:0] frame_q;
  assign is_data = data_lookup_valid;
  assign take = rst_ni && (data_lookup_valid || instr_lookup_valid);
  assign page = is_data ? data_lookup_page : instr_lookup_page;
  assign access = is_data ? data_lookup_access : instr_lookup_access;
  assign word = entry[page];
  assign expect_cause = !valid[page] ? tau_status_pkg::CauseUnmapped
                        : ((access & ~word[29:27]) != '0 ? tau_status_pkg::CauseRights
                           : tau_status_pkg::CauseNone);
  assign expect_fault = expect_cause != '0;
  always @(posedge clk_i) begin
    take_q <= {take_q, take};
    is_data_q <= {is_data_q, is_data};
    fault_q <= {fault_q, expect_fault};
    cause_q <= {cause_q, expect_cause};
    frame_q <= {frame_q, word[FrameBits-1:0]};
  end

  logic                 due, due_is_data, due_fault, fault;
  logic [1:0]           due_cause, cause;
  logic [FrameBits-1:0] due_frame, frame;
  assign due = take_q[Cycles-1];
  assign due_is_data = is_data_q[Cycles-1];
  assign due_fault = fault_q[Cycles-1];
  assign due_cause = cause_q[2*Cycles-1-:2];
  assign due_frame = frame_q[FrameBits*Cycles-1-:FrameBits];
  assign fault = due_is_data ? data_result_fault : instr_result_fault;
  assign cause = due_is_data ? data_result_cause : instr_result_cause;
  assign frame = due_is_data ? data_result_frame : instr_result_frame;

  always @(posedge clk_i) begin
    if (rst_ni) begin
      CyclesTaken: assert (data_lookup_ready && instr_lookup_ready == !data_lookup_valid);
      CyclesResult: assert (data_result_valid == (due && due_is_data) &&
                            instr_result_valid == (due && !due_is_data));
      EqualFault: assert (!due || (fault == due_fault && cause == due_cause));
      EqualFrame: assert (!due || due_fault || frame == due_frame);
    end
  end

`ifdef TAU_PROOF_LEMMA
  // Regions start where `starts` says, and page 0 starts one. `mapped` are the pages on the stacks.
  (* anyconst *) logic [Pages-1:0] starts;
  logic [PageBits-1:0] region [Pages];
  logic [Pages-1:0]    mapped, right_top, right_place, is_live;
  for (genvar b = 0; b < Pages; b++) begin : gen_lemma
    if (b == 0) assign region[b] = '0;
    else assign region[b] = starts[b] ? b : region[b-1];
    // Place b is in use if its region's stack extends to it. Stacks stay inside their regions.
    assign is_live[b] = region[b] != '0 && {5'd0, top[region[b]]} >= b;
    if (b == 0) assign right_top[b] = 1'b1;
    else assign right_top[b] = top[b] < b ||
                               (starts[b] && top[b] < Pages && region[top[b][PageBits-1:0]] == b);
    // A place in use holds a page of the region, which was mapped there.
    assign right_place[b] = !is_live[b] ||
        (stack[b] < Pages && region[stack[b][PageBits-1:0]] == region[b] &&
         helper[stack[b][PageBits-1:0]] == b && cache[stack[b][PageBits-1:0]] == region[b]);
  end
  always_comb begin
    mapped = '0;
    for (int unsigned i = 0; i < Pages; i++) begin
      if (is_live[i]) mapped[stack[i][PageBits-1:0]] = 1'b1;
    end
  end
  always @(posedge clk_i) begin
    assume (&right_top && &right_place);
    if (rst_ni) begin
      Lemma: assert (valid == mapped);
      LemmaResult:
        assert (!due || (due_cause == tau_status_pkg::CauseUnmapped)
                        == (cause == tau_status_pkg::CauseUnmapped));
    end
  end

  // The cases, each for page b in the region that starts at region[b] and is not free.
  logic [Pages-1:0] in_region, stopped, other, own;
  for (genvar b = 0; b < Pages; b++) begin : gen_case
    assign in_region[b] = region[b] != '0;
    assign stopped[b] = named[b] && cache_top[b] < cache[b];
    assign other[b] = named[b] && cache_top[b] >= cache[b] && cache[b] != {30'd0, region[b]};
    assign own[b] = named[b] && cache_top[b] >= cache[b] && cache[b] == {30'd0, region[b]};
  end
  always @(posedge clk_i) begin
    if (rst_ni && &right_top && &right_place) begin
      Case1: cover ((in_region & ~named) != '0);
      Case21: cover ((in_region & stopped) != '0);
      Case221: cover ((in_region & other) != '0);
      Case222NotMapped: cover ((in_region & own & ~mapped) != '0);
      Case222Mapped: cover ((in_region & own & mapped) != '0);
      Translated: cover (due && !fault);
    end
  end
`endif
endmodule
