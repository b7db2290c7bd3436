"""The prefix property, read off the record: a turn's prompt extends the turn before's prompt and completion.

Where they do, a training forward costs each token once, and the engine's prefix cache holds over the whole
session. Where they don't, the bodies say who broke it: the client, noise, the chat template or the parser.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import msgspec

from crosswind.gateway.trajectory.content import View, unpack
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Turn
from crosswind.gateway.trajectory.store import Store

CAUSES: Mapping[str, str] = {
    "history_changed": "the client sent a different history (compacted, edited or stamped), or noise was "
    "stopped in between; such a turn begins a new sequence",
    "tools_changed": "the policy's tools changed, and templates print them first",
    "thinking_dropped": "the client doesn't send back the reasoning of earlier answers: have it keep the "
    "field (reasoning_content, or reasoning), or switch reasoning off",
    "calls_rewritten": "the client sends a call's arguments back in another spelling (spaces, order of "
    "members): have it keep the text of `arguments` as it came",
    "answer_changed": "the client sends back a different answer than it was given",
    "template_strips_thinking": "the chat template omits the reasoning of earlier answers: give the "
    "model a template that keeps it (chat_template.jinja, or the engine's own option)",
    "template_rewrites_history": "the chat template prints earlier messages differently once more follow: "
    "give the model one that only appends",
    "parser_normalised": "the tool parser and the template don't spell a call as it was sampled; rarer as "
    "the policy learns the template's spelling, and the embedded engine puts sampled tokens back by itself",
    "retokenised": "the same text was tokenised differently than it was sampled, as engines do that keep "
    "texts and no tokens",
    "unknown": "the bodies aren't stored (`record: metadata`), so the cause is unknown",
}
"""Every cause, with its meaning and the fix."""


@dataclass(frozen=True, slots=True)
class Break:
    """A turn with a prompt that doesn't extend the tokens of the turn before it."""

    session_id: str
    turn: int
    parent: int
    at: int
    """The position of the first token that differs."""
    inside: str
    """`prompt` or `completion`: the part of the earlier turn that differs."""
    cause: str
    """A key of CAUSES."""


@dataclass(slots=True)
class Prefixes:
    """How often prompts extended the tokens before them."""

    pairs: int = 0
    """Pairs of consecutive turns with token ids."""
    breaks: list[Break] = field(default_factory=list)

    @property
    def held(self) -> int:
        return self.pairs - len(self.breaks)

    def causes(self) -> Counter[str]:
        return Counter(one.cause for one in self.breaks)


SESSIONS_READ = 400
"""How many of the newest sessions to read: reading the tokens of all would take too long."""


def check_by_model(turns: Iterable[Sequence[Turn]]) -> dict[str, Prefixes]:
    """Check the turns of several sessions, per model: each model has one chat template."""
    found: dict[str, Prefixes] = {}
    for session in turns:
        for turn, broken in check_turns(session):
            prefixes = found.setdefault(turn.model or "(no name)", Prefixes())
            prefixes.pairs += 1
            prefixes.breaks += [] if broken is None else [broken]
    return found


def check_newest_sessions(store: Store) -> dict[str, Prefixes]:
    newest = store.sessions(limit=SESSIONS_READ)
    return check_by_model(store.turns(session.id) for session in newest)


def check_turns(turns: Sequence[Turn]) -> Iterator[tuple[Turn, Break | None]]:
    """Yield each turn that follows a turn with tokens, with the break if it doesn't extend them."""
    ends: dict[tuple[str, int], Turn] = {}
    previous: dict[str, int] = {}
    for turn in sorted(turns, key=lambda turn: (turn.index, turn.attempt)):
        parent = turn.parent if turn.parent is not None else previous.get(turn.branch)
        before = None if parent is None else _find_predecessor(ends, turn.branch, parent)
        if before is not None and _has_tokens(turn):
            yield turn, _find_break(before, turn)
        ends[turn.branch, turn.index] = turn
        previous[turn.branch] = turn.index


