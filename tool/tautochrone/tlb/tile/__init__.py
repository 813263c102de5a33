"""Task sets on the simulated tile with the unit hw/tlb: placed, linked, run, counted."""
