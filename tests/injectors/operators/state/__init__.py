"""Operators on the state that an observation shows."""
