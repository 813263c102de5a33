"""The heap of a program: profile, planners, safe heap, margin, and the plan made of them."""
