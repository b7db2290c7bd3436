"""Draw a phrase from the packs that fits a conversation: its language, domain, tools and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

import msgspec

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.packs.domains import detect_domain
from crosswind.injectors.packs.load import OWN, load
from crosswind.injectors.packs.model import SLOT, Entry, Named, Pack, list_slots
from crosswind.injectors.packs.parts import DRAWN_SLOTS, Address, Domain
from crosswind.injectors.packs.shelf import Shelf
from crosswind.injectors.packs.stems import REMEMBERED, list_words, read_said, read_words
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import EntryWeights, Half
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.parameters import ValueType

ANY = -1
"""All entries of a shelf."""


class Setting(msgspec.Struct, frozen=True, gc=False):
    """What of a conversation decides which phrases fit it."""

    language: Language
    domain: Domain
    half: Half
    opening: str
    """What its user opened it with, or what else tells what it is about."""
    tools: frozenset[str]
    """The words of its tools' names and descriptions."""
    address: Address | None = None
    """How its user addresses the agent, where the language has two ways and the user has shown one."""
    entries: EntryWeights = ()
    """How often the rule draws which entries."""
    guessed: bool = False
    """Whether the user has shown none, so that entries that address nobody go first."""
    turn: int = 0
    """That of the own packs (`OwnPacks.turn`)."""


class Phrase(msgspec.Struct, frozen=True, gc=False):
    """An entry that was drawn, with its slots filled."""

    entry: str
    """Pack, version and entry: `en/travel@1#same-001`."""
    text: str
    key: str = ""
    parameter: str = ""


def make_setting(
    tools: ToolList,
    opening: str,
    language: Language,
    half: Half,
    address: Address | None = None,
    entries: EntryWeights = (),
    *,
    guessed: bool = False,
) -> Setting:
    """The setting of a conversation, by its tools and how its user opened it: neither changes later."""
    make = _short_setting if len(opening) <= REMEMBERED else _long_setting
    return make(tools.key, opening, language, half, address, entries, guessed, OWN.turn)


def _make_setting(
    keyed: ToolListKey,
    opening: str,
    language: Language,
    half: Half,
    address: Address | None,
    entries: EntryWeights,
    guessed: bool,
    turn: int,
) -> Setting:
    domain, served = detect_domain(keyed.tools, opening), _list_tool_words(keyed, language)
    return Setting(language, domain, half, opening, served, address, entries, guessed, turn)


_short_setting, _long_setting = lru_cache(256)(_make_setting), lru_cache(16)(_make_setting)


@lru_cache(256)
def _list_tool_words(keyed: ToolListKey, language: Language) -> frozenset[str]:
    texts = [text for tool in keyed.tools for text in (tool.name, tool.description)]
    return frozenset[str]().union(*[list_words(text, language) for text in texts])


@lru_cache(256)
def list_settings(setting: Setting) -> tuple[Setting, ...]:
    """The settings that an entry is looked for in, one after the other: where the user has shown no address,
    those that address nobody go first."""
    if not setting.guessed:
        return (setting,)
    return msgspec.structs.replace(setting, address=Address.OTHER, guessed=False), setting


def draw_phrase(
    rng: SeededRandom,
    setting: Setting,
    operator: str,
    part: str,
    *,
    slots: Mapping[str, str] | None = None,
    type: ValueType | None = None,
    used: Collection[str] = (),
    accept: Callable[[Entry], bool] | None = None,
    among: int = ANY,
    own_first: bool = False,
) -> Phrase | None:
    """Draw an entry of a part that fits, and fill its slots; None where no pack has one.

    `slots` are what the conversation fills, `type` is that of `{value}`; what is in `used` isn't drawn again.
    `accept` says of an entry whether it fits where it is to stand, and `among` are those of the shelf that
    do. `own_first`: an entry of the pack of the conversation's own domain goes before all others.
    """
    filled = slots or {}
    shelf, fitting, entries = find_fitting(setting, operator, part, frozenset(filled), type)

    def fits(name: str, entry: Entry) -> bool:
        return name not in used and (accept is None or accept(entry))

    found = None
    if own_first:
        own = fitting & shelf.own
        found = _draw_entry(rng, shelf, entries[: own.bit_count()], own & among, fits, setting.entries)
    found = found or _draw_entry(rng, shelf, entries, fitting & among, fits, setting.entries)
    if found is None:
        return None
    name, entry = found
    return Phrase(name, fill(entry.text, filled, rng), entry.key, entry.parameter)


def _draw_entry(
    rng: SeededRandom,
    shelf: Shelf,
    entries: Sequence[Named],
    among: int,
    fits: Callable[[str, Entry], bool],
    weights: EntryWeights,
) -> Named | None:
    """Draw one of the entries that is among those of the shelf and fits."""
    for _ in range(_TRIES if entries and not weights else 0):
        name, entry = rng.choice(entries)
        if shelf.bits[name] & among and fits(name, entry):
            return name, entry
    left = [one for one in shelf.list(among) if fits(*one)]
    if weights:
        left = shuffle_entries(rng, left, weights)[:1]
    return rng.choice(left) if left else None


_TRIES = 4
"""Draws from all entries before those that fit are looked for: most often the first one does."""


class Fitting(NamedTuple):
    """The entries of a part that fit a conversation."""

    shelf: Shelf
    chosen: int
    entries: tuple[Named, ...]


