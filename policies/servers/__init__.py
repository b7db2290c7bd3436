"""Engines that `crosswind policy serve` starts: one file per kind, found by a registry."""
