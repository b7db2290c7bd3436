"""Tools that a service could have beside one of its own, in that one's words: `explain_route` beside
`plan_route`, with some of its parameters."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.guard.tools import LONGEST_NAME, find_properties
from crosswind.injectors.operators.schema.list_style import PREFIX, find_style, write_description
from crosswind.injectors.operators.schema.names import list_words, name_like
from crosswind.injectors.operators.schema.verb_forms import FORMS, Form, conjugate
from crosswind.injectors.operators.words.neighbours import AROUND_DEEDS, AROUND_THINGS
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half, ToolTarget
from crosswind.injectors.text.word_lists import make_words

LONGEST_PHRASE = 20
"""Words of what a tool does that a neighbour's description repeats at most."""


class _Deed(NamedTuple):
    """What a tool does: a verb, and what it is done to."""

    verb: str
    rest: str


def list_neighbours(target: ToolTarget, half: Half) -> tuple[tuple[str, str], ...]:
    """The names and sentences of the tools that could stand beside this one; none where nothing says what it
    does."""
    return tuple(
        one
        for one in _list_neighbours(target.tool.name, target.tool.description, half)
        if one[0] not in target.taken
    )


@lru_cache(1024)
def _list_neighbours(name: str, description: str, half: Half) -> tuple[tuple[str, str], ...]:
    deed = _read_deed(ToolSchema(name, description, {}))
    words = list_words(name)
    about = words[1:] if len(words) > 1 and words[0] in FORMS else words
    about = about[1:] if about[:1] and about[0] in _PREPOSITIONS else about
    if deed is None or not about:
        return ()
    said = {
        "base": f"{deed.verb} {deed.rest}",
        "gerund": f"{conjugate(deed.verb, Form.GERUND)} {deed.rest}",
    }
    if deed.verb in _THINGS and deed.rest.split()[0].lower() not in _PREPOSITIONS:
        said["thing"] = deed.rest
    found = []
    for pattern, sentence in (*AROUND_DEEDS[half], *(AROUND_THINGS[half] if "thing" in said else ())):
        before, after = pattern.split("{n}")
        made = name_like([*before.strip("_").split("_"), *about, *filter(None, after.split("_"))], name)
        # A tool that validates has no neighbour that validates the same.
        if len(made) <= LONGEST_NAME and made != name and not sentence.lower().startswith(f"{deed.verb} "):
            found.append((made, sentence.format(**said)))
    return tuple(found)


def _read_deed(tool: ToolSchema) -> _Deed | None:
    """What a description's first sentence says that the tool does."""
    text = PREFIX.sub("", tool.description.strip())
    first = _END.split(text, maxsplit=1)[0]
    opening = _FRAME.match(first)
    words = first[opening.end() if opening else 0 :].split()
    verb, form = FORMS.get(words[0].lower() if words else "", ("", None))
    if form is None or form is Form.GERUND or len(words) < 2 or words[1].lower() in _JOINTS:
        return None
    if verb in _SEEKING and words[1].lower() == "for" and len(words) > 2:
        del words[1]
        verb = "find"
    rest = words[1 : 1 + LONGEST_PHRASE]
    for at, word in enumerate(rest):
        # "and returns" would have to change its form with the first verb.
        joined = (
            word in ("and", "or")
            and at + 1 < len(rest)
            and FORMS.get(rest[at + 1].lower(), ("", None))[1] is form
        )
        if at and (joined or (len(words) > LONGEST_PHRASE and word in _CUTS)):
            rest = rest[:at]
            break
    while rest and rest[-1].lower() in _DANGLING:
        rest.pop()
    return _Deed(verb, " ".join(rest)) if rest else None


_END = re.compile(r"[.;:\n]\s|[.;,]$|[,;] (?:and|or) | \(")
_FRAME = re.compile(
    r"(?:Use this (?:tool |function )?to|This (?:tool|function|API|endpoint)|Used to|Allows? you to)\s+",
    re.IGNORECASE,
)
_SEEKING = make_words("search look")
_PREPOSITIONS = make_words(
    "in on at to for from with by if whether how what when where which who that out up off"
)
_THINGS = make_words(
    """
    analyze assess book build calculate cancel check compute create delete describe detect determine display
    edit estimate evaluate explore extract fetch find forecast generate get give identify list load look
    lookup make measure modify monitor obtain order place plan post predict prepare produce provide query
    read recommend record register request reserve retrieve return review save search send show start
    submit suggest summarize track update upload verify view write
    """
)
"""Verbs whose object is a thing that can be used otherwise, as it isn't of "convert a value to dollars"."""
_JOINTS = make_words("and or of")
_CUTS = make_words("that which based given including using such where when with by from")
_DANGLING = make_words(
    "a an the of to for in on at by with from and or that which based given including using such as"
)


def draw_neighbour_parameters(target: ToolTarget, rng: SeededRandom) -> dict[str, Any]:
    """Some of the tool's own parameters, as they stand."""
    schema = target.tool.parameters
    own = find_properties(schema)
    kept = set(rng.sample(sorted(own), rng.integer(1, len(own)))) if own else set()
    made: dict[str, Any] = {**schema, "type": "object"}
    made["properties"] = {name: one for name, one in own.items() if name in kept}
    if isinstance(schema.get("required"), list):
        made["required"] = [name for name in schema["required"] if name in kept]
    return made


def draw_neighbour(
    target: ToolTarget, rng: SeededRandom, half: Half, taken: set[str]
) -> dict[str, Any] | None:
    """Draw one whose name is in neither `taken` nor the list."""
    left = [one for one in list_neighbours(target, half) if one[0] not in taken]
    if not left:
        return None
    name, says = rng.choice(left)
    prefix = PREFIX.match(target.tool.description)
    written = write_description(f"{says}.", name, find_style(target.declared), rng)
    return {
        "name": name,
        "says": f"{prefix[0] if prefix else ''}{written}",
        "parameters": draw_neighbour_parameters(target, rng),
    }
