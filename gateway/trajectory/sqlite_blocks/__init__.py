"""Reads stores of schema version 10 and older, which kept content by its hash. Nothing is written to them."""
