"""How the tools of a list are written: the order of keys, how many parameters they have, how descriptions
begin and end. What is added to a list is written so, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from crosswind.injectors.conversation import ToolList, ToolListKey, ToolSchema
from crosswind.injectors.guard.tools import find_properties
from crosswind.injectors.operators.schema.names import split_words
from crosswind.injectors.operators.schema.verb_forms import FORMS, Form, conjugate
from crosswind.injectors.operators.words.parameters import OPTIONAL
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.languages import is_foreign
from crosswind.injectors.text.word_lists import make_words

ADDED_PARAMETERS = 4
"""Parameters of an added tool at most."""
PREFIX = re.compile(r"\s*[^\n]{0,400}?\bdescription:\s*", re.IGNORECASE)
"""What stands before the description proper, where a description says so."""
KEPT = ("additionalProperties", "$schema")
"""Keywords of a tool's parameters that a neighbour of it has, too."""


class ParameterStyle(NamedTuple):
    """How one declared tool writes its parameters, but for the order of keys: lists that differ in it only
    have one style."""

    kept: tuple[tuple[str, Any], ...]
    size: int
    """How many parameters there are."""
    required: int
    """How many of them have to be given; -1 where the schema doesn't say."""
    keys: frozenset[str]
    """Of its single parameters."""
    kinds: tuple[str, ...]
    """The types of all its parameters but one text: the first one of an added tool is a text."""
    says: tuple[str, ...]
    """The descriptions of all its parameters."""


class ListStyle(NamedTuple):
    """How the tools of a list are written: one entry for each that is."""

    parameters: tuple[ParameterStyle, ...]
    openings: tuple[Form | None, ...]
    """The form of the verb with which each description begins; None: it doesn't begin with one."""
    ends: tuple[bool, ...]
    """Whether each description ends with a full stop."""
    foreign: bool
    """Whether it is in a language of which nothing can be written."""
    common: tuple[tuple[str, Mapping[str, Any]], ...]
    """Parameters of its tools that any tool could take, with their schemas: a date, a limit."""
    says_defaults: float
    """The share of parameters whose description names what is taken where they are left out."""
    specifies: float
    """The share of tools that say of a thing that it is a specific or a given one."""
    prefixes: tuple[str, ...]
    """What stands before each description proper."""


def find_style(tools: Sequence[ToolSchema]) -> ListStyle:
    """The style of a list; the same for lists that say the same."""
    return _find_style(ToolList.of(tools).key)


@lru_cache(256)
def _find_style(keyed: ToolListKey) -> ListStyle:
    # A client may write a list in another order: the style is that of its tools in the order of their names.
    tools = sorted(keyed.tools, key=lambda tool: (tool.name, tool.description))
    whole = (PREFIX.sub("", tool.description).strip() for tool in tools)
    texts = [text for text in whole if text]
    parameters = tuple(_read_parameters(tool.parameters) for tool in tools)
    said = [text for one in parameters for text in one.says]
    return ListStyle(
        parameters=parameters,
        openings=tuple(_find_opening(text) for text in texts),
        ends=tuple(text.endswith(".") for text in texts),
        foreign=any(map(is_foreign, (*said, *texts))),
        common=tuple(sorted(_list_common(tools), key=lambda one: one[0])),
        says_defaults=sum("efault" in text for text in said) / max(len(said), 1),
        specifies=sum(_SPECIFIC.search(text) is not None for text in texts) / max(len(texts), 1),
        prefixes=tuple(found[0] if (found := PREFIX.match(one.description)) else "" for one in tools),
    )


def _read_parameters(schema: Mapping[str, Any]) -> ParameterStyle:
    own = find_properties(schema)
    required = schema.get("required")
    single = [one for one in own.values() if isinstance(one, Mapping)]
    return ParameterStyle(
        kept=tuple((key, schema[key]) for key in KEPT if key in schema),
        size=len(own),
        required=len(required) if isinstance(required, list) else -1,
        keys=frozenset(key for one in single for key in one),
        kinds=_list_kinds(single),
        says=tuple(sorted(text for one in single if (text := _read_description(one)))),
    )


