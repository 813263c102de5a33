// The lookup of the units of this folder: the small one if the tables' latencies are known and the
// validity memories' are the same, else the one for any latencies. Their outputs are equal.
module tau_rtmmu_lookup #(
  parameter int unsigned PageBits = 18,
  parameter int unsigned SlotBits = 2,
  parameter int unsigned TagBits = 4,
  // Cycles in which the memories of tables 0 and 3, 1 and 4, 2 answer, always. 0: any number.
  parameter int unsigned Latency0 = 0,
  parameter int unsigned Latency1 = 0,
  parameter int unsigned Latency2 = 0
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                lookup_valid_i,
  output logic                lookup_ready_o,
  input  logic [PageBits-1:0] lookup_page_i,
  input  logic [TagBits-1:0]  lookup_tag_i,

  output logic                result_valid_o,
  output logic                result_mapped_o,
  output logic [TagBits-1:0]  result_tag_o,
  output logic [PageBits-1:0] result_page_o,
  output logic [PageBits-1:0] result_start_o,  // of the region, if mapped
  output logic [29:0]         result_data_o,   // frame | rights, if mapped

  output logic [4:0]             table_req_o,
  output logic [4:0][PageBits:0] table_addr_o,
  input  logic [4:0]             table_rvalid_i,
  input  logic [4:0][31:0]       table_rdata_i
);

  if (Latency0 != 0 && Latency1 == Latency0 && Latency2 != 0) begin : gen_fixed
    tau_rtmmu_fixed_lookup #(
      .PageBits       (PageBits),
      .TagBits        (TagBits),
      .ValidityLatency(Latency0),
      .PageLatency    (Latency2)
    ) u_lookup (.*);
  end else begin : gen_any
    tau_rtmmu_any_lookup #(
      .PageBits(PageBits),
      .SlotBits(SlotBits),
      .TagBits (TagBits)
    ) u_lookup (.*);
  end
endmodule
