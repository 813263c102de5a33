"""What the planner of TLB sets consists of."""