def _find_predecessor(ends: Mapping[tuple[str, int], Turn], branch: str, index: int) -> Turn | None:
    """The turn of that index, if it has tokens. A branch starts at a turn of another branch."""
    own = ends.get((branch, index))
    found = own or next((turn for (_, number), turn in ends.items() if number == index), None)
    return found if found is not None and _has_tokens(found) else None


def _has_tokens(turn: Turn) -> bool:
    return turn.fitness == Fitness.FIT and turn.prompt_ids is not None and len(turn.completions) == 1


def _find_break(before: Turn, turn: Turn) -> Break | None:
    prompt, completion = _prompt_ids(before), list(before.completions[0].token_ids)
    whole, asked = prompt + completion, _first_prompt_ids(turn)
    if len(asked) > len(whole) and asked[: len(whole)] == whole:
        return None
    same = takewhile(lambda pair: pair[0] == pair[1], zip(whole, asked, strict=False))
    at = sum(1 for _ in same)
    inside = "prompt" if at < len(prompt) else "completion"
    return Break(turn.session_id, turn.index, before.index, at, inside, _find_cause(before, turn, inside))


def _first_prompt_ids(turn: Turn) -> list[int]:
    """The token ids of a turn's first prompt: that of its first inner round, if any."""
    return next((one.prompt_ids for one in turn.rounds if one.prompt_ids), None) or _prompt_ids(turn)


def _prompt_ids(turn: Turn) -> list[int]:
    return list(unpack("i", turn.prompt_ids.bytes() if turn.prompt_ids else None))


def _find_cause(before: Turn, turn: Turn, inside: str) -> str:
    """Find the cause from the bodies: first compare what was sent, then what the engine made of it."""
    asked, asks, said = _parse_object(before.sent), _parse_object(turn.sent), read_answer_message(before)
    if asked is None or asks is None or said is None:
        return "unknown"
    if asked.get("tools") != asks.get("tools"):
        return "tools_changed"
    old, new = asked.get("messages") or [], asks.get("messages") or []
    if not old or new[: len(old)] != old or len(new) <= len(old):
        return "history_changed"
    return _compare_answers(said, new[len(old)]) or _blame_template(old, said, inside)


def _blame_template(old: Sequence[Any], said: Mapping[str, Any], inside: str) -> str:
    """The cause on the engine's side, given that the client sent the history back unchanged."""
    earlier = old if inside == "prompt" else [said]
    if any(_read_reasoning(message) for message in earlier if isinstance(message, dict)):
        return "template_strips_thinking"
    if inside == "prompt":
        return "template_rewrites_history"
    return "parser_normalised" if said.get("tool_calls") else "retokenised"


def _compare_answers(said: Mapping[str, Any], sent: Any) -> str | None:
    """How the client changed the policy's answer when it sent it back; None if it didn't."""
    if not isinstance(sent, dict) or sent.get("role") != "assistant":
        return "history_changed"
    if _read_reasoning(said) and not _read_reasoning(sent):
        return "thinking_dropped"
    mine, theirs = read_calls(said), read_calls(sent)
    if mine != theirs:
        spelt = [(name, _parse_json(text)) for name, text in mine] == [
            (name, _parse_json(text)) for name, text in theirs
        ]
        return "calls_rewritten" if spelt else "answer_changed"
    return None if (said.get("content") or "") == (sent.get("content") or "") else "answer_changed"


def _read_reasoning(message: Mapping[str, Any]) -> Any:
    thought = "<think>" in message["content"] if isinstance(message.get("content"), str) else False
    return message.get("reasoning_content") or message.get("reasoning") or thought


def read_calls(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    calls = message.get("tool_calls") or []
    functions = [call.get("function") or {} for call in calls if isinstance(call, dict)]
    return [(str(one.get("name")), str(one.get("arguments"))) for one in functions]


def _parse_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _parse_object(view: View | None) -> dict[str, Any] | None:
    value = _parse_json(view.bytes().decode("utf-8", "replace")) if view is not None else None
    return value if isinstance(value, dict) else None


def read_answer_message(turn: Turn) -> dict[str, Any] | None:
    choices = (_parse_object(turn.produced) or {}).get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else None
