"""Operators on user messages: what a user says beside the request."""
