"""Operators on user messages: values that a user leaves vague or contradicts."""
