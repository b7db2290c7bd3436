"""Typing errors: keyboards, slips of the fingers, and what input methods put in a word's place."""
