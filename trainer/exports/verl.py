"""verl: a row has the names of its DataProto, without padding, which a loader adds.

`rm_scores` is the reward at the last token, and `uid` the group, as verl's own rollouts have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from crosswind.gateway.trajectory.export_format import Selection, ViewName, export_format
from crosswind.trainer.exports.rollouts import iterate_sequences
from crosswind.trainer.exports.table import write_rows


@export_format("verl")
def write_verl(selection: Selection, out: BinaryIO) -> None:
    """One sequence a row."""
    write_rows(_rows(selection), selection, out)


def _rows(selection: Selection) -> Iterator[dict[str, Any]]:
    for one in iterate_sequences(selection):
        known = one.columns()
        seen, clean = (one.read_messages(view) for view in (ViewName.PERTURBED, ViewName.CLEAN))
        sampled = one.sampled
        yield {
            "uid": known["group_id"] or known["session_id"],
            "prompts": one.prompt_ids,
            "responses": one.completion_ids,
            "response_mask": sampled,
            "rollout_log_probs": one.logprobs,
            "rm_scores": [0.0] * (len(sampled) - 1) + [one.rollout.reward],
            "reward": one.rollout.reward,
            "advantages": None if one.advantage is None else [one.advantage * mask for mask in sampled],
            "data_source": "crosswind",
            "raw_prompt": seen and seen[0],
            "extra_info": {
                **known,
                "completion": seen and seen[1],
                "tools": seen and seen[2],
                "clean_prompt": clean and clean[0],
                "clean_completion": clean and clean[1],
            },
        }
