"""Texts and JSON with slots, and what fills them.

`{name}` is filled from the call at hand or drawn, `{name:argument}` by the argument: `{int:1-9}`, `{hex:8}`,
`{one:this|that}`, whose choices may have slots themselves. `{name#a}` is the same wherever it stands in one
filling, and `{name#S:argument}` in each filling of one system. A slot that is a whole JSON string becomes a
number where it gives one, unless it ends in `!`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from crosswind.injectors.seeded_random import SeededRandom

_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(#\w)?(?=[:!}])")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})")
_RANGE = re.compile(r"(-?\d+)-(-?\d+)")
_NUMERIC = frozenset(
    {"status", "int", "retry", "one", "code", "pid", "kept", "total", "lost", "left", "pages"}
)
_LETTERS, _HEX = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "0123456789abcdef"

CHOICE = "one"
OF_SYSTEM = "#S"
DRAWN = frozenset({CHOICE, "int", "hex", "HEX", "alnum", "b64", "uuid"})
"""Slots that need nothing but the random stream."""


class Unfilled(KeyError):
    """Raised where nothing fills a slot; its name is the argument."""


class Slot(msgspec.Struct, frozen=True):
    """A place in a template."""

    name: str
    label: str
    argument: str
    is_text: bool
    choices: tuple[Template, ...] = ()


Template = tuple[str | Slot, ...]
Fill = Callable[[str, str], str]
"""Gives what a slot of that name and argument is filled with. Raises Unfilled."""


@lru_cache(1024)
def compile_template(text: str) -> Template:
    return tuple(_parse(text))


def _parse(text: str) -> Iterator[str | Slot]:
    at = 0
    while (found := _SLOT.search(text, at)) is not None:
        end = _find_end(text, found.end())
        if end is None:
            break
        if found.start() > at:
            yield text[at : found.start()]
        argument = text[found.end() : end].removeprefix(":")
        is_text = argument.endswith("!")
        argument = argument.removesuffix("!")
        choices: tuple[Template, ...] = ()
        if found[1] == CHOICE:
            choices = tuple(compile_template(one) for one in _split_choices(argument))
        yield Slot(found[1], found[2] or "", argument, is_text, choices)
        at = end + 1
    if at < len(text):
        yield text[at:]


def _find_end(text: str, start: int) -> int | None:
    """Where the slot ends that is open at `start`."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return at
    return None


def _split_choices(text: str) -> Iterator[str]:
    depth = start = 0
    for at, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "|" and not depth:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def list_slots(body: Any) -> Iterator[Slot]:
    """All slots of a text or of JSON, those of choices too."""
    if isinstance(body, str):
        pending: list[str | Slot] = list(compile_template(body))
        while pending:
            part = pending.pop()
            if isinstance(part, Slot):
                yield part
                pending.extend(inner for choice in part.choices for inner in choice)
    elif isinstance(body, Mapping):
        for key, value in body.items():
            yield from list_slots(key)
            yield from list_slots(value)
    elif isinstance(body, list):
        for value in body:
            yield from list_slots(value)


class Filler:
    """Fills the templates of one error, or of one cut."""

    def __init__(self, rng: SeededRandom, fill: Fill, key: str = "") -> None:
        self._rng, self._fill, self._key = rng, fill, key
        self._labelled: dict[str, str] = {}

    def fill_text(self, text: str) -> str:
        return self._fill_parts(compile_template(text)) if "{" in text else text

    def fill_json(self, body: Any) -> Any:
        if isinstance(body, str):
            if "{" not in body:
                return body
            parts = compile_template(body)
            filled = self._fill_parts(parts)
            return json.loads(filled) if _is_number(parts, filled) else filled
        if isinstance(body, Mapping):
            return {self.fill_text(key): self.fill_json(value) for key, value in body.items()}
        return [self.fill_json(one) for one in body] if isinstance(body, list) else body

    def _fill_parts(self, parts: Template) -> str:
        return "".join(part if isinstance(part, str) else self._fill_slot(part) for part in parts)

    def _fill_slot(self, slot: Slot) -> str:
        if not slot.label:
            return self._draw(slot, self._rng)
        if slot.label == OF_SYSTEM:
            return self._draw(slot, SeededRandom(f"{self._key}|{slot.name}|{slot.argument}"))
        key = f"{slot.name}{slot.label}"
        if key not in self._labelled:
            self._labelled[key] = self._draw(slot, self._rng)
        return self._labelled[key]

    def _draw(self, slot: Slot, rng: SeededRandom) -> str:
        if slot.choices:
            return self._fill_parts(rng.choice(slot.choices))
        if slot.name in DRAWN:
            return draw_token(rng, slot.name, slot.argument)
        return self._fill(slot.name, slot.argument)


def _is_number(parts: Template, filled: str) -> bool:
    if len(parts) != 1 or isinstance(parts[0], str):
        return False
    slot = parts[0]
    return slot.name in _NUMERIC and not slot.is_text and _NUMBER.fullmatch(filled) is not None


def draw_token(rng: SeededRandom, name: str, argument: str) -> str:
    """A number of a range, or digits and letters as ids have them."""
    if name == "int":
        bounds = _RANGE.fullmatch(argument)
        if bounds is None:
            raise ValueError(f"slot {{int:{argument}}}: give a range, such as {{int:1-9}}")
        return str(rng.integer(int(bounds[1]), int(bounds[2])))
    if name == "uuid":
        digits = rng.choices(_HEX, 32)
        digits[12], digits[16] = "4", rng.choice("89ab")
        text = "".join(digits)
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    letters = _LETTERS if name in ("alnum", "b64") else _HEX
    text = "".join(rng.choices(letters, int(argument)))
    if name == "b64":
        return text + "=" * (-len(text) % 4)
    return text.upper() if name == "HEX" else text
