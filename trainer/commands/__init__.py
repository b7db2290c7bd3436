"""The commands under `crosswind train`, and what they open and lock."""