def _list_kinds(schemas: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    kinds = sorted(kind for one in schemas if isinstance(kind := one.get("type"), str))
    if "string" in kinds:
        kinds.remove("string")
    return tuple(kinds)


def _read_description(schema: Mapping[str, Any]) -> str:
    found = schema.get("description")
    return found.strip() if isinstance(found, str) else ""


def _list_common(tools: Sequence[ToolSchema]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for tool in tools:
        for name, schema in find_properties(tool.parameters).items():
            words = split_words(name)
            if (
                isinstance(schema, Mapping)
                and words
                and (words[-1] in _COMMON or "_".join(words) in _OPTIONAL)
            ):
                yield name, schema


_COMMON = make_words(
    """
    address city country currency date day format language limit locale location month offset order page
    radius region sort state status time timezone unit units username year zip zone
    """
)
"""Last words of parameters that any tool could take."""
_OPTIONAL = frozenset(one.name for one in OPTIONAL)


_SPECIFIC = re.compile(r"\b(?:certain|given|particular|specific|specified)\b", re.IGNORECASE)


def _find_opening(text: str) -> Form | None:
    found = FORMS.get(text.split(maxsplit=1)[0].lower().strip(",.:;"))
    return found[1] if found else None


def write_description(text: str, name: str, style: ListStyle, rng: SeededRandom) -> str:
    """What a tool of that name does, as the list says it: with a verb in its form or none, with or without a
    full stop."""
    if not style.openings or style.foreign or not text.strip():
        return text
    whole = _open(text.strip(), name, rng.choice(style.openings), rng)
    return whole if rng.choice(style.ends) or ". " in whole else whole.removesuffix(".")


def specify(text: str, style: ListStyle, rng: SeededRandom) -> str:
    """The text with a word that says of what a caller names that it is one thing, as often as the list does:
    `for a specific product`."""
    if style.foreign or not rng.chance(SPECIFIED + (1 - SPECIFIED) * style.specifies):
        return text
    said = rng.choice(_SPECIFICALLY)
    return _NAMED.sub(lambda found: f"{found[1]} {said} ", text, count=1)


SPECIFIED = 0.3
"""How often a description says so in a list that never does."""
_SPECIFICALLY = ("a given", "a specific", "a specified", "a particular", "the given", "the specified")
_NAMED = re.compile(
    r"\b(for|of|at|in|on|near) an? "
    r"(?!(?:given|kind|line|list|number|past|reference|standard|type)\b)(?=[a-z])"
)


def _open(text: str, name: str, form: Form | None, rng: SeededRandom) -> str:
    """The text with its opening in that form: a noun gets the verb of the tool's name before it."""
    first, _, rest = text.partition(" ")
    found = FORMS.get(first.lower())
    if form is None or form is Form.GERUND or not rest:
        return text
    if found is not None and found[1] is not Form.GERUND and rest.split()[0].lower() not in _NO_OBJECTS:
        return f"{conjugate(found[0], form).capitalize()} {rest}"
    verb = name.split("_", 1)[0].lower()
    if verb not in _SHOWING:
        return text
    verb = rng.choice(_SAID.get(verb, (verb,)))
    if first.lower() in _QUESTIONS:
        verb = "check" if first.lower() in ("if", "whether") else "show"
    lowered = f"{first[0].lower()}{first[1:]}" if first[1:].islower() else first
    head = " ".join((lowered, rest))
    if name.startswith("list_") and lowered.endswith("s") and rng.chance(LISTED):
        head = f"a list of {head}"
    elif _GENITIVE.match(head) and lowered not in _DETERMINERS:
        head = f"the {head}"
    return f"{conjugate(verb, form).capitalize()} {head}"


LISTED = 0.3
"""How often a tool whose name begins with "list" is said to give a list of things."""
_NO_OBJECTS = make_words("of and or")
_SHOWING = make_words("get list show find fetch retrieve check browse lookup search estimate")
_SAID = {
    "get": ("get", "retrieve", "retrieve", "retrieve", "fetch", "find", "provide"),
    "list": ("list", "get", "retrieve", "retrieve", "find", "provide"),
}
"""Verbs that say what a tool does whose name begins with another one."""
_QUESTIONS = make_words("how what when where which who whether if")
_DETERMINERS = make_words("a an the this these all any each every how what when where which who whether if")
_GENITIVE = re.compile(r"[\w-]+(?: [\w-]+){0,2} of ")
