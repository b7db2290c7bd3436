"""Curricula: which share of the rollouts is noisy, of which type and how hard, by what was seen so far."""
