"""Draw what a call's error says, in the format of the system behind its tool.

The stack and its format are drawn once for each backend of a session, since a system doesn't change its
format between two calls; what went wrong, and all figures, are drawn for the call.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any

import msgspec

from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import ACTING, READING, TELLING
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import OPTIONAL, CallWords
from crosswind.injectors.stacks.model import (
    LOCAL,
    ErrorKind,
    Form,
    Shape,
    Stack,
    ToolKind,
    list_codes,
    list_forms,
    list_messages,
    list_stacks,
)
from crosswind.injectors.stacks.shapes import find_shape
from crosswind.injectors.stacks.templates import Filler, Unfilled, list_slots
from crosswind.injectors.targets import Half, ToolResultTarget
from crosswind.injectors.text.json_leaves import dump_like
from crosswind.injectors.text.json_payload import looks_destroyed

LOGINS = frozenset({"login", "authenticate", "signin", "session"})
"""Words of tools that log in, or say whether one is."""
_CHECKING = frozenset({"status", "state", "check", "is", "verify", "get", "list", "current"})
"""Words of those that only say whether one is."""

_CHANGING_FOLDER = "cd"
_OF_FILES = re.compile(r"(?:\{complaint\}|\[Errno|fork)(?!.*ermission denied)")
"""Messages that changing the folder can't give: it reads nothing, and starts no process."""

TRIES = 4
"""Drafts until one says by itself that it is no result: some results are errors, too."""


class DrawnError(msgspec.Struct, frozen=True, gc=False):
    """The text of an error, and the name of the stack that says it."""

    text: str
    stack: str


def draw_error(target: ToolResultTarget, rng: SeededRandom, kind: ErrorKind, first: str = "") -> DrawnError:
    """An error of that kind in place of the result; `first` is the tool that a prerequisite names."""
    words = CallWords(target, rng)
    kinds = words.kinds
    order = _order_stacks(target.branch.half, words.key)
    stack = _choose_stack(order, find_shape(target.text), kinds)
    inner = _choose_stack(order, Shape.TEXT, kinds)
    text = ""
    for _ in range(TRIES):
        body = _Writer(target, rng, words, kind, first).write(stack, inner)
        text = body if isinstance(body, str) else dump_like(body, like=target.text)
        if looks_destroyed(text, target.text):
            return DrawnError(text, stack[0].name)
    return DrawnError(f"Error: {text}", stack[0].name)


@lru_cache(512)
def _order_stacks(half: Half, key: str) -> tuple[tuple[Stack, float], ...]:
    """The stacks in the order in which a backend prefers them, each with the format that it has there."""
    rng = SeededRandom(f"order|{key}")
    drawn = [(rng.exponential(1 / stack.weight), stack, rng.uniform()) for stack in list_stacks(half)]
    return tuple((stack, format) for _, stack, format in sorted(drawn, key=lambda one: (one[0], one[1].name)))


def _choose_stack(
    order: tuple[tuple[Stack, float], ...], shape: Shape, kinds: frozenset[ToolKind]
) -> tuple[Stack, float]:
    """The first stack whose errors may stand in place of such a result of such a tool."""
    of_shape = [one for one in order if shape in one[0].results]
    fitting = (one for one in of_shape if one[0].tools & kinds)
    return next(fitting, None) or next(one for one in of_shape if ToolKind.API in one[0].tools)


@cache
def _list_forms(stack: str) -> tuple[tuple[Form, frozenset[str]], ...]:
    """The forms of a stack, each with the names of its slots."""
    return tuple((form, frozenset(slot.name for slot in list_slots(form.body))) for form in list_forms(stack))


def logs_in(tool: str) -> bool:
    """Whether a tool logs in by its name, and doesn't only say whether somebody is."""
    words = set(words_of(tool))
    return not LOGINS.isdisjoint(words) and _CHECKING.isdisjoint(words)


def name_things(first: str) -> dict[str, str]:
    """What a tool brings, by its name (`orders` of `list_all_orders`), and the verbs behind it."""
    words = words_of(first)
    rest = words[1:] if words[:1] and words[0] in (READING | ACTING | TELLING) else words
    end = next((at for at, word in enumerate(rest) if at and word in _LINKING), len(rest))
    named = [word for word in rest[:end] if word not in _OF_LISTS] or rest[:end] or ["data"]
    many = named[-1].endswith("s") and not named[-1].endswith(("ss", "us", "is", "news"))
    return {
        "things": " ".join(named),
        "thing": " ".join(
            (*named[:-1], named[-1][:-1] if many and not named[-1].endswith("ies") else named[-1])
        ),
        "things_have": "have" if many else "has",
        "things_are": "are" if many else "is",
        "things_them": "them" if many else "it",
    }


_LINKING = frozenset("by for of from in with to at on and".split())
_OF_LISTS = frozenset("all my the list a available current user".split())


class _Writer:
    """Writes one error."""

    def __init__(
        self, target: ToolResultTarget, rng: SeededRandom, words: CallWords, kind: ErrorKind, first: str
    ) -> None:
        self._half, self._rng, self._words = target.branch.half, rng, words
        self._kind, self._first = kind, first
        self._things = name_things(first) if first else {}
        self._filler = Filler(rng, self._fill, words.key)
        self._status = rng.choice(list_codes("status", self._kind, ""))
        self._message = ""
        self._inner: tuple[Stack, float] | None = None
        self._retry = ""

    def write(self, stack: tuple[Stack, float], inner: tuple[Stack, float] | None = None) -> Any:
        """The body of an error of that stack, in its format there: a text, or JSON."""
        self._inner = inner
        if not self._message:
            system = next((one for one in LOCAL if one in self._words.kinds and one in stack[0].tools), None)
            said = list_messages(self._half, self._kind, system)
            if self._words.find("command") == _CHANGING_FOLDER:
                said = tuple(one for one in said if _OF_FILES.search(one) is None)
            self._message = self._filler.fill_text(self._rng.choice(said))
        forms = [form for form, slots in _list_forms(stack[0].name) if self._fits(slots)]
        fitting = [form for form in forms if self._kind in form.kinds]
        general = [form for form in forms if not form.kinds]
        if general:
            fitting.append(general[int(stack[1] * len(general))])
        return self._filler.fill_json(self._rng.choice(fitting).body)

    def _fits(self, names: frozenset[str]) -> bool:
        """Whether each slot can be filled, and one names what has to come first, where there is such a tool:
        not each call has a path or a query, and not each form a sentence."""
        if self._first and names.isdisjoint(("first", "message", "message_repr", "inner")):
            return False
        return all(self._words.find(name) is not None for name in OPTIONAL & names)

    def _fill(self, name: str, argument: str) -> str:
        match name:
            case "inner" if self._inner is not None:
                return str(self.write(self._inner))
            case "code":
                return self._rng.choice(list_codes(argument, self._kind, self._status))
            case "retry":
                self._retry = self._retry or self._words.find(name) or ""
        own = {
            "message": self._message,
            "message_repr": repr(self._message),
            "status": self._status,
            "reason": HTTPStatus(int(self._status)).phrase,
            "first": self._first,
            "retry": self._retry,
            **self._things,
        }
        found = own[name] if name in own else self._words.find(name)
        if found is None:
            raise Unfilled(name)
        return found
