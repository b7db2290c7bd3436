"""Formats of `crosswind export` that hold tokens, one a file. A new one is one file here."""
