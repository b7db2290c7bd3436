"""Answers of an engine that gives token ids where it is asked for them, as vLLM and our own do."""

from __future__ import annotations

from typing import Any

from crosswind.testing import Answer, SampledAnswer

PROMPT = [1, 2, 3]
TOKENS = [10, 11, 12]
LOGPROBS = [-0.5, -0.25, -1.5]
SPANS = [{"version": "v1", "start": 0, "end": 2}, {"version": "v2", "start": 2, "end": 3}]


def engine(*, tokens: list[int] | None = None, prompt: list[int] | None = None, **wrong: Any) -> Answer:
    """An answer by the engine's rules; `wrong` overrides members of it, to make it contradict itself."""
    ids, choice = tokens or TOKENS, wrong.pop("choice", {})
    sampled = SampledAnswer(ids, LOGPROBS[: len(ids)], prompt or PROMPT, SPANS)
    return Answer(("x",) * len(ids), sampled=sampled, choice=choice, more=wrong)
