"""Operators on user messages: typing errors."""
