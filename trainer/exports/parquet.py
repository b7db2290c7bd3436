"""Parquet: every column that the other formats have, one sequence of tokens a row.

A session without tokens to train on, for example one of a hosted model, has a row for each of its
conversations, with null in the columns of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, BinaryIO

from crosswind.gateway.trajectory.conversations import Conversation, read_conversations
from crosswind.gateway.trajectory.export_format import Selection, ViewName, describe_session, export_format
from crosswind.gateway.trajectory.record import Trajectory
from crosswind.trainer.exports.rollouts import iterate_sequences, plain_messages, tools_text
from crosswind.trainer.exports.table import write_parquet_rows


@export_format("parquet")
def write_parquet(selection: Selection, out: BinaryIO) -> None:
    """Sequences first, then the sessions without tokens."""
    write_parquet_rows(_rows(selection), out)


def _rows(selection: Selection) -> Iterator[dict[str, Any]]:
    written: set[str] = set()
    for one in iterate_sequences(selection):
        written.add(one.rollout.session.id)
        seen, clean = (one.read_messages(view) for view in (ViewName.PERTURBED, ViewName.CLEAN))
        yield {
            **one.columns(),
            "messages": seen and [*seen[0], *seen[1]],
            "clean_messages": clean and [*clean[0], *clean[1]],
            "tools": seen and seen[2],
            "prompt_ids": one.prompt_ids,
            "completion_ids": one.completion_ids,
            "sampled": one.sampled,
            "logprobs": one.logprobs,
            "advantage": one.advantage,
        }
    for trajectory in selection.trajectories():
        if trajectory.session.id not in written:
            yield from _rows_without_tokens(trajectory)


def _rows_without_tokens(trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    seen, clean = (
        read_conversations(trajectory.turns, view) for view in (ViewName.PERTURBED, ViewName.CLEAN)
    )
    for number, (perturbed, received) in enumerate(zip_longest(seen, clean)):
        yield {
            **describe_session(trajectory),
            "sequence": number,
            "messages": _messages(perturbed),
            "clean_messages": _messages(received),
            "tools": perturbed and tools_text(perturbed.options),
        }


def _messages(conversation: Conversation | None) -> list[dict[str, Any]] | None:
    return None if conversation is None else plain_messages(conversation.messages)
