"""The tests, in folders that mirror the rooms of the code."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The checkout."""
