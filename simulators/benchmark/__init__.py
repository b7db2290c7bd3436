"""Benchmarks on held-out tasks: suites, figures and comparisons."""
