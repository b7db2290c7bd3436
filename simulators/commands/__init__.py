"""The commands `crosswind rollout` and `crosswind bench`."""
