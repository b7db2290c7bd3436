"""Rewards that the trainer asks for itself: of a Python function, or of a judge model."""