def list_fitting(
    setting: Setting, operator: str, part: str, slots: frozenset[str] = frozenset()
) -> tuple[Named, ...]:
    """The entries of a part that fit where these slots can be filled, each with its name."""
    return find_fitting(setting, operator, part, slots).entries


def find_fitting(
    setting: Setting,
    operator: str,
    part: str,
    slots: frozenset[str] = frozenset(),
    type: ValueType | None = None,
) -> Fitting:
    """The same, and which of a shelf they are."""
    packs = load(setting.language, setting.domain), load(setting.language, Domain.GENERAL)
    return _fit(_find_shelf(packs, operator, part, setting.half, slots, type, setting.entries), setting)


@lru_cache(1024)
def _find_shelf(
    packs: tuple[Pack | None, Pack | None],
    operator: str,
    part: str,
    half: Half,
    slots: frozenset[str],
    type: ValueType | None,
    entries: EntryWeights,
) -> Shelf:
    """The entries of a part's half that these slots fill, whatever the conversation is about."""
    # Behind the entries of the domain's pack those of the general one.
    own, general = [
        [
            one
            for one in _select_weighty(pack.select_named(operator, part, half), pack, entries)
            if not (one[1].fits and type not in one[1].fits) and _find_needs(one[1].text) <= slots
        ]
        if pack is not None
        else []
        for pack in packs
    ]
    return Shelf([*own, *(general if packs[0] is not packs[1] else ())], len(own))


@lru_cache(256)
def _fit(shelf: Shelf, setting: Setting) -> Fitting:
    said = read_said(setting.opening, setting.language)
    by_tools, served = _find_by_tools(shelf, setting.tools, setting.language)
    fitting = (shelf.about.without | shelf.about.find(said) | by_tools) & ~served
    if setting.address is not None:
        by_address = shelf.group(_ADDRESS)
        fitting &= by_address.get(None, 0) | by_address.get(setting.address, 0)
    return Fitting(shelf, fitting, shelf.list(fitting))


@lru_cache(1024)
def _find_by_tools(shelf: Shelf, tools: frozenset[str], language: Language) -> tuple[int, int]:
    """The entries about what the tools' words speak of, and those that ask for what a tool does. Cached:
    conversations with the same tools begin again and again, and the tools have many words."""
    served = read_words(tools, language)
    return shelf.about.find(served), shelf.served_by.find(served)


_ADDRESS = attrgetter("address")


def _find_needs(text: str) -> frozenset[str]:
    """The slots of a pack's text that a conversation fills."""
    return frozenset(list_slots(text)) - DRAWN_SLOTS


def list_named(pack: Pack, operator: str, part: str, setting: Setting) -> Sequence[Named]:
    """The entries of a part that may be drawn, each with its name."""
    return _select_weighty(pack.select_named(operator, part, setting.half), pack, setting.entries)


def _select_weighty(named: Sequence[Named], pack: Pack, entries: EntryWeights) -> Sequence[Named]:
    return [one for one in named if weigh(f"{pack.name}#{one[1].id}", entries) > 0] if entries else named


@lru_cache(4096)
def weigh(name: str, entries: EntryWeights) -> float:
    """The weight of an entry, `en/travel#same-001`. An exact name goes before a glob, and globs go in their
    order."""
    exact = (weight for one, weight in entries if one == name)
    globs = (weight for one, weight in entries if fnmatchcase(name, one))
    return next(exact, next(globs, 1.0))


def shuffle_entries(rng: SeededRandom, named: Sequence[Named], entries: EntryWeights) -> list[Named]:
    """The entries in random order. The heavier one is, the earlier it comes: as if each were drawn by weight
    from those that are left."""
    if not entries:
        return rng.shuffled(named)
    keys = {name: rng.exponential(1 / weigh(without_version(name), entries)) for name, _ in named}
    return sorted(named, key=lambda one: keys[one[0]])


def without_version(name: str) -> str:
    """An entry's name without its pack's version, which a new one of the pack keeps."""
    return _PACK_VERSION.sub("", name)


_PACK_VERSION = re.compile(r"@\d+")


def fill(text: str, slots: Mapping[str, str], rng: SeededRandom) -> str:
    """The text with its slots filled: the conversation's, and those that are drawn."""
    return SLOT.sub(lambda slot: _fill_slot(slot, slots, rng), text)


def _fill_slot(slot: re.Match[str], slots: Mapping[str, str], rng: SeededRandom) -> str:
    kind, _, given = slot[1].partition(":")
    if kind in slots:
        return slots[kind]
    match kind:
        case "int":
            low, high = (int(bound) for bound in given.split("-"))
            return str(low + int(rng.uniform() * (high - low + 1)))
        case "one":
            return str(rng.choice(given.split("|")))
        case "hex":
            return _draw_hex(rng, int(given))
        case "uuid":
            return "-".join(_draw_hex(rng, size) for size in (8, 4, 4, 4, 12))
        case "time":
            month, day = 1 + int(rng.uniform() * 12), 1 + int(rng.uniform() * 28)
            clock = ":".join(f"{int(rng.uniform() * most):02d}" for most in (24, 60, 60))
            return f"2025-{month:02d}-{day:02d}T{clock}Z"
    raise ValueError(f"slot {slot[0]}: nothing fills it; use one of {', '.join(sorted(DRAWN_SLOTS))}")


def _draw_hex(rng: SeededRandom, digits: int) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(digits))
