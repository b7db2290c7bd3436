"""What the formats of tokens are made of: sequences of rollouts that may train, with their conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.trajectory.conversations import (
    Message,
    read_exchange,
    read_text,
    read_tool_calls,
)
from crosswind.gateway.trajectory.export_format import Selection, ViewName, describe_session
from crosswind.gateway.trajectory.record import Session, Trajectory
from crosswind.gateway.trajectory.store import Store, iterate_sessions
from crosswind.trainer.rollouts.advantages import normalise_per_arm
from crosswind.trainer.rollouts.groups import Admission, Rollout, read_group
from crosswind.trainer.rollouts.sequences import TokenSequence, build_sequences


@dataclass(frozen=True, slots=True)
class ExportedSequence:
    """Tokens that the policy read in one go. A rollout has several where a prompt didn't extend the tokens
    before it.
    """

    rollout: Rollout
    trajectory: Trajectory
    number: int
    """Which of the rollout's sequences it is, from 0."""
    sequence: TokenSequence
    advantage: float | None
    """Within its group and arm (NoisyAgent, eq. 9); None: the session is in no group."""

    @property
    def prompt_ids(self) -> list[int]:
        """The tokens before the first sampled one."""
        return self.sequence.token_ids[: self.sequence.sampled[0]]

    @property
    def completion_ids(self) -> list[int]:
        """All others: those that the policy sampled, and what came in between."""
        return self.sequence.token_ids[self.sequence.sampled[0] :]

    @property
    def sampled(self) -> list[int]:
        """Of each token of the completion, 1 where the policy sampled it."""
        return [int(value is not None) for value in self._place(self.sequence.logprobs)]

    @property
    def logprobs(self) -> list[float]:
        """Of each token of the completion, as the engine recorded it; 0 where the policy didn't sample it."""
        return [0.0 if value is None else value for value in self._place(self.sequence.logprobs)]

    def _place(self, values: Sequence[float]) -> list[float | None]:
        start = self.sequence.sampled[0]
        placed: list[float | None] = [None] * (len(self.sequence.token_ids) - start)
        for position, value in zip(self.sequence.sampled, values, strict=True):
            placed[position - start] = value
        return placed

    def columns(self) -> dict[str, Any]:
        """What is known of it, beside its tokens and texts."""
        return describe_session(self.trajectory) | {"sequence": self.number}

    def read_messages(self, view: ViewName) -> tuple[list[Message], list[Message], str | None] | None:
        """Its prompt, its completion and the declared tools as JSON text; None where they aren't stored."""
        turns = {turn.index: turn for turn in self.rollout.turns}
        first = read_exchange(turns[self.sequence.turns[0]], view)
        last = read_exchange(turns[self.sequence.turns[-1]], view)
        if first is None or last is None:
            return None
        messages = plain_messages([*last.messages, *([last.answer] if last.answer else [])])
        length = len(first.messages)
        return messages[:length], messages[length:], tools_text(last.options)


def iterate_sequences(selection: Selection) -> Iterator[ExportedSequence]:
    """The sequences of the selected sessions, group by group. Advantages are over whole groups. Rollouts that
    the trainer wouldn't take either are left out, by its reasons.
    """
    wanted = set(selection.ids)
    admission = Admission({}, 0, selection.temperature, any_version=True)
    for members in _iterate_groups(selection):
        by_id = {trajectory.session.id: trajectory for trajectory in members}
        group = read_group(members[0].session.group_id or "", members, admission)
        advantages = _advantages(group.rollouts)
        for reason in group.left_out:
            selection.leave_out(f"sessions: {reason}")
        for rollout, advantage in zip(group.rollouts, advantages, strict=True):
            if rollout.session.id not in wanted:
                continue
            if rollout.refused is not None:
                selection.leave_out(f"sessions: {rollout.refused}")
                continue
            for number, sequence in enumerate(build_sequences(rollout.turns, "").sequences):
                if sequence.sampled:
                    yield ExportedSequence(rollout, by_id[rollout.session.id], number, sequence, advantage)


def plain_messages(messages: Sequence[Message]) -> list[Message]:
    """Messages with the same members each: a table has one type a column."""
    return [
        {
            "role": str(message.get("role")),
            "content": read_text(message.get("content")),
            "tool_calls": read_tool_calls(message) or None,
            "tool_call_id": message.get("tool_call_id"),
        }
        for message in messages
    ]


def tools_text(options: dict[str, Any]) -> str | None:
    """The declared tools as JSON text: their schemas have no common type."""
    tools = options.get("tools")
    return None if tools is None else json.dumps(tools, ensure_ascii=False)


def _advantages(rollouts: Sequence[Rollout]) -> list[float | None]:
    if rollouts and rollouts[0].session.group_id is None:
        return [None] * len(rollouts)
    arms = [rollout.arm for rollout in rollouts]
    return [*normalise_per_arm([rollout.reward for rollout in rollouts], arms)]


def _iterate_groups(selection: Selection) -> Iterator[list[Trajectory]]:
    """The trajectories of each group of which a session is selected, and each session without one alone."""
    seen: set[tuple[str | None, str]] = set()
    for session_id in selection.ids:
        session = selection.store.session(session_id)
        if session is None:
            continue
        key = (session.tenant, session.group_id or session.id)
        if key not in seen:
            seen.add(key)
            members = [selection.store.trajectory(one.id) for one in _members(selection.store, session)]
            if found := [one for one in members if one is not None]:
                yield found


def _members(store: Store, session: Session) -> list[Session]:
    if session.group_id is None:
        return [session]
    found = {
        one.id: one
        for one in iterate_sessions(store, group_id=session.group_id)
        if one.tenant == session.tenant
    }
    return sorted(found.values(), key=lambda one: (one.rollout_index is None, one.rollout_index, one.id))
