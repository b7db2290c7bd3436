"""Read the answers of Completions: texts and tokens, plain or in a stream's chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.gateway.protocols.choices import ChoicesAnswer
from crosswind.gateway.protocols.json_values import as_list, as_mapping
from crosswind.gateway.protocols.sampled_tokens import SampledChoice, as_logprob, select_likeliest
from crosswind.gateway.trajectory.fitness import Fitness


class Continuation(SampledChoice):
    """One continuation so far."""

    texts: list[str] = msgspec.field(default_factory=list)
    prompt_ids: list[int] | None = None


class CompletionsAnswer(ChoicesAnswer[Continuation]):
    """Reads one answer. Each choice brings its prompt's ids."""

    kind = "text_completion"

    def _new_choice(self) -> Continuation:
        return Continuation()

    def _grow(self, choice: Continuation, raw: Mapping[str, Any]) -> None:
        if isinstance(raw.get("text"), str):
            choice.texts.append(raw["text"])
        if isinstance(raw.get("prompt_token_ids"), list):
            choice.prompt_ids = raw["prompt_token_ids"]
            self.prompt_ids = self.prompt_ids or choice.prompt_ids
        given = as_mapping(raw.get("logprobs"))
        for logprob in as_list(given.get("token_logprobs")):
            if (told := as_logprob(logprob)) is not None:
                choice.logprobs.append(told)
        for place in as_list(given.get("top_logprobs")):
            choice.top.append(select_likeliest(as_mapping(place).items()))

    def _message_members(self, choice: Continuation) -> dict[str, Any]:
        return {"text": "".join(choice.texts), "logprobs": None}

    def fitness(self) -> Fitness:
        """As of all choices; and a turn can have only one prompt."""
        if any(choice.prompt_ids != self.prompt_ids for choice in self._choices.values()):
            return Fitness.SEVERAL_PROMPTS
        return super().fitness()
