"""The heap of a program: profile, planners, threshold, margin, and the plan made of them."""
