"""A training run: the loop, its checkpoints, and its versions in the engine."""
