"""Operators on user messages, each by the worked example that it reproduces in kind."""
