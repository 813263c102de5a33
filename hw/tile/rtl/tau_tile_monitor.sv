// Measures, on the data port, how long window accesses take and how long a fault takes until the
// same word is requested again; and tells when the core enters and leaves a handler. Changes
// nothing: it watches and tells the host.
module tau_tile_monitor (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [31:0] tile_i,
  input logic [63:0] cycle_i,

  input logic        window_req_i,
  input logic        gnt_i,
  input logic [31:0] addr_i,
  input logic        we_i,
  input logic        answer_window_i,
  input logic [1:0]  answer_cause_i,

  input logic        trap_i,
  input logic [31:0] trap_cause_i,
  input logic [31:0] trap_pc_i,
  input logic [31:0] trap_address_i,
  input logic        resume_i,
  input logic        resume_user_i
);

  // Window accesses in flight, 0 the oldest. The port allows two, and one that is being answered.
  logic [2:0][31:0] start_q, addr_q;
  logic [2:0]       we_q;
  logic [1:0]       count_q;

  // Cycle in which the current request was first made.
  logic [31:0] waited_q, start;
  logic        push;
  assign start = cycle_i[31:0] - waited_q;
  assign push = window_req_i && gnt_i;

  logic        fault_q;
  logic [31:0] fault_addr_q, fault_start_q, fault_answered_q;
  logic [1:0]  fault_cause_q;
  logic        repeated;
  assign repeated = push && fault_q && addr_i == fault_addr_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      waited_q <= '0;
      fault_q <= 1'b0;
    end else begin
      waited_q <= window_req_i && !gnt_i ? waited_q + 32'd1 : '0;
      count_q <= count_q + 2'(push) - 2'(answer_window_i);
      if (repeated) fault_q <= 1'b0;
      if (answer_window_i && answer_cause_i == '0) begin
        tau_host_pkg::tau_host_access(tile_i, 32'(we_q[0]), cycle_i[31:0] - start_q[0]);
      end
      if (answer_window_i && answer_cause_i != '0) begin
        tau_host_pkg::tau_host_fault(tile_i);
        // The second half of an access that already faulted is not another fault.
        if (!fault_q || $signed(start_q[0] - fault_answered_q) > 0) begin
          fault_q <= 1'b1;
          fault_addr_q <= addr_q[0];
          fault_start_q <= start_q[0];
          fault_answered_q <= cycle_i[31:0];
          fault_cause_q <= answer_cause_i;
        end
      end
      if (repeated) begin
        tau_host_pkg::tau_host_fault_repeated(tile_i, fault_addr_q, 32'(fault_cause_q),
                                              start - fault_start_q, cycle_i);
      end
      if (trap_i) begin
        tau_host_pkg::tau_host_trap(tile_i, trap_cause_i, trap_pc_i, trap_address_i, cycle_i);
      end
      if (resume_i) tau_host_pkg::tau_host_resume(tile_i, 32'(resume_user_i), cycle_i);
    end
  end

  logic [1:0] place;
  assign place = count_q - 2'(answer_window_i);
  // Not reset: accesses, which count_q qualifies.
  always_ff @(posedge clk_i) begin
    if (answer_window_i) begin
      start_q[1:0] <= start_q[2:1];
      addr_q[1:0] <= addr_q[2:1];
      we_q[1:0] <= we_q[2:1];
    end
    if (push) {start_q[place], addr_q[place], we_q[place]} <= {start, addr_i, we_i};
  end
endmodule
