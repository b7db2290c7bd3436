"""What operators that add tools share: places in the list, parameters in the style of the declared tools, and
answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.injectors.guard.tools import find_properties
from crosswind.injectors.operators.schema.list_style import (
    ADDED_PARAMETERS,
    ListStyle,
    ParameterStyle,
)
from crosswind.injectors.operators.schema.names import join_words, split_words
from crosswind.injectors.operators.words.parameters import DEFAULTS, EXAMPLES, OPTIONAL, OptionalParameter
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolTarget
from crosswind.injectors.text.word_lists import make_words

WHOLE_NUMBERS = make_words("age days hours length limit minutes pages count quantity size year years")
"""Last words of parameters that take a whole number."""
NUMBERS = make_words("amount bandwidth cm kg km kwh price rate watts weight width")
"""The same of those that take any number."""
OWNED = make_words("address category code format id language name number ref size status type url version")
"""Last words of parameters that are of what the words before them name: the ID of the customer."""
GOES_ON = 0.2
"""The share of descriptions of a parameter that say more than its name, where that doesn't tell more."""
ACRONYMS = make_words("bic cidr id ip iban isbn iso mcc qr sku sql url utc vat zip")


def draw_place(target: ToolTarget, rng: SeededRandom) -> str:
    """Draw the declared tool behind which an added one stands, all equally likely; "" is the first place."""
    return rng.choice(["", *(tool.name for tool in target.declared)])


def complete_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as a whole schema: clients may leave out the type or the properties."""
    return {**parameters, "type": "object", "properties": dict(find_properties(parameters))}


def draw_parameters(target: ToolTarget, style: ListStyle, rng: SeededRandom, name: str) -> dict[str, Any]:
    """A schema as one of the declared tools has it: with about as many parameters, keys in the same order,
    and descriptions like its own. The first parameter is the added tool's; the others are such as any tool
    could take, those of the list first."""
    like = rng.choice(style.parameters)
    schema, words = target.tool.parameters, split_words(name)
    own = find_properties(schema)
    beside = next(iter(sorted(own)), name)
    order = max((tuple(one) for one in own.values() if isinstance(one, Mapping)), key=len, default=())
    name = join_words(words, beside) if words else name
    last = words[-1] if words else ""
    kind = "integer" if last in WHOLE_NUMBERS else "number" if last in NUMBERS else "string"
    first: dict[str, Any] = {"type": kind}
    said = rng.choice(like.says) if like.says and words and not style.foreign else ""
    end = "." if said.endswith(".") else ""
    if said:
        first["description"] = f"{_describe(words, rng)}{end}"
    further = _draw_further(style, like, rng, beside, end)
    further.pop(name, None)
    needed = [key for key, one in further.items() if "default" not in one]
    made: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: _order(first, order),
            **{key: _order(one, order) for key, one in further.items()},
        },
        **dict(like.kept),
    }
    if like.required >= 0:
        made["required"] = [name, *needed[: like.required - 1]] if like.required else []
    return _order(made, tuple(schema))


def _draw_further(
    style: ListStyle, like: ParameterStyle, rng: SeededRandom, beside: str, end: str
) -> dict[str, dict[str, Any]]:
    """Parameters that any tool could take: those of the list, then others."""
    count = min(max(like.size, 1), ADDED_PARAMETERS) - 1
    found = {name: dict(one) for name, one in rng.sample(style.common, count)}
    if not style.foreign:  # The others are described in English.
        kinds = rng.sample(like.kinds, count - len(found)) if like.kinds else ()
        alike = [rng.choice([one for one in OPTIONAL if one.kind == kind] or OPTIONAL) for kind in kinds]
        for one in alike or rng.sample(OPTIONAL, count - len(found)):
            found.setdefault(join_words(one.name.split("_"), beside), _write(one, end, style, like, rng))
    return found


def _write(
    one: OptionalParameter, end: str, style: ListStyle, like: ParameterStyle, rng: SeededRandom
) -> dict[str, Any]:
    """A parameter that callers may leave out, as the declared tools write theirs."""
    text = rng.choice(one.ways)
    if one.default and rng.chance(style.says_defaults):
        text += rng.choice(DEFAULTS).format(default=one.default)
    schema: dict[str, Any] = {"type": one.kind, **({"description": f"{text}{end}"} if like.says else {})}
    if one.kind == "array":
        schema["items"] = {"type": "string"}
    if one.values and "enum" in like.keys:
        schema["enum"] = list(one.values)
    if one.default and "default" in like.keys:
        schema["default"] = _read_default(one)
    return schema


def _read_default(one: OptionalParameter) -> Any:
    match one.kind:
        case "boolean":
            return one.default == "true"
        case "integer" | "number":
            return json.loads(one.default)
    return one.default


def _order(schema: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The schema with its keys in the order of `keys`; those that aren't there come last."""
    return {key: schema[key] for key in (*(key for key in keys if key in schema), *schema)}


def _describe(words: Sequence[str], rng: SeededRandom) -> str:
    """What a parameter of such a name is: the customer ID."""
    *owner, last = [word.upper() if word in ACRONYMS else word for word in words]
    whole = " ".join((*owner, last))
    forms = [f"{whole[0].upper()}{whole[1:]}", f"The {whole}", f"The {whole}"]
    if owner and words[-1] in OWNED:
        of = f"of the {' '.join(owner)}"
        forms += [f"{last[0].upper()}{last[1:]} {of}", f"The {last} {of}"]
    goes_on = words[-1] in EXAMPLES or rng.chance(GOES_ON)
    return f"{rng.choice(forms)}{rng.choice(EXAMPLES.get(words[-1], EXAMPLES[''])) if goes_on else ''}"


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
