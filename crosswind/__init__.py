"""Crosswind."""
