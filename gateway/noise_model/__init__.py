"""Texts that a language model writes for noise operators. They are requested, judged and kept.

A request waits for them only briefly.
"""
