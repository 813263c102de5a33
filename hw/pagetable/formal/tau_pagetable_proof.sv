// Proof of the page table unit on a small space.
//
// It holds for every content of the table, every sequence of lookups on both ports and a fixed
// latency:
// - Cycles: a lookup is taken at once (instr: unless there is a data lookup), and its result leaves
//   exactly Latency cycles later. There is no other result.
// - Equal: fault, cause and frame are the word's, so no page with a word of 0 is translated.
// - Reads: the unit reads only table 2, inside the table.
//
// Covered: each cause on each port, and a lookup in every cycle.
module tau_pagetable_proof #(
  parameter int unsigned PageBits = 2,
  parameter int unsigned FrameBits = 2,
  parameter int unsigned Latency = 1
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

  logic rst_ni = 1'b0;
  always @(posedge clk_i) rst_ni <= 1'b1;

  // The table: word i in bits 32 i. Words behind it must not be read.
  (* anyconst *) logic [64*Pages-1:0] entries;

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
    .Latency2 (Latency)
  ) u_socket (
    .clk_i,
    .rst_ni,
    .regions_i            ({64 * Pages{1'b0}}),
    .stacks_i             ({64 * Pages{1'b0}}),
    .entries_i            (entries),
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

  // The lookup taken in this cycle, with its answer, and the earlier ones.
  logic                take, is_data;
  logic [PageBits-1:0] page;
  logic [2:0]          access;
  logic [1:0]          expect_cause;
  logic [31:0]         word;
  logic [Latency-1:0]           take_q = '0;
  logic [Latency-1:0]           is_data_q;
  logic [2*Latency-1:0]         cause_q;
  logic [FrameBits*Latency-1:0] frame_q;
  assign is_data = data_lookup_valid;
  assign take = rst_ni && (data_lookup_valid || instr_lookup_valid);
  assign page = is_data ? data_lookup_page : instr_lookup_page;
  assign access = is_data ? data_lookup_access : instr_lookup_access;
  assign word = entries[32*page+:32];
  assign expect_cause = word == '0 ? tau_status_pkg::CauseUnmapped
                        : ((access & ~word[29:27]) != '0 ? tau_status_pkg::CauseRights
                           : tau_status_pkg::CauseNone);
  always @(posedge clk_i) begin
    take_q <= {take_q, take};
    is_data_q <= {is_data_q, is_data};
    cause_q <= {cause_q, expect_cause};
    frame_q <= {frame_q, word[FrameBits-1:0]};
  end

  logic                 due, due_is_data, fault;
  logic [1:0]           due_cause, cause;
  logic [FrameBits-1:0] due_frame, frame;
  assign due = take_q[Latency-1];
  assign due_is_data = is_data_q[Latency-1];
  assign due_cause = cause_q[2*Latency-1-:2];
  assign due_frame = frame_q[FrameBits*Latency-1-:FrameBits];
  assign fault = due_is_data ? data_result_fault : instr_result_fault;
  assign cause = due_is_data ? data_result_cause : instr_result_cause;
  assign frame = due_is_data ? data_result_frame : instr_result_frame;

  always @(posedge clk_i) begin
    if (rst_ni) begin
      CyclesTaken: assert (data_lookup_ready && instr_lookup_ready == !data_lookup_valid);
      CyclesResult: assert (data_result_valid == (due && due_is_data) &&
                            instr_result_valid == (due && !due_is_data));
      EqualCause: assert (!due || (cause == due_cause && fault == (due_cause != '0)));
      EqualFrame: assert (!due || fault || frame == due_frame);
      ReadsTable2: assert ((table_req & ~5'b00100) == '0 &&
                           !(table_req[2] && table2_addr[PageBits]));
      InstrMapped: cover (due && !due_is_data && cause == tau_status_pkg::CauseNone);
      InstrUnmapped: cover (due && !due_is_data && cause == tau_status_pkg::CauseUnmapped);
      InstrDenied: cover (due && !due_is_data && cause == tau_status_pkg::CauseRights);
      DataMapped: cover (due && due_is_data && cause == tau_status_pkg::CauseNone);
      DataUnmapped: cover (due && due_is_data && cause == tau_status_pkg::CauseUnmapped);
      DataDenied: cover (due && due_is_data && cause == tau_status_pkg::CauseRights);
      EveryCycle: cover (take && &take_q);
    end
  end
endmodule
