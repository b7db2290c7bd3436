"""Completions: what the policy wrote, read from a plain body or from a stream's chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.protocols.choices import ChoicesAnswer, Sampled, as_mapping, likeliest


@dataclass(slots=True)
class Continuation(Sampled):
    """One continuation as it has come so far."""

    text: str = ""
    prompt_ids: list[int] | None = None


class CompletionsAnswer(ChoicesAnswer[Continuation]):
    """Collects one answer. The engine tells a prompt's ids with each choice."""

    kind = "text_completion"

    def _new(self) -> Continuation:
        return Continuation()

    def _grow(self, choice: Continuation, raw: Mapping[str, Any]) -> None:
        text = raw.get("text")
        choice.text += text if isinstance(text, str) else ""
        if isinstance(raw.get("prompt_token_ids"), list):
            choice.prompt_ids = raw["prompt_token_ids"]
            self.prompt_ids = self.prompt_ids or choice.prompt_ids
        given = as_mapping(raw.get("logprobs"))
        logprobs, top = given.get("token_logprobs"), given.get("top_logprobs")
        for logprob in logprobs if isinstance(logprobs, list) else []:
            if isinstance(logprob, int | float):
                choice.logprobs.append(float(logprob))
        for place in top if isinstance(top, list) else []:
            choice.top.append(likeliest(as_mapping(place).items()))

    def _said(self, choice: Continuation) -> dict[str, Any]:
        return {"text": choice.text, "logprobs": None}

    def fitness(self) -> str:
        """FIT, or the first reason why this answer can't be trained on: a turn has one prompt."""
        if any(choice.prompt_ids != self.prompt_ids for choice in self._choices.values()):
            return "several_prompts"
        return super().fitness()
