"""Policies that say one thing after the other."""

from __future__ import annotations

from tests.clients.upstream.dialogue import Answer, Dialogue, Policy

Step = Answer | Policy


def script(*steps: Step) -> Policy:
    """A policy that takes these steps, the last one again and again; each may hang on the dialogue so far."""
    left = list(steps)

    def policy(dialogue: Dialogue) -> Answer:
        step = left.pop(0) if len(left) > 1 else left[0]
        return step(dialogue) if callable(step) else step

    return policy
