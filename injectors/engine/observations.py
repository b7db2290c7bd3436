"""Noise on observations of an environment that stand in users' messages.

Agents for text environments state the goal, the last observations and the possible actions in one message of
the user's (State augmentation, appendix C). What a profile marks as an observation is treated as a tool's
result is, and the rest of the message stays as it was. Each observation's draws are keyed by its own text:
quoted again as history, it shows the same noise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from crosswind.injectors.conversation import UserText
from crosswind.injectors.engine.plan import ActiveRule
from crosswind.injectors.engine.rule import (
    Attempt,
    Outcome,
    carry_out,
    conclude,
    draw_rule,
    draw_where_possible,
)
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard.solvability import NOTHING
from crosswind.injectors.identity import slot_of_text
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.marks import Observation, find_observations
from crosswind.injectors.targets import NO_BRANCH, Branch, Draw, Half, Result, ToolClass, ToolResultTarget
from crosswind.injectors.text.json_leaves import dump_like, replace_leaves

PARTS = "observations"
"""The member of a draw that holds the marked observations that were changed: where each is, and its own
draw."""


def apply_to_observations(
    active: ActiveRule,
    slot: str,
    item: UserText,
    text: str,
    full: str | None,
    *,
    half: Half = Half.TRAIN,
    must: bool = False,
) -> Outcome | None:
    """Let a rule act on the observations that its mark finds in a message. None where it leaves all alone.

    What the guard has against one of them withholds the rule's work on the whole message. `half` is that of
    the phrase packs. `must`: the rule acts on the first one that is a place for it.
    """
    parts: list[dict[str, Any]] = []
    refused: str | None = None
    observations = find_observations(text, active.rule.observation)
    beside = _without(text, observations)
    for found in observations:
        key = slot_of_text(active.line, found.text)
        first = must and not parts
        if not (first or active.rule.when.by_chance(key)):
            continue
        target = _target(found.text, item.ordinal, beside, Branch(half))
        draw_it = draw_where_possible if first else draw_rule
        drawn = draw_it(active, target, key, item.anchor)
        if drawn is None:
            continue
        attempt = carry_out(active, target, key, drawn, partial(_check, active, target))
        refused = refused or attempt.refused
        if attempt.refused is None:
            where = {"place": list(found.place)} if found.at is None else {"at": list(found.at)}
            parts.append({**where, "draw": attempt.draw})
    if not parts and refused is None:
        return None
    draw, refused = {PARTS: parts}, refused or full
    if refused is not None:
        return conclude(active, slot, item.anchor, Attempt(draw, refused=refused))
    result = replay_observations(active.entry, text, item.ordinal, draw)
    unchanged = NOTHING if result.payload == text else None
    return conclude(active, slot, item.anchor, Attempt(draw, result, unchanged))


def _check(active: ActiveRule, target: ToolResultTarget, _: Draw, result: Result) -> str | None:
    return solvability.check_tool_result(active.entry, target, str(result.payload), target.text)


def _without(text: str, observations: Sequence[Observation]) -> str:
    """What the message says besides; of JSON, all of it."""
    end, kept = 0, []
    for start, stop in (one.at for one in observations if one.at is not None):
        kept.append(text[end:start])
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def _target(text: str, ordinal: int, beside: str = "", branch: Branch = NO_BRANCH) -> ToolResultTarget:
    """An observation as operators see it: a result of no tool that was called."""
    kind = ToolClass.UNKNOWN
    return ToolResultTarget(text, ordinal, "observation", "{}", kind, beside=beside, branch=branch)


def replay_observations(entry: Registered, text: str, ordinal: int, draw: Draw) -> Result:
    notes: list[str] = []
    # From the last to the first, so that the offsets of the others stay valid.
    for part in reversed(draw[PARTS]):
        text, note = _replay_one(entry, text, ordinal, part)
        notes.insert(0, note)
    return Result(text, " ".join(dict.fromkeys(notes)))


def _replay_one(entry: Registered, text: str, ordinal: int, part: Mapping[str, Any]) -> tuple[str, str]:
    if "at" in part:
        start, end = part["at"]
        result = entry.apply(_target(text[start:end], ordinal), part["draw"])
        return f"{text[:start]}{result.payload}{text[end:]}", result.note
    value = before = json.loads(text)
    for key in part["place"]:
        before = before[key]
    as_text = before if isinstance(before, str) else dump_like(before, like=text)
    result = entry.apply(_target(as_text, ordinal), part["draw"])
    after = result.payload if isinstance(before, str) else json.loads(str(result.payload))
    return dump_like(replace_leaves(value, [(list(part["place"]), after)]), like=text), result.note
