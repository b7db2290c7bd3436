"""`crosswind compare`: two sets of recorded sessions of the same tasks, side by side."""
