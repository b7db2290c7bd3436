"""What operators that add tools share: places in the list, parameters in the style of the declared tools, and
answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from crosswind.injectors.guard.tools import find_properties
from crosswind.injectors.operators.schema.names import join_words, split_words
from crosswind.injectors.operators.words.descriptions import read_words
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolTarget
from crosswind.injectors.text.languages import is_foreign

WHOLE_NUMBERS = read_words(
    """
    age days hours length limit minutes pages count quantity size year years
    """
)
"""Last words of parameters that take a whole number."""
ACRONYMS = read_words(
    """
    bic cidr id ip iban isbn iso mcc qr sku sql url utc vat zip
    """
)


def draw_place(target: ToolTarget, rng: SeededRandom) -> str:
    """Draw the declared tool behind which an added one stands, all equally likely; "" is the first place."""
    return rng.choice(["", *(tool.name for tool in target.declared)])


def complete_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as a whole schema: clients may leave out the type or the properties."""
    return {**parameters, "type": "object", "properties": dict(parameters.get("properties") or {})}


def draw_parameters(target: ToolTarget, rng: SeededRandom, name: str) -> dict[str, Any]:
    """A schema with one parameter, as the declared tools write theirs: with or without a description, in the
    same style and with the same further keywords."""
    words = split_words(name)
    kind = "integer" if words and words[-1] in WHOLE_NUMBERS else "string"
    said = [text for tool in target.declared for text in _list_descriptions(tool.parameters)]
    one: dict[str, Any] = {"type": kind}
    if said and words and not any(map(is_foreign, said)):
        says = " ".join(word.upper() if word in ACRONYMS else word for word in words)
        says = rng.choice((f"{says[0].upper()}{says[1:]}", f"The {says}"))
        one["description"] = f"{says}{'.' if rng.choice(sorted(said)).endswith('.') else ''}"
    like = target.tool.parameters
    own = next(iter(sorted(find_properties(like))), name)
    name = join_words(words, own) if words else name
    extra = {key: like[key] for key in ("additionalProperties", "$schema") if key in like}
    required = [name] if like.get("required") or "required" not in like else []
    return {"type": "object", "properties": {name: one}, "required": required, **extra}


def _list_descriptions(parameters: Mapping[str, Any]) -> Iterator[str]:
    for one in find_properties(parameters).values():
        if (
            isinstance(one, Mapping)
            and isinstance(one.get("description"), str)
            and one["description"].strip()
        ):
            yield one["description"]


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
