"""The honest words by which a distractor says what it costs."""

from __future__ import annotations

COSTS_MORE = (
    "Each call is billed at {times} times the price of {tool}.",
    "Note: a call costs {times} times as much as one of {tool}.",
    "Premium rate: {times} times the cost per call of {tool}.",
)
TAKES_LONGER = (
    "The typical response time is {times} times that of {tool}.",
    "Note: an answer takes {times} times as long as one of {tool}.",
    "Queued processing: responses arrive {times} times later than those of {tool}.",
)
