"""What vague English words call a value that they don't tell: a noun that fits its type where it stands."""

from __future__ import annotations

from collections.abc import Mapping

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_NOUNS: Mapping[ValueType, tuple[str, ...]] = {
    ValueType.DATE: ("date", "day"),
    ValueType.TIME: ("time", "hour"),
    ValueType.NUMBER: ("number", "figure"),
    ValueType.MONEY: ("amount", "sum", "figure"),
    ValueType.DURATION: ("amount of time",),
    ValueType.PLACE: ("place", "location"),
    ValueType.ID: ("reference", "number", "code"),
    ValueType.EMAIL: ("address", "mail address"),
    ValueType.FILE: ("file",),
}
"""Nouns that stand for any value of the type."""

_OWN: Mapping[ValueType, frozenset[str]] = {
    kind: frozenset(words.split())
    for kind, words in (
        (ValueType.DATE, "birthday date day deadline"),
        (ValueType.TIME, "hour time"),
        (
            ValueType.NUMBER,
            """
            age angle area base budget capacity count depth distance height length level limit mass number
            percentage price quantity radius rate rating score size speed temperature total volume weight
            width year
            """,
        ),
        (
            ValueType.MONEY,
            "amount balance budget cost deposit fare fee limit payment price salary total",
        ),
        (ValueType.DURATION, "duration length period stay term time"),
        (
            ValueType.PLACE,
            """
            address airport branch city clinic country department destination district hotel location
            neighbourhood neighborhood office place province region restaurant room state station street town
            venue
            """,
        ),
        (ValueType.ID, "account booking card case code file invoice key number order reference ticket token"),
        (ValueType.EMAIL, "address email mailbox"),
        (ValueType.FILE, "attachment directory document file folder path"),
    )
}
"""Nouns of parameters that name a value of the type. `flight` names no place, though one flies to it."""

_NO_NOUNS = frozenset("people by enabled from in is like mode on per sort type to with".split())
PERSONS = frozenset(
    """
    artist assignee attendee author beneficiary contact customer doctor employee friend guest member name
    owner patient payee person player receiver recipient sender user username
    """.split()
)
_ANY = (ValueType.NAME, ValueType.OPTION, ValueType.WORD)
"""Types whose values have no noun but their parameter's."""


def draw_thing(one: Mention, rng: SeededRandom) -> str | None:
    """What to call the value; None where no noun is sure to fit."""
    own = _find_own(one)
    nouns = _NOUNS.get(one.type, ())
    at = rng.integer(0, 2 * max(1, len(nouns)) - 1)
    if own is not None and (at >= len(nouns) or not nouns):
        return own
    return nouns[at % len(nouns)] if nouns else None


def _find_own(one: Mention) -> str | None:
    """The parameter's own noun, where it names a value of this type: one thing, not several."""
    if one.thing is None:
        return None
    before, _, head = one.thing.rpartition(" ")
    if head == "name" and before in PERSONS:
        return before
    several = head.endswith("s") and not head.endswith(("ss", "us", "is"))
    if several or head in _NO_NOUNS or "number of" in one.thing:
        return None
    return one.thing if one.type in _ANY or head in _OWN.get(one.type, ()) else None
