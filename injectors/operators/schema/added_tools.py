"""What operators that add tools share: places in the list, parameters in the style of the declared tools, and
answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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
OWNED = read_words(
    """
    address category code format id language name number ref size status type url version
    """
)
"""Last words of parameters that are of what the words before them name: the ID of the customer."""
FURTHER: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("limit", "integer", ("Maximum number of entries", "Upper bound on the number of rows")),
    ("max_results", "integer", ("Results to return at most", "Cap on results")),
    ("page", "integer", ("Page number, from 1", "1 for the first page")),
    ("offset", "integer", ("Index of the first entry", "Entries to skip")),
    ("locale", "string", ("Language tag such as en-GB", "Locale of the texts")),
    ("verbose", "boolean", ("Include details", "True for a long answer")),
    ("include_archived", "boolean", ("Also return archived entries", "Archived ones, too")),
    ("since", "string", ("Earliest date", "Only newer than this date, YYYY-MM-DD")),
    ("sort_order", "string", ("asc or desc", "Direction of sorting")),
    ("fields", "string", ("Comma-separated names of fields", "Columns of the answer")),
    ("timeout_seconds", "integer", ("Time limit in seconds", "Seconds until the request is dropped")),
    ("output_format", "string", ("json or csv", "File format of the output")),
    ("dry_run", "boolean", ("Validate only", "Don't change anything")),
    ("cursor", "string", ("Cursor from the previous answer", "Position to resume at")),
    ("tenant", "string", ("Tenant, if there are several", "Defaults to the caller's tenant")),
)
"""Parameters that services let callers leave out: the name, the type, ways to say what it is."""
FURTHER_SHARE = 1 / 3
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
    """A schema with a parameter, and with probability 1/3 one that callers may leave out, as the declared
    tools write theirs: with or without descriptions, in the same style and with the same further keywords."""
    words = split_words(name)
    kind = "integer" if words and words[-1] in WHOLE_NUMBERS else "string"
    said = [text for tool in target.declared for text in _list_descriptions(tool.parameters)]
    has_text = bool(said) and bool(words) and not any(map(is_foreign, said))
    end = "." if has_text and rng.choice(sorted(said)).endswith(".") else ""
    like = target.tool.parameters
    own = next(iter(sorted(find_properties(like))), name)
    name = join_words(words, own) if words else name
    properties: dict[str, Any] = {name: {"type": kind}}
    if has_text:
        properties[name]["description"] = f"{_describe(words, rng)}{end}"
    more, (key, more_kind, ways) = rng.chance(FURTHER_SHARE), rng.choice(FURTHER)
    if more and has_text:
        further = {"type": more_kind, "description": f"{rng.choice(ways)}{end}"}
        properties.setdefault(join_words(key.split("_"), own), further)
    extra = {key: like[key] for key in ("additionalProperties", "$schema") if key in like}
    required = [name] if like.get("required") or "required" not in like else []
    return {"type": "object", "properties": properties, "required": required, **extra}


def _describe(words: Sequence[str], rng: SeededRandom) -> str:
    """What a parameter of such a name is: the customer ID."""
    *owner, last = [word.upper() if word in ACRONYMS else word for word in words]
    whole = " ".join((*owner, last))
    forms = [f"{whole[0].upper()}{whole[1:]}", f"The {whole}"]
    if owner and words[-1] in OWNED:
        of = f"of the {' '.join(owner)}"
        forms += [f"{last[0].upper()}{last[1:]} {of}", f"The {last} {of}"]
    return rng.choice(forms)


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
