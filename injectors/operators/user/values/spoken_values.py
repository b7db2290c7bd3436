"""The values in a user's own words that noise may make vague or contradict, and what was said before."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from crosswind.injectors.conversation import ToolList, UserText
from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.entities import find_whole
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.negations import is_limit, is_restricted
from crosswind.injectors.text.quotations import find_literals, find_plain_names
from crosswind.injectors.values.mentions import Mention, find_mentions
from crosswind.injectors.values.parameters import ValueType

_GOES_ON = re.compile(r"[-_/@.]\w")
_NAMED = re.compile(
    r"\b(?:called|named|titled|entitled|labell?ed|namens|llamad[oa]|titulad[oa]|appelée?|intitulée?) $",
    re.IGNORECASE,
)
_MARKS = "\"'`“”‘’«»„「」"


def find_spoken(target: UserTarget) -> tuple[Mention, ...]:
    """The values that fill a parameter, in the user's own words: no quotations, no names that were given."""
    if not target.tools:
        return ()
    text = target.text
    literal = bytearray(len(text))
    for start, end in (*((one.start, one.end) for one in find_literals(text)), *find_plain_names(text)):
        literal[start:end] = b"\1" * (end - start)
    mentions = (_skip_verb(text, one) for one in find_mentions(text, ToolList.of(target.tools)))
    return tuple(
        one
        for one in mentions
        if 1 not in literal[one.start : one.end]
        and not (one.literal and one.type is not ValueType.FILE)
        and text[one.start - 1 : one.start] not in (*_MARKS, *"$/-_@.#")
        and not _GOES_ON.match(text, one.end)
        and not _NAMED.search(text[max(0, one.start - 12) : one.start])
        and (target.clean is None or one.text in target.clean)
    )


def _skip_verb(text: str, one: Mention) -> Mention:
    """The mention without the verb that its sentence begins with: `Send Alice`."""
    first, _, rest = one.text.partition(" ")
    opens = one.start == 0 or text[max(0, one.start - 2) : one.start] in (". ", "! ", "? ")
    if not (
        rest and opens and first.lower() in SURE | AMBIGUOUS and one.type in (ValueType.NAME, ValueType.PLACE)
    ):
        return one
    lead = len(first) + (len(" the ") if rest.startswith("the ") else 1)
    return msgspec.structs.replace(one, start=one.start + lead, text=one.text[lead:])


def is_held(text: str, one: Mention, language: Language) -> bool:
    """Whether the value is ruled out, or bounds what the user wants: its sentence needs it as it is."""
    if is_restricted(text, one.start, one.end, language):
        return True
    return one.type in _BOUNDING and is_limit(text, one.start, one.end, language)


_BOUNDING = (ValueType.DATE, ValueType.TIME, ValueType.DURATION, ValueType.NUMBER, ValueType.MONEY)


class SaidBefore:
    """The values that stand in the user's earlier messages, which are read when first asked for."""

    def __init__(self, target: UserTarget) -> None:
        self._target = target
        self._lower: list[str] | None = None

    def __contains__(self, value: str) -> bool:
        if self._lower is None:
            self._lower = [one.text.lower() for one in _earlier(self._target)]
        return any(find_whole(text, value.lower(), 0) >= 0 for text in self._lower)


def _earlier(target: UserTarget) -> Iterator[UserText]:
    return (one for one in target.branch.earlier if isinstance(one, UserText))


def find_thing(target: UserTarget, value: str) -> tuple[ValueType | None, str | None]:
    """The type of a value that the user has said before, and what it is; None where that isn't told."""
    tools = ToolList.of(target.tools)
    for earlier in reversed(tuple(_earlier(target))):
        for one in find_mentions(earlier.text, tools):
            if one.text == value:
                return one.type, one.thing
    return None, None
