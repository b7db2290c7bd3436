"""Operators on user messages: what is read as a request."""
