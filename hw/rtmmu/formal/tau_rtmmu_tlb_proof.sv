// Proof of the RTMMU with a TLB of regions, on a small space with tables of any content.
//
// Software empties the stack of one region in any cycle and writes the unit's register in any later
// one. Other writes come at any time. One arbitrary lookup is watched:
// - After: if it is taken after the write, its result is the tables' at that time.
// - Before: if its result leaves before the store, it is the tables' before the store.
// - Between: otherwise its result is one of the two.
// - Cycles: it is answered within max(2 Latency, Latency2), as without a TLB, and no lookup is
//   refused for that long (instr: while there is no data lookup).
//
// Covered: one page is translated by an entry before the write, and refused after it.
module tau_rtmmu_tlb_proof #(
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
  input logic [2:0]          data_lookup_access,
  input logic                store_i,
  input logic                write_i,
  input logic [7:0]          write_addr_i,
  input logic [31:0]         write_data_i,
  input logic                watch_i,
  input logic                watch_data_i
);

  localparam int unsigned Pages = 2 ** PageBits;
  localparam int unsigned BoundCycles = 2 * Latency > Latency2 ? 2 * Latency : Latency2;

  logic rst_ni = 1'b0;
  always @(posedge clk_i) rst_ni <= 1'b1;

  // The tables: word i in bits 32 i.
  (* anyconst *) logic [64*Pages-1:0] regions_before;
  (* anyconst *) logic [PageBits-1:0] a;  // the region
  logic [64*Pages-1:0] regions_after, regions;
  logic                stored_q = 1'b0;
  logic                written_q = 1'b0;
  always_comb begin
    regions_after = regions_before;
    regions_after[64*a+32+:32] = 32'(a) - 32'd1;
  end
  assign regions = stored_q ? regions_after : regions_before;
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
    .write_i              (write_i),
    .write_addr_i         (write_addr_i),
    .write_data_i         (write_data_i),
    .table_req_o          (table_req),
    .table2_addr_o        (table2_addr)
  );

  // The definition, for every page, before the store and after it.
  logic [Pages-1:0] valid_before, valid_after;
  for (genvar b = 0; b < Pages; b++) begin : gen_page
    logic [31:0] cache, helper, stack, top_before, top_after;
    assign cache = regions_before[64*b+:32];
    assign helper = stacks[64*b+:32];
    assign top_before = {5'd0, regions_before[64*cache[PageBits-1:0]+32+:27]};
    assign top_after = {5'd0, regions_after[64*cache[PageBits-1:0]+32+:27]};
    assign stack = stacks[64*helper[PageBits-1:0]+32+:32];
    assign valid_before[b] = cache != 0 && cache <= b && cache <= helper && helper < Pages &&
                             helper <= top_before && stack == b;
    assign valid_after[b] = valid_before[b] && helper <= top_after;
  end

  // The number of lookups of each port in flight, and the watched lookup: `ahead_q` lookups of its
  // port are in front of it.
  logic                is_watched_q = 1'b0;
  logic                is_done_q = 1'b0;
  logic                is_data_q, is_after_q;
  logic [PageBits-1:0] page_q;
  logic [2:0]          access_q;
  logic [3:0]          instr_count_q = '0;
  logic [3:0]          data_count_q = '0;
  logic [3:0]          ahead_q, age_q;
  logic [3:0]          instr_refused_q = '0;  // for so many cycles in a row
  logic [3:0]          data_refused_q = '0;
  logic                instr_take, data_take, watch, result, fault;
  logic [1:0]          cause;
  logic [FrameBits-1:0] frame;
  logic [31:0]         word;
  assign instr_take = instr_lookup_valid && instr_lookup_ready && rst_ni;
  assign data_take = data_lookup_valid && data_lookup_ready && rst_ni;
  assign watch = watch_i && !is_watched_q && (watch_data_i ? data_take : instr_take);
  assign result = is_watched_q && !is_done_q && ahead_q == '0 &&
                  (is_data_q ? data_result_valid : instr_result_valid);
  assign fault = is_data_q ? data_result_fault : instr_result_fault;
  assign cause = is_data_q ? data_result_cause : instr_result_cause;
  assign frame = is_data_q ? data_result_frame : instr_result_frame;
  assign word = entries[32*page_q+:32];

  always @(posedge clk_i) begin
    if (rst_ni) begin
      if (store_i) stored_q <= 1'b1;
      if (stored_q && write_i && ((write_addr_i == 0 && write_data_i == a) || write_addr_i == 1))
        written_q <= 1'b1;
      instr_count_q <= instr_count_q + {3'd0, instr_take} - {3'd0, instr_result_valid};
      data_count_q <= data_count_q + {3'd0, data_take} - {3'd0, data_result_valid};
      age_q <= age_q + 1'b1;
      data_refused_q <= data_lookup_valid && !data_lookup_ready ? data_refused_q + 1'b1 : '0;
      instr_refused_q <= instr_lookup_valid && !instr_lookup_ready && !data_lookup_valid
                             ? instr_refused_q + 1'b1 : '0;
      if (watch) begin
        is_watched_q <= 1'b1;
        is_data_q <= watch_data_i;
        is_after_q <= written_q;
        page_q <= watch_data_i ? data_lookup_page : instr_lookup_page;
        access_q <= watch_data_i ? data_lookup_access : instr_lookup_access;
        ahead_q <= watch_data_i ? data_count_q - {3'd0, data_result_valid}
                                : instr_count_q - {3'd0, instr_result_valid};
        age_q <= 4'd1;
      end else if (is_data_q ? data_result_valid : instr_result_valid) begin
        ahead_q <= ahead_q - 1'b1;
      end
      if (result) is_done_q <= 1'b1;
    end
  end

  logic [1:0] cause_before, cause_after, denied;
  assign denied = (access_q & ~word[29:27]) != '0 ? tau_status_pkg::CauseRights
                  : tau_status_pkg::CauseNone;
  assign cause_before = !valid_before[page_q] ? tau_status_pkg::CauseUnmapped : denied;
  assign cause_after = !valid_after[page_q] ? tau_status_pkg::CauseUnmapped : denied;
  always @(posedge clk_i) begin
    if (rst_ni) begin
      Taken: assert (data_refused_q < BoundCycles && instr_refused_q < BoundCycles);
      Cycles: assert (!is_watched_q || is_done_q || age_q <= BoundCycles);
      Fault: assert (!result || fault == (cause != '0));
      After: assert (!result || !is_after_q || cause == cause_after);
      Before: assert (!result || stored_q || cause == cause_before);
      Between: assert (!result || cause == cause_before || cause == cause_after);
      Frame: assert (!result || fault || frame == word[FrameBits-1:0]);
      Hit: cover (result && !fault && age_q == 4'd1 && stored_q && !valid_after[page_q]);
      Refused: cover (result && is_after_q && valid_before[page_q] && !valid_after[page_q]);
    end
  end
endmodule
