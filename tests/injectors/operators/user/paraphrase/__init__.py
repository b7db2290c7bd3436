"""Operators on user messages: the same request in other words."""
