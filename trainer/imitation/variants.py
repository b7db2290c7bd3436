"""Noisy variants of clean demonstrations: the gateway's own noise on the texts, and what the demonstrator
then does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from crosswind.injectors.conversation import Conversation, Ref, ToolCall, ToolResult, UserText
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import NOISY, Assignment, Plan, Seed, make_plan
from crosswind.injectors.identity import call_anchor, logical_call, text_anchor
from crosswind.injectors.profiles.load import load
from crosswind.injectors.seeded_random import SeededRandom

Message = Mapping[str, Any]

PROFILE = "noisyagent"
GIVING_UP = "Sorry, the shop does not answer."
_TYPES = {
    "retry": ("tool.timeout", "tool.incomplete"),
    "give_up": ("tool.timeout", "tool.incomplete"),
    "user": ("user.typos", "user.redundant"),
    "ignore": ("tool.misleading",),
    "follow": ("tool.misleading",),
}
_TRIES = 8
"""Draws of a plan until one of them hits something; low severities often hit nothing."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of all demonstrations; the rest stays clean. At most 1 in all.

    Few show recovery, so that there is something left for reinforcement learning to find. Many show noisy
    users: reading them is found by no exploring, since a user never says it another way.
    """

    retry: float = 0.04
    """A result is destroyed; the call is repeated and the truth comes."""
    give_up: float = 0.06
    """A result is destroyed; the policy gives up."""
    user: float = 0.25
    """The user's messages are noisy; the policy does what it would have done."""
    ignore: float = 0.05
    """A misleading remark stands in a result; the policy takes no notice."""
    follow: float = 0.03
    """A misleading remark stands in a result; the policy gives up on the task and repeats the remark."""

    def __post_init__(self) -> None:
        for name, share in self.as_dict().items():
            if not 0.0 <= share <= 1.0:
                raise ValueError(f"share {name} is {share}: it must be from 0 to 1")
        if (total := sum(self.as_dict().values())) > 1.0:
            raise ValueError(f"the shares add up to {total:g}: together they may be 1 at most")

    def as_dict(self) -> dict[str, float]:
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def parse(cls, text: str) -> Shares:
        """Shares as the command line gives them: `retry=0.04,user=0.1`. The others keep their default."""
        given: dict[str, float] = {}
        known = [field.name for field in fields(cls)]
        for part in filter(None, text.split(",")):
            name, _, value = part.partition("=")
            if name not in known:
                raise ValueError(f"share {name!r} is unknown: use {', '.join(known)}")
            try:
                given[name] = float(value)
            except ValueError:
                raise ValueError(f"share {name} is {value!r}: it must be a number") from None
        return cls(**given)

    def draw(self, rng: SeededRandom) -> str | None:
        """Which variant a demonstration becomes; None: it stays clean."""
        shares: Mapping[str, float] = self.as_dict()
        point = rng.uniform()
        for name, share in shares.items():
            point -= share
            if point < 0:
                return name
        return None


def make_variant(messages: Sequence[Message], shares: Shares, *, seed: int, index: int) -> list[Message]:
    """The demonstration of that index as it is shown: clean or noisy. A pure function of its arguments."""
    rng = SeededRandom(f"imitation|{seed}|{index}")
    kind = shares.draw(rng)
    if kind is None:
        return list(messages)
    conversation = view(messages)
    for attempt in range(_TRIES):
        plan = _plan(kind, rng, f"{seed}:{index}:{attempt}")
        shown = perturb_messages(plan, conversation, {}).replacements
        if shown:
            return _react(kind, messages, shown)
    return list(messages)


def _plan(kind: str, rng: SeededRandom, key: str) -> Plan:
    profile = _profile()
    level = rng.integer(1, profile.highest_level or 1)
    noise_type = rng.choice(_TYPES[kind])
    return make_plan(profile, Seed(0, key), Assignment(NOISY, level=level, noise_type=noise_type))


@cache
def _profile() -> Any:
    return load(PROFILE)


def view(messages: Sequence[Message]) -> Conversation:
    """The perturbable items of a demonstration: user texts and tool results, as the gateway sees them."""
    items: list[UserText | ToolResult] = []
    calls: dict[str, ToolCall] = {}
    users = results = 0
    for index, message in enumerate(messages):
        for call in message.get("tool_calls") or ():
            function = call["function"]
            calls[call["id"]] = ToolCall(call["id"], function["name"], function["arguments"])
        text = message.get("content")
        if message["role"] == "user":
            items.append(UserText(Ref(index), str(text), text_anchor("user_text", str(text), users), users))
            users += 1
        elif message["role"] == "tool":
            call = calls[message["tool_call_id"]]
            logical = logical_call(call.name, call.arguments)
            anchor = call_anchor(call.call_id, results)
            items.append(ToolResult(Ref(index), str(text), anchor, results, call, logical))
            results += 1
    return Conversation(tuple(items))


def _react(kind: str, messages: Sequence[Message], shown: Mapping[Ref, str]) -> list[Message]:
    """The demonstration with the noisy texts in place, and the demonstrator's reaction to them."""
    acted: list[Message] = []
    for index, message in enumerate(messages):
        text = shown.get(Ref(index))
        if text is None:
            acted.append(message)
            continue
        noisy = {**message, "content": text}
        if kind == "retry":
            acted += [noisy, *_repeat_call(messages, index)]
        elif kind == "give_up":
            return [*acted, noisy, {"role": "assistant", "content": GIVING_UP}]
        elif kind == "follow":
            remark = _remark(str(message["content"]), text)
            return [*acted, noisy, {"role": "assistant", "content": remark}]
        else:
            acted.append(noisy)
    return acted


def _repeat_call(messages: Sequence[Message], index: int) -> list[Message]:
    """The call that the result at `index` answers, made once more, and its true result."""
    call_id = messages[index]["tool_call_id"]
    made = next(
        call
        for message in reversed(messages[:index])
        for call in message.get("tool_calls") or ()
        if call["id"] == call_id
    )
    again = f"{call_id}_again"
    repeated = {"role": "assistant", "content": None, "tool_calls": [{**made, "id": again}]}
    return [repeated, {**messages[index], "tool_call_id": again}]


def _remark(clean: str, noisy: str) -> str:
    """The first remark that noise added to a JSON result, a field of no words as it stands there; giving up
    where none can be told."""
    try:
        before, after = json.loads(clean), json.loads(noisy)
    except ValueError:
        return GIVING_UP
    if not isinstance(before, dict) or not isinstance(after, dict):
        return GIVING_UP
    added = {key: value for key, value in after.items() if key not in before}
    if words := next(filter(None, map(_first_words, added.values())), None):
        return words
    return next((f"{json.dumps(key)}: {json.dumps(value)}" for key, value in added.items()), GIVING_UP)


def _first_words(value: Any) -> str | None:
    while isinstance(value, list | dict) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return value if isinstance(value, str) else None
