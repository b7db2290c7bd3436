"""TRL: a row has the names that its GRPO loss reads, and a conversational prompt and completion.

`completion_mask` covers all of the completion, since TRL attends by it; `tool_mask` says which of its tokens
the policy sampled. `old_per_token_logps` are the engine's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from crosswind.gateway.trajectory.export_format import Selection, ViewName, export_format
from crosswind.trainer.exports.rollouts import ExportedSequence, iterate_sequences
from crosswind.trainer.exports.table import write_rows


@export_format("trl")
def write_trl(selection: Selection, out: BinaryIO) -> None:
    """One sequence a row."""
    write_rows(_rows(selection), selection, out)


def _rows(selection: Selection) -> Iterator[dict[str, Any]]:
    for one in iterate_sequences(selection):
        yield {
            **_texts(one),
            "prompt_ids": one.prompt_ids,
            "completion_ids": one.completion_ids,
            "completion_mask": [1] * len(one.completion_ids),
            "tool_mask": one.sampled,
            "old_per_token_logps": one.logprobs,
            "advantages": one.advantage,
            **one.columns(),
        }


def _texts(one: ExportedSequence) -> dict[str, Any]:
    seen = one.read_messages(ViewName.PERTURBED)
    clean = one.read_messages(ViewName.CLEAN)
    return {
        "prompt": seen and seen[0],
        "completion": seen and seen[1],
        "tools": seen and seen[2],
        "clean_prompt": clean and clean[0],
        "clean_completion": clean and clean[1],
    }
