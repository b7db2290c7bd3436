"""What operators that add or rename tools share: names, places in the list, schemas and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from typing import Any

from crosswind.injectors.guard.tools import LONGEST_NAME
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolTarget

SHORT = 4
"""Words of up to this many letters aren't abbreviated."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def split_words(name: str) -> list[str]:
    """The words of a name, in lower case: `mutation_type.findAll` has mutation, type, find, all."""
    return [word.lower() for word in _WORD.findall(name)]


def abbreviate(name: str) -> str:
    """Cut each longer word of a name to three letters: `mut_type.find` for `mutation_type.find`."""
    return _WORD.sub(lambda match: match[0] if len(match[0]) <= SHORT else match[0][:3], name)


def add_suffix(name: str, suffix: str, taken: Container[str]) -> str | None:
    """The name with the suffix, cut where both together are too long. None: that name is taken."""
    made = f"{name[: LONGEST_NAME - len(suffix)]}{suffix}"
    return None if made in taken else made


def add_word(name: str, word: str) -> str:
    """Join a further word to a name as its own words are joined: `get_order_history`, `getOrderHistory`."""
    last = re.split(r"[./:]", name)[-1]
    camel = "_" not in last and "-" not in last and re.search(r"[a-z][A-Z]|^[A-Z][a-z]", last)
    if camel:
        return f"{name}{word[:1].upper()}{word[1:]}"
    return f"{name}{'-' if '-' in last else '_'}{word}"


def draw_place(target: ToolTarget, rng: SeededRandom) -> str:
    """Draw the declared tool behind which an added one stands, all equally likely; "" is the first place."""
    return rng.choice(["", *(tool.name for tool in target.declared)])


def complete_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as a whole schema: clients may leave out the type or the properties."""
    return {**parameters, "type": "object", "properties": dict(parameters.get("properties") or {})}


def add_sentence(description: str, sentence: str) -> str:
    before = description.rstrip()
    if not before:
        return sentence
    return f"{before}{'' if before[-1] in '.!?:;' else '.'} {sentence}"


def answer_unavailable(name: str) -> tuple[str, ...]:
    """The answers to calls of a phantom: no invented fact, no effect, and a hint to use another tool."""
    first = {"error": "not_available", "message": f"{name} is not enabled here. Nothing was done."}
    again = {"error": "not_available", "message": f"{name} is still not enabled. Use another tool."}
    return json.dumps(first), json.dumps(again)
