"""Verdicts of others: a Python function in a process of its own, or a judge model."""
