// What is proved of the page table unit on a small space, with a table that holds anything.
//
// For every content of the table, every sequence of lookups on both ports and a fixed latency:
// - Cycles: a lookup is taken at once (instr: unless data asks), and its result leaves exactly
//   Latency cycles later; there is no other result.
// - Equal: fault, cause and frame are those of the word, so nothing is translated by a word of 0.
// - Reads: only table 2 is asked, inside the table.
// Covered: each cause, on each port, and a lookup in every cycle.
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

  // The table: word i in bits 32 i; what is behind it must not be read.
  (* anyconst *) logic [64*Pages-1:0] entries;

  logic                 table0_req, table1_req, table2_req, table3_req, table4_req;
  logic                 table2_rvalid;
  logic [PageBits:0]    table0_addr, table1_addr, table2_addr, table3_addr, table4_addr;
  logic [31:0]          table2_rdata;
  logic                 instr_lookup_ready, instr_result_valid, instr_result_fault;
  logic                 data_lookup_ready, data_result_valid, data_result_fault;
  logic [1:0]           instr_result_cause, data_result_cause;
  logic [FrameBits-1:0] instr_result_frame, data_result_frame;
  logic [31:0]          reg_rdata;
  logic [1:0]           event_hit, event_miss;

  tau_proof_memory #(.WordBits(PageBits + 1), .Latency(Latency)) u_table2 (
    .clk_i, .rst_ni, .words_i(entries), .req_i(table2_req), .addr_i(table2_addr),
    .rvalid_o(table2_rvalid), .rdata_o(table2_rdata)
  );

  tau_pagetable #(
    .PageBits (PageBits),
    .FrameBits(FrameBits)
  ) u_unit (
    .clk_i,
    .rst_ni,
    .instr_lookup_valid_i (instr_lookup_valid),
    .instr_lookup_ready_o (instr_lookup_ready),
    .instr_lookup_page_i  (instr_lookup_page),
    .instr_lookup_access_i(instr_lookup_access),
    .instr_lookup_user_i  (1'b0),
    .instr_result_valid_o (instr_result_valid),
    .instr_result_fault_o (instr_result_fault),
    .instr_result_cause_o (instr_result_cause),
    .instr_result_frame_o (instr_result_frame),
    .data_lookup_valid_i  (data_lookup_valid),
    .data_lookup_ready_o  (data_lookup_ready),
    .data_lookup_page_i   (data_lookup_page),
    .data_lookup_access_i (data_lookup_access),
    .data_lookup_user_i   (1'b0),
    .data_result_valid_o  (data_result_valid),
    .data_result_fault_o  (data_result_fault),
    .data_result_cause_o  (data_result_cause),
    .data_result_frame_o  (data_result_frame),
    .table0_req_o         (table0_req),
    .table0_addr_o        (table0_addr),
    .table0_rvalid_i      (1'b0),
    .table0_rdata_i       (32'd0),
    .table1_req_o         (table1_req),
    .table1_addr_o        (table1_addr),
    .table1_rvalid_i      (1'b0),
    .table1_rdata_i       (32'd0),
    .table2_req_o         (table2_req),
    .table2_addr_o        (table2_addr),
    .table2_rvalid_i      (table2_rvalid),
    .table2_rdata_i       (table2_rdata),
    .table3_req_o         (table3_req),
    .table3_addr_o        (table3_addr),
    .table3_rvalid_i      (1'b0),
    .table3_rdata_i       (32'd0),
    .table4_req_o         (table4_req),
    .table4_addr_o        (table4_addr),
    .table4_rvalid_i      (1'b0),
    .table4_rdata_i       (32'd0),
    .reg_req_i            (1'b0),
    .reg_write_i          (1'b0),
    .reg_addr_i           (8'd0),
    .reg_wdata_i          (32'd0),
    .reg_rdata_o          (reg_rdata),
    .event_hit_o          (event_hit),
    .event_miss_o         (event_miss)
  );

  // The lookup that is taken in this cycle, with its answer, and those before it.
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
  assign expect_cause = word == '0 ? 2'd1 : ((access & ~word[29:27]) != '0 ? 2'd2 : 2'd0);
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
      ReadsTable2: assert (!table0_req && !table1_req && !table3_req && !table4_req &&
                           !(table2_req && table2_addr[PageBits]));
      InstrMapped: cover (due && !due_is_data && cause == 2'd0);
      InstrUnmapped: cover (due && !due_is_data && cause == 2'd1);
      InstrDenied: cover (due && !due_is_data && cause == 2'd2);
      DataMapped: cover (due && due_is_data && cause == 2'd0);
      DataUnmapped: cover (due && due_is_data && cause == 2'd1);
      DataDenied: cover (due && due_is_data && cause == 2'd2);
      EveryCycle: cover (take && &take_q);
    end
  end
endmodule
