"""Formats of `crosswind export`, one a file. A new one is one file here, or one entry point elsewhere."""
