"""Draw a phrase from the packs that fits a conversation: its language, domain, tools and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain

import msgspec

from crosswind.injectors.conversation import ToolList, ToolListKey
from crosswind.injectors.packs.domains import detect_domain, list_all_stems, list_text_stems, split_words
from crosswind.injectors.packs.load import load
from crosswind.injectors.packs.model import SLOT, Entry, Pack, list_slots
from crosswind.injectors.packs.parts import DRAWN_SLOTS, Address, Domain
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import EntryWeights, Half
from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.values.parameters import ValueType

JOINED = UNSPACED | {Language.AR}
"""Languages that write words together: a stem is found anywhere in their texts."""


class Setting(msgspec.Struct, frozen=True, gc=False):
    """What of a conversation decides which phrases fit it."""

    language: Language
    domain: Domain
    half: Half
    opening: frozenset[str]
    """The words of how its user opened it, in lower case; of a language that joins words the text, too."""
    tools: frozenset[str]
    """The words of its tools' names and descriptions."""
    address: Address | None = None
    """How its user addresses the agent, where the language has two ways and the user has shown one."""
    entries: EntryWeights = ()
    """How often the rule draws which entries."""


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
) -> Setting:
    """The setting of a conversation, by its tools and how its user opened it: neither changes later."""
    make = _short_setting if len(opening) <= _REMEMBERED else _long_setting
    return make(ToolListKey(tools), opening, language, half, address, entries)


def _make_setting(
    keyed: ToolListKey,
    opening: str,
    language: Language,
    half: Half,
    address: Address | None,
    entries: EntryWeights,
) -> Setting:
    said, domain = frozenset(_split(opening, language)), detect_domain(keyed.tools, opening)
    return Setting(language, domain, half, said, _list_tool_words(keyed, language), address, entries)


@lru_cache(256)
def _list_tool_words(keyed: ToolListKey, language: Language) -> frozenset[str]:
    texts = [text for tool in keyed.tools for text in (tool.name, tool.description)]
    return frozenset(chain.from_iterable([_split(text, language) for text in texts]))


_REMEMBERED = 8_192
"""Characters of the longest opening of which many are remembered."""
_short_setting, _long_setting = lru_cache(256)(_make_setting), lru_cache(16)(_make_setting)


def _split(text: str, language: Language) -> tuple[str, ...]:
    return (*split_words(text), text.lower()) if language in JOINED else split_words(text)


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
    own: bool = False,
) -> Phrase | None:
    """Draw an entry of a part that fits, and fill its slots; None where no pack has one.

    `slots` are what the conversation fills, `type` is that of `{value}`; what is in `used` isn't drawn again,
    and `accept` says of an entry whether it fits where it is to stand. `own`: only the pack of the
    conversation's own domain is drawn from.
    """
    filled = slots or {}
    entries = (_list_own if own else list_fitting)(setting, operator, part, frozenset(filled), type)
    for _ in range(_TRIES if entries and not setting.entries else 0):
        name, entry = rng.choice(entries)
        if name not in used and (accept is None or accept(entry)):
            break
    else:
        fitting = [one for one in entries if one[0] not in used and (accept is None or accept(one[1]))]
        if not fitting:
            return None
        if setting.entries:
            fitting = shuffle_entries(rng, fitting, setting.entries)[:1]
        name, entry = rng.choice(fitting)
    return Phrase(name, fill(entry.text, filled, rng), entry.key, entry.parameter)


_TRIES = 4
"""Draws from all entries before those that fit are looked for: most often the first one does."""


Listener = Callable[[tuple[str, ...]], bool]
"""Tells whether a word of one of these stems was said."""


@lru_cache(256)
def list_fitting(
    setting: Setting,
    operator: str,
    part: str,
    slots: frozenset[str] = frozenset(),
    type: ValueType | None = None,
) -> tuple[tuple[str, Entry], ...]:
    """The entries of a part that fit where these slots can be filled, each with its name. Remembered: a
    conversation's words are held against all stems of a part."""
    said = _listen((setting.opening, setting.tools), setting.language)
    served = _listen((setting.tools,), setting.language)
    fitting: list[tuple[str, Entry]] = []
    # Behind the entries of the domain's pack those of the general one.
    for domain in dict.fromkeys((setting.domain, Domain.GENERAL)):
        pack = load(setting.language, domain)
        if pack is not None:
            found = _list_fillable(pack, (operator, part, setting.half, slots, type))
            named = _select_weighty(found, pack, setting.entries)
            fitting += [one for one in named if _fits(one[1], setting.address, said, served)]
    return tuple(fitting)


