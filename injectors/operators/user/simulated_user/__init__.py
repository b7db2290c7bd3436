"""A simulated user who behaves as difficult users do."""
