// A unit for tests of the tile itself, with a page table in table 2. Software can delay its answers
// irregularly and make it break the socket's rules. Simulation only.
//
// Registers:
// - 0: threshold. In so many of 256 cycles it takes no lookup, or delays a result.
// - 1: seed of these cycles.
// - 2: any write sends a data result without a lookup.
// - 3, 4: read the pages of the latest fetch and data lookups of user mode.
// - 5: number of next data lookups that are answered as not mapped.
`include "tau_assert.svh"
`include "tau_mmu_unused.svh"

module tau_probe #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18
) (
`include "tau_mmu_ports.svh"
);

  `TAU_MMU_TABLE_UNUSED(0)
  `TAU_MMU_TABLE_UNUSED(1)
  `TAU_MMU_TABLE_UNUSED(3)
  `TAU_MMU_TABLE_UNUSED(4)
  `TAU_MMU_LAST_UNUSED

  logic [7:0]          threshold_q;
  logic [31:0]         random_q;
  logic                unasked_q;
  logic [7:0]          refusals_q;
  logic                take_data;
  assign take_data = data_lookup_valid_i && data_lookup_ready_o;
  logic [PageBits-1:0] user_page_q[2];
  logic [3:0]          hold;
  for (genvar i = 0; i < 4; i++) begin : gen_hold
    assign hold[i] = random_q[8*i+:8] < threshold_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      threshold_q <= '0;
      random_q <= 32'd1;
      unasked_q <= 1'b0;
      refusals_q <= '0;
      user_page_q <= '{default: '0};
    end else begin
      random_q <= {random_q[30:0], random_q[31] ^ random_q[21] ^ random_q[1] ^ random_q[0]};
      unasked_q <= reg_req_i && reg_write_i && reg_addr_i == 8'd2;
      if (reg_req_i && reg_write_i && reg_addr_i == 8'd0) threshold_q <= reg_wdata_i[7:0];
      if (reg_req_i && reg_write_i && reg_addr_i == 8'd5) refusals_q <= reg_wdata_i[7:0];
      else if (take_data && refusals_q != '0) refusals_q <= refusals_q - 8'd1;
      if (reg_req_i && reg_write_i && reg_addr_i == 8'd1) random_q <= reg_wdata_i | 32'd1;
      if (instr_lookup_valid_i && instr_lookup_ready_o && instr_lookup_user_i) begin
        user_page_q[0] <= instr_lookup_page_i;
      end
      if (take_data && data_lookup_user_i) begin
        user_page_q[1] <= data_lookup_page_i;
      end
    end
  end
  // Not reset: it is written in every cycle.
  always_ff @(posedge clk_i) begin
    reg_rdata_o <= reg_addr_i == 8'd3 ? 32'(user_page_q[0])
                 : reg_addr_i == 8'd4 ? 32'(user_page_q[1]) : 32'(threshold_q);
  end

  // One read of the table per cycle; data goes first.
  assign data_lookup_ready_o = !hold[0];
  assign instr_lookup_ready_o = !hold[1] && !take_data;
  assign table_req_o[2] = take_data || (instr_lookup_valid_i && instr_lookup_ready_o);
  assign table_addr_o[2] = {1'b0, take_data ? data_lookup_page_i : instr_lookup_page_i};

  // Reads in flight: their port and access. The port has at most two of each.
  typedef struct packed {
    logic       is_data;
    logic       refused;
    logic [2:0] access;
  } read_t;
  read_t reads[4];
  logic [1:0] read_first_q, read_next_q;

  typedef struct packed {
    logic                 fault;
    logic [1:0]           cause;
    logic [FrameBits-1:0] frame;
  } result_t;
  result_t answer;
  logic    mapped, allowed;
  assign mapped = table_rdata_i[2] != '0 && !reads[read_first_q].refused;
  assign allowed = |(table_rdata_i[2][29:27] & reads[read_first_q].access);
  assign answer.fault = !mapped || !allowed;
  assign answer.cause = !mapped ? tau_status_pkg::CauseUnmapped
                        : !allowed ? tau_status_pkg::CauseRights : tau_status_pkg::CauseNone;
  assign answer.frame = table_rdata_i[2][FrameBits-1:0];

  result_t results[2][4];
  logic [1:0] result_first_q[2], result_next_q[2];
  logic [1:0] arrives, leaves;
  result_t    shown[2];
  for (genvar i = 0; i < 2; i++) begin : gen_results
    assign arrives[i] = table_rvalid_i[2] && reads[read_first_q].is_data == 1'(i);
    assign leaves[i] = (arrives[i] || result_first_q[i] != result_next_q[i]) && !hold[2+i];
    assign shown[i] =
        result_first_q[i] != result_next_q[i] ? results[i][result_first_q[i]] : answer;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        result_first_q[i] <= '0;
        result_next_q[i] <= '0;
      end else begin
        if (arrives[i]) begin
          results[i][result_next_q[i]] <= answer;
          result_next_q[i] <= result_next_q[i] + 2'd1;
        end
        if (leaves[i]) result_first_q[i] <= result_first_q[i] + 2'd1;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_first_q <= '0;
      read_next_q <= '0;
    end else begin
      if (table_req_o[2]) begin
        reads[read_next_q].is_data <= take_data;
        reads[read_next_q].refused <= take_data && refusals_q != '0;
        reads[read_next_q].access <= take_data ? data_lookup_access_i
                                                : instr_lookup_access_i;
        read_next_q <= read_next_q + 2'd1;
      end
      if (table_rvalid_i[2]) read_first_q <= read_first_q + 2'd1;
    end
  end

  assign instr_result_valid_o = leaves[0];
  assign {instr_result_fault_o, instr_result_cause_o, instr_result_frame_o} = shown[0];
  assign data_result_valid_o = leaves[1] || unasked_q;
  assign {data_result_fault_o, data_result_cause_o, data_result_frame_o} = shown[1];
  for (genvar i = 0; i < 2; i++) begin : gen_events
    assign event_hit_o[i] = leaves[i] && !shown[i].fault;
    assign event_miss_o[i] = leaves[i] && shown[i].fault;
  end

  `TAU_ASSERT(TableAnswersWhatWasAsked, !table_rvalid_i[2] || read_first_q != read_next_q)
endmodule
