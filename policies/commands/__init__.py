"""The commands under `crosswind policy`."""
