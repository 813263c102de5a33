// One lookup port: its first-level TLB, the lookup that waits for the levels behind it, and its
// counters. A hit is answered in the next cycle, a miss in the cycle of finish_i. While a miss
// waits, the port takes no other lookup.
`include "tau_assert.svh"

module tau_tlb_port #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned FrameBits = 18,
  parameter int unsigned Sets = 16,
  parameter int unsigned Ways = 4,
  parameter int unsigned XorIndex = 0,
  parameter int unsigned Replacement = 0,
  parameter int unsigned OwnerBits = 2
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   lookup_valid_i,
  output logic                   lookup_ready_o,
  input  logic [PageBits-1:0]    lookup_page_i,
  input  logic [2:0]             lookup_access_i,
  output logic                   result_valid_o,
  output logic                   result_fault_o,
  output logic [1:0]             result_cause_o,
  output logic [FrameBits-1:0]   result_frame_o,

  input  logic [OwnerBits-1:0]   owner_i,

  // The miss.
  output logic                   waiting_o,
  output logic [PageBits-1:0]    page_o,
  output logic [2:0]             access_o,
  output logic [OwnerBits-1:0]   owner_o,
  input  logic                   finish_i,
  input  logic                   finish_mapped_i,
  input  logic                   finish_denied_i,
  input  logic                   finish_shared_i,
  input  logic [FrameBits+2:0]   finish_data_i,
  input  logic                   fill_i,

  input  logic                   invalidate_i,
  input  logic                   invalidate_set_i,
  input  logic [PageBits-1:0]    invalidate_page_i,
  input  logic                   seed_write_i,
  input  logic [15:0]            seed_i,

  input  logic                   clear_i,
  input  logic [7:0]             read_index_i,
  output logic [31:0]            accesses_o,
  output logic [31:0]            evictions_o,

  output logic                   event_hit_o,
  output logic                   event_miss_o
);

  localparam int unsigned DataBits = FrameBits + 3;

  logic                 waiting_q, looked_q, hit_q, evict_q;
  logic [PageBits-1:0]  page_q;
  logic [2:0]           access_q;
  logic [OwnerBits-1:0] owner_q, victim_owner_q;
  logic [DataBits-1:0]  data_q;

  logic                        take, hit, evicts;
  logic [DataBits+OwnerBits:0] hit_data, victim_data;  // {shared, owner, rights, frame}
  assign lookup_ready_o = !waiting_q;
  assign take = lookup_valid_i && !waiting_q;

  tau_tlb_level #(
    .PageBits   (PageBits),
    .DataBits   (DataBits + OwnerBits + 1),
    .OwnerBits  (OwnerBits),
    .Sets       (Sets),
    .Ways       (Ways),
    .XorIndex   (XorIndex),
    .Replacement(Replacement),
    .Registered (0)
  ) u_level (
    .clk_i,
    .rst_ni,
    .read_i       (1'b0),
    .page_i       (waiting_q ? page_q : lookup_page_i),
    .owner_i,
    .hit_o        (hit),
    .data_o       (hit_data),
    .touch_i      (take && hit),
    .fill_i,
    .fill_data_i  ({finish_shared_i, owner_q, finish_data_i}),
    .evicts_o     (evicts),
    .victim_data_o(victim_data),
    .invalidate_i,
    .invalidate_set_i,
    .invalidate_page_i,
    .seed_write_i,
    .seed_i
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q <= 1'b0;
      looked_q <= 1'b0;
      hit_q <= 1'b0;
      evict_q <= 1'b0;
    end else begin
      if (take && !hit) waiting_q <= 1'b1;
      if (finish_i) waiting_q <= 1'b0;
      looked_q <= take;
      hit_q <= take && hit;
      evict_q <= fill_i && evicts;
    end
  end
  // Not reset: the lookup in flight, which hit_q, waiting_q and evict_q qualify.
  always_ff @(posedge clk_i) begin
    if (take) begin
      page_q <= lookup_page_i;
      access_q <= lookup_access_i;
      owner_q <= owner_i;
      data_q <= hit_data[DataBits-1:0];
    end
    victim_owner_q <= victim_data[DataBits+:OwnerBits];
  end
  assign waiting_o = waiting_q;
  assign page_o = page_q;
  assign access_o = access_q;
  assign owner_o = owner_q;

  logic absent, denied;
  assign absent = finish_i && !finish_mapped_i;
  assign denied = (finish_i && finish_denied_i) ||
                  (!finish_i && (access_q & ~data_q[DataBits-1-:3]) != '0);
  assign result_valid_o = hit_q || finish_i;
  assign result_fault_o = absent || denied;
  assign result_cause_o = absent ? tau_status_pkg::CauseUnmapped
                          : denied ? tau_status_pkg::CauseRights : tau_status_pkg::CauseNone;
  assign result_frame_o = finish_i ? finish_data_i[FrameBits-1:0] : data_q[FrameBits-1:0];
  assign event_hit_o = hit_q;
  assign event_miss_o = finish_i;

  // owner_q still holds the lookup's owner in the cycle after its fill. A lookup taken in that
  // cycle changes it only at the end of the cycle.
  tau_tlb_counters #(
    .IndexBits(OwnerBits + 1)
  ) u_accesses (
    .clk_i,
    .rst_ni,
    .event_i      (looked_q),
    .event_index_i({!hit_q, owner_q}),
    .clear_i,
    .read_index_i (read_index_i[OwnerBits:0]),
    .read_o       (accesses_o)
  );
  tau_tlb_counters #(
    .IndexBits(2 * OwnerBits)
  ) u_evictions (
    .clk_i,
    .rst_ni,
    .event_i      (evict_q),
    .event_index_i({owner_q, victim_owner_q}),
    .clear_i,
    .read_index_i (read_index_i[2*OwnerBits-1:0]),
    .read_o       (evictions_o)
  );

  logic unused;
  assign unused = ^{read_index_i, hit_data, victim_data};

  `TAU_ASSERT(OneAnswerAtATime, !(hit_q && finish_i))
  `TAU_ASSERT(FinishesWhatWaits, (!finish_i || waiting_q) && (!fill_i || finish_i))
endmodule
