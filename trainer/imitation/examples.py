"""Demonstrations as token ids with a weight for each: what the policy would say counts in full, what it reads
less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch

from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.tiny.template import ChatTemplate

READ_WEIGHT = 0.3
"""Weight of tokens that the policy only reads. Predicting them too teaches it to copy ids sooner."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One line of a demonstrations file."""

    tools: Sequence[Any]
    messages: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TokenExample:
    """Token ids, and for each whether the policy says it (1), reads it (READ_WEIGHT) or neither (0: its
    instructions).
    """

    ids: list[int]
    weights: list[float]


@dataclass(frozen=True, slots=True)
class ExampleBatch:
    """Examples without what they share, padded at the end."""

    prefix: torch.Tensor
    """[shared] ids that all examples begin with: their instructions, mostly."""
    inputs: torch.Tensor
    """[batch, length] ids after the prefix, without each example's last."""
    targets: torch.Tensor
    """[batch, length] the ids that follow."""
    weights: torch.Tensor
    """[batch, length] the targets' weights."""


def texts(template: ChatTemplate, demonstrations: Iterable[Demonstration]) -> Iterable[str]:
    """The demonstrations as the template renders them, for the tokenizer to learn from."""
    for shown in demonstrations:
        yield template.render(shown.messages, shown.tools, open_turn=False)


def example(chat: ChatFormat, shown: Demonstration) -> TokenExample:
    """Tokenise one demonstration. The policy's part of a turn is all from the turn's opening to its end
    token.
    """
    head, *turns = chat.template.render(shown.messages, shown.tools, open_turn=False).split(chat.opening)
    instructions, end, asked = head.partition(chat.end_text)
    ids = chat.encode(instructions + end)
    weights = [0.0] * len(ids)

    def add(text: str, weight: float) -> None:
        new = chat.encode(text)
        ids.extend(new)
        weights.extend([weight] * len(new))

    add(asked, READ_WEIGHT)
    for turn in turns:
        said, end, read = turn.partition(chat.end_text)
        add(chat.opening, READ_WEIGHT)
        add(said + end, 1.0)
        add(read, READ_WEIGHT)
    return TokenExample(ids, weights)


def batch(examples: Sequence[TokenExample], pad: int) -> ExampleBatch:
    """Put examples side by side; what all begin with is taken out."""
    columns = zip(*(shown.ids[:-1] for shown in examples), strict=False)
    shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    shared = min(shared, *(_silent(shown) for shown in examples))
    longest = max(len(shown.ids) for shown in examples) - shared - 1
    inputs = torch.full((len(examples), longest), pad)
    targets, weights = torch.full_like(inputs, pad), torch.zeros(len(examples), longest)
    for row, shown in enumerate(examples):
        length = len(shown.ids) - shared - 1
        inputs[row, :length] = torch.tensor(shown.ids[shared:-1])
        targets[row, :length] = torch.tensor(shown.ids[shared + 1 :])
        weights[row, :length] = torch.tensor(shown.weights[shared + 1 :])
    return ExampleBatch(torch.tensor(examples[0].ids[:shared], dtype=torch.long), inputs, targets, weights)


def _silent(shown: TokenExample) -> int:
    """How many leading ids may be left out of the rows: no weight may be lost with them."""
    return sum(1 for _ in takewhile(lambda weight: weight == 0.0, shown.weights)) - 1