@lru_cache(256)
def _list_own(
    setting: Setting, operator: str, part: str, slots: frozenset[str], type: ValueType | None
) -> tuple[tuple[str, Entry], ...]:
    """The fitting entries of the domain's own pack."""
    beginning = f"{setting.language}/{setting.domain}@"
    found = list_fitting(setting, operator, part, slots, type)
    return tuple(one for one in found if one[0].startswith(beginning))


def _list_fillable(
    pack: Pack, wanted: tuple[str, str, Half, frozenset[str], ValueType | None]
) -> Sequence[tuple[str, Entry]]:
    """The entries of a part's half that these slots fill, whatever the conversation is about."""
    if wanted not in pack.fillable:
        operator, part, half, slots, type = wanted
        pack.fillable[wanted] = [
            one
            for one in pack.select_named(operator, part, half)
            if not (one[1].fits and type not in one[1].fits) and _find_needs(one[1].text) <= slots
        ]
    return pack.fillable[wanted]


def list_named(pack: Pack, operator: str, part: str, setting: Setting) -> Sequence[tuple[str, Entry]]:
    """The entries of a part that may be drawn, each with its name."""
    return _select_weighty(pack.select_named(operator, part, setting.half), pack, setting.entries)


def _select_weighty(
    named: Sequence[tuple[str, Entry]], pack: Pack, entries: EntryWeights
) -> Sequence[tuple[str, Entry]]:
    return [one for one in named if weigh(f"{pack.name}#{one[1].id}", entries) > 0] if entries else named


@lru_cache(4096)
def weigh(name: str, entries: EntryWeights) -> float:
    """The weight of an entry, `en/travel#same-001`. An exact name goes before a glob, and globs go in their
    order."""
    exact = (weight for one, weight in entries if one == name)
    globs = (weight for one, weight in entries if fnmatchcase(name, one))
    return next(exact, next(globs, 1.0))


def shuffle_entries(
    rng: SeededRandom, named: Sequence[tuple[str, Entry]], entries: EntryWeights
) -> list[tuple[str, Entry]]:
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


def _fits(entry: Entry, address: Address | None, said: Listener, served: Listener) -> bool:
    if entry.address is not None and address not in (None, entry.address):
        return False
    if entry.about and not said(entry.about):
        return False
    return not (entry.served_by and served(entry.served_by))


def _listen(said: tuple[frozenset[str], ...], language: Language) -> Listener:
    if language in JOINED:
        return lambda stems: _is_said(stems, said, language)
    heard = frozenset[str]().union(*map(_list_stems, said))
    return lambda stems: not heard.isdisjoint(_lower(stems))


@lru_cache(16_384)
def _find_needs(text: str) -> frozenset[str]:
    """The slots of a pack's text that a conversation fills."""
    return frozenset(list_slots(text)) - DRAWN_SLOTS


def _is_said(stems: tuple[str, ...], said: tuple[frozenset[str], ...], language: Language) -> bool:
    """Whether one of the stems is in one of these sets of words."""
    if language in JOINED and any(
        stem[:2] in pairs and stem in text
        for stem in stems
        if not stem.isascii()
        for text, pairs in map(_join, said)
    ):
        return True
    wanted = _lower(stems)
    for words in said:  # noqa: SIM110 a generator costs more than most look-ups
        if not _list_stems(words).isdisjoint(wanted):
            return True
    return False


@lru_cache(64)
def _join(words: frozenset[str]) -> tuple[str, frozenset[str]]:
    """The words that aren't plain ASCII as one text, and its letters, single and in pairs: hardly a stem that
    isn't in the text begins with one of these, so that a long text is seldom searched."""
    text = "\n".join(word for word in words if not word.isascii())
    return text, frozenset(text).union(map(str.__add__, text, text[1:]))


@lru_cache(16_384)
def _lower(stems: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(str.lower, stems))


def speaks_of(text: str, stems: tuple[str, ...], language: Language) -> bool:
    """Whether a text has a word of one of these stems."""
    if language in JOINED:
        return _is_said(stems, (_read_words(text, language),), language)
    has = _short_text_stems if len(text) <= _REMEMBERED else list_text_stems
    return not has(text).isdisjoint(_lower(stems))


@lru_cache(64)
def _read_words(text: str, language: Language) -> frozenset[str]:
    return frozenset(_split(text, language))


_short_text_stems = lru_cache(64)(list_text_stems)


@lru_cache(64)
def _list_stems(words: frozenset[str]) -> frozenset[str]:
    return list_all_stems(words)


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
