"""Tasks on simulated TLBs: `tau tlb simulate`."""
