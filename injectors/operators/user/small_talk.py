"""What users say besides, and how they say a thing again."""

from __future__ import annotations

CONTEXT = (
    "It is a nice day here.",
    "I just made some coffee.",
    "My dog is asleep next to me.",
    "I had a long day.",
    "I am writing this from my phone.",
    "It is quite loud in here.",
    "I hope you are doing well.",
    "I was out for a walk this morning.",
    "My neighbour is playing the piano.",
    "I am sitting in the kitchen.",
    "The weather was bad all week.",
    "I have been busy lately.",
)
"""Goal-irrelevant small talk: no request, no fact that a task could hang on, no digit, no name."""

REPEATS = ("As I said: {}", "Again: {}", "I repeat: {}", "To say it once more: {}")
"""Introductions to a sentence of the user's own."""
