"""Tests of the package injectors."""
