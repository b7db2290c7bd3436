"""A result's own content, said again as systems say it: in a sentence, as texts for display, with the request
and its address."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import READING
from crosswind.injectors.operators.insertion import Case
from crosswind.injectors.operators.tool.additions.display_texts import display, is_readable
from crosswind.injectors.operators.tool.facts import split_field
from crosswind.injectors.operators.words.empty_fields import AMISS
from crosswind.injectors.operators.words.restatements import (
    CALLED,
    COUNTS,
    ECHOES,
    EXCERPTS,
    EXITS,
    HEADINGS,
    JOINED,
    LABELS,
    MESSAGES,
    NAMES,
    PARTICIPLES,
    PLACES,
    PRINTED,
    QUERIES,
    READINGS,
    SELF,
    SUFFIXES,
    TYPES,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.calls import SECRET, pluralise
from crosswind.injectors.stacks.kinds import find_kinds, read_arguments
from crosswind.injectors.stacks.model import ToolKind
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_payload import is_prose
from crosswind.injectors.text.languages import Language, detect_language, is_foreign

Fields = list[tuple[str, Any]]
"""Fields that say one thing: the more of them there is room for, the more are added."""


def restate_object(
    target: ToolResultTarget, value: Mapping[str, Any], rng: SeededRandom, case: Case, *, local: bool
) -> list[Fields]:
    """Fields that say an object's content again, in random order."""
    kinds = find_kinds(target, "")
    device = ToolKind.DEVICE in kinds
    made = [
        list(_say(target, value, rng, device=device)),
        list(_echo(target, rng, local=local)),
        list(write_texts([value], rng, case)),
        list(_excerpt(value, rng)),
        list(_count(value, rng, case)),
    ]
    if device:
        made.append(list(_list_readings(value, rng)))
    elif ToolKind.SHELL in kinds:
        made.append(list(_print(value, rng)))
    elif not local:
        made += [list(_address(target, [value], rng)), list(_label(target, value, rng))]
    return rng.shuffled([one for one in made if one])


def restate_records(
    target: ToolResultTarget, records: Sequence[Mapping[str, Any]], rng: SeededRandom, case: Case
) -> list[Fields]:
    """Fields that say the content of each of several records again, each as a list of the records' values."""
    first, size = records[0], len(records)
    made: list[Fields] = [list(write_texts(records, rng, case)), list(_address(target, records, rng))]
    place, noun = rng.choice(PLACES), _find_noun(target)
    if not {*PLACES} & first.keys():
        made.append([(place, [at + 1 for at in range(size)])])
    if noun and not {*TYPES} & first.keys():
        made.append([(rng.choice(TYPES), [noun] * size)])
    names = [key for key in first if split_field(key) == ("name",)]
    if names and all(isinstance(one.get(names[0]), str) for one in records):
        key = rng.choice(NAMES)
        made.append([(key, [one[names[0]] for one in records])])
    return rng.shuffled([one for one in made if one])


def _say(
    target: ToolResultTarget, value: Mapping[str, Any], rng: SeededRandom, *, device: bool
) -> Iterator[tuple[str, Any]]:
    """One sentence on how the call went, or on a device's state."""
    key, which = rng.choice(MESSAGES), rng.uniform()
    texts = [*_tell_state(value)] if device else [*_tell_change(target)]
    own = {word for one in value for word in split_field(one)}
    if texts and not AMISS.search(target.text) and _SAYING.isdisjoint(own):
        yield key, texts[int(which * len(texts))]


_SAYING = frozenset({"message", "msg", "detail", "result"})


def _tell_state(value: Mapping[str, Any]) -> Iterator[str]:
    """What state a device is in, and its readings, where they are few."""
    states = [(split_field(key), one) for key, one in value.items() if isinstance(one, str) and one.isalpha()]
    readings = {
        " ".join(split_field(key)): one
        for key, one in value.items()
        if isinstance(one, int | float) and not isinstance(one, bool) and is_readable(one)
    }
    said = ", ".join(f"{name} {one}" for name, one in readings.items())
    if len(states) != 1 or not 2 <= len(states[0][0]) <= MOST_STATE or len(readings) > MOST_SAID:
        if readings and len(readings) == len(value) <= MOST_SAID:
            yield f"{said[:1].upper()}{said[1:]}"
        return
    words, state = states[0]
    state = state.lower()
    noun = " ".join(words[:-1]).capitalize()
    about = state.capitalize() if noun[:4].lower() in state else f"{noun} {state}"
    yield about
    if said:
        yield f"{about}, {said}"
        yield f"{about}. {said[:1].upper()}{said[1:]}."


MOST_STATE, MOST_SAID = 3, 3


def _tell_change(target: ToolResultTarget) -> Iterator[str]:
    """That the call did what its name says."""
    verb, *rest = words_of(target.tool) or [""]
    noun = " ".join(_cut_prepositions(rest))
    done = PARTICIPLES.get(verb)
    if verb in READING:
        if noun and target.text.lstrip()[:1] == "{":
            yield from (f"{noun.capitalize()} {one}" for one in ("retrieved", "found"))
            yield from (f"{noun.capitalize()} read successfully.", f"Here is the {noun}.", f"Fetched {noun}.")
            yield from ("Success", "Query successful")
    elif done and noun:
        yield from (f"{noun.capitalize()} {done}", f"{noun.capitalize()} {done} successfully.")
        yield from (f"{noun.capitalize()} has been {done}.", f"Successfully {done}", done.capitalize())
    else:
        yield from ("Success", "OK", "Processed successfully.", "Done")


def _cut_prepositions(words: Sequence[str]) -> list[str]:
    """The noun of a tool's name, without what follows it: `stock order` of `place_stock_order_by_id`."""
    for at, word in enumerate(words):
        if word in _PREPOSITIONS or word == "based":
            return list(words[:at])
    return list(words)


_PREPOSITIONS = frozenset("by for of in from to with on at as using via and or".split())


def _echo(target: ToolResultTarget, rng: SeededRandom, *, local: bool) -> Iterator[tuple[str, Any]]:
    """What was asked for, or the command that was carried out."""
    asks = not local and READING.issuperset(words_of(target.tool)[:1])
    key, named = rng.choice(QUERIES if asks else ECHOES), rng.choice(CALLED)
    given = dict(read_arguments(target))
    if local and rng.chance(0.5):
        yield named, target.tool
    if given and not any(map(SECRET.search, given)) and len(str(given)) <= LONGEST_ECHO:
        yield key, given


LONGEST_ECHO = 300


def _list_readings(value: Mapping[str, Any], rng: SeededRandom) -> Iterator[tuple[str, Any]]:
    """A device's readings as a list; what is only said, as a state, isn't among them."""
    key = rng.choice(READINGS)
    name, said = rng.choice(("name", "signal", "key", "id")), rng.choice(("value", "value", "reading"))
    plain = {name: one for name, one in value.items() if type(one) in (int, float) and is_readable(one)}
    if 1 < len(plain) <= MOST_READINGS:
        yield key, [{name: own, said: one} for own, one in plain.items()]


MOST_READINGS = 12


def _print(value: Mapping[str, Any], rng: SeededRandom) -> Iterator[tuple[str, Any]]:
    """What a command printed, as the text that it was."""
    key, end = rng.choice(PRINTED), rng.choice(("", "", "\n"))
    if len(value) == 1:
        (only,) = value.values()
        lines = only if isinstance(only, list) else [only]
        if lines and all(isinstance(one, str) for one in lines):
            yield key, "\n".join(lines) + end
            yield rng.choice(EXITS), 0


def _address(
    target: ToolResultTarget, records: Sequence[Mapping[str, Any]], rng: SeededRandom
) -> Iterator[tuple[str, Any]]:
    """The address of each record: its kind and its id."""
    key, nested = rng.choice(SELF), rng.chance(0.4)
    root = rng.choice(("", "/api", "/v1", "/api/v1", "/v2"))
    noun = _find_noun(target)
    own = [one for one in records[0] if split_field(one) in (("id",), (noun, "id"))]
    ids = [one.get(own[0]) if own else None for one in records]
    if not noun or not all(isinstance(one, str | int) and re.fullmatch(r"[\w.-]+", str(one)) for one in ids):
        return
    paths = [f"{root}/{pluralise(noun)}/{one}" for one in ids]
    told: list[Any] = [{"self": one} for one in paths] if nested else list(paths)
    key = rng.choice(("links", "_links")) if nested else key
    yield key, told if len(records) > 1 else told[0]


def _find_noun(target: ToolResultTarget) -> str:
    """What a tool's name speaks of, in the singular; empty where it doesn't say."""
    words = [one for one in _cut_prepositions(words_of(target.tool)[1:]) if one not in _NO_NOUNS]
    noun = words[-1] if words else ""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun.removesuffix("s") if not noun.endswith(("ss", "us")) else noun


_NO_NOUNS = frozenset(
    """id info details detail status data list all results history my new current available search schedule
    calendar query lookup web timeline feed portfolio watchlist""".split()
)


def _label(
    target: ToolResultTarget, value: Mapping[str, Any], rng: SeededRandom
) -> Iterator[tuple[str, Any]]:
    """A name for display: the record's own, alone or with its id; a user's for nothing but a user."""
    key, plain = rng.choice(LABELS), rng.chance(0.5)
    user = _find_noun(target) in ("user", "profile")
    naming = _LABELLING | {("username",)} if user else _LABELLING
    name = next((one for key, one in value.items() if split_field(key)[-1:] in naming), None)
    ids = [one for key, one in value.items() if split_field(key)[-1:] == ("id",)]
    if isinstance(name, str) and 0 < len(name) <= LONGEST_LABEL:
        yield key, name if plain or user or not ids else f"{name} ({ids[0]})"


_LABELLING = frozenset({("name",), ("title",), ("subject",)})
LONGEST_LABEL = 60


def write_texts(
    records: Sequence[Mapping[str, Any]], rng: SeededRandom, case: Case
) -> Iterator[tuple[str, Any]]:
    """Figures and dates of a record as people read them; of several alike, each one's texts."""
    suffix, style, first = rng.choice(SUFFIXES), rng.integer(0, 3), records[0]
    currency = next((one for key, one in first.items() if split_field(key)[-1:] == ("currency",)), None)
    for key in rng.shuffled(sorted(first)):
        named = name_after(key, suffix, case)
        said = [display(key, one.get(key), style, currency) for one in records]
        if named not in first and all(one is not None for one in said):
            yield named, said[0] if len(said) == 1 else said


def name_after(key: str, suffix: str, case: Case) -> str:
    """The name of a field that says something of another."""
    return f"{key}_{suffix}" if case.separator == "_" or "_" in key else f"{key}{suffix.title()}"


def _excerpt(value: Mapping[str, Any], rng: SeededRandom) -> Iterator[tuple[str, Any]]:
    """How the longest text begins."""
    named, share = rng.choice(EXCERPTS), 0.35 + 0.3 * rng.uniform()
    texts = {
        key: one for key, one in value.items() if isinstance(one, str) and len(one) > LONG_TEXT and " " in one
    }
    if texts and named not in value:
        whole = max(texts.values(), key=len)
        cut = whole[: min(LONGEST_EXCERPT, int(len(whole) * share))].rsplit(" ", 1)[0]
        yield named, cut.rstrip(" .,;:") + "..."


LONG_TEXT, LONGEST_EXCERPT = 120, 400


def _count(value: Mapping[str, Any], rng: SeededRandom, case: Case) -> Iterator[tuple[str, Any]]:
    """How many the longest list has, and a list of words in one text."""
    count, joined = rng.choice(COUNTS), rng.choice(JOINED)
    lists = {key: one for key, one in value.items() if isinstance(one, list) and len(one) > 1}
    key = max(lists, key=lambda name: (len(lists[name]), name), default=None)
    if key is None:
        return
    if not {*COUNTS, f"{key}_count", f"num_{key}"} & value.keys():
        yield (count if len(lists) == 1 else name_after(key, "count", case)), len(lists[key])
    if all(isinstance(one, str) and len(one) <= LONGEST_WORD for one in lists[key]):
        yield name_after(key, joined, case), ", ".join(lists[key])


LONGEST_WORD = 30

_NO_END = r"(?<!\b\d\.)(?<!\b\d\d\.)(?<!\b[^\W\d_]\.)" + "".join(
    rf"(?<!\b{word}\.)"
    for word in "Dr Mr Mrs Ms St No Nr Jr Sr Prof vs ca Ca approx Approx Abs Art Fig Bd Tel Sra Mme".split()
)
"""The dot of an ordinal (`18. August`), an initial (`H. Lindqvist`) or one of these ends no sentence."""
_SENTENCE = re.compile(rf"(?<=[.!?。！？؟]){_NO_END}\s+|(?<=[。！？])|(?:{_NO_END}|(?=\n[\W\d_]))\n+")


def restate_text(text: str, rng: SeededRandom, room: float) -> list[str]:
    """Lines that say some of a text's sentences again, in their order; in English under a heading. None of
    what is no running text."""
    parts = [" ".join(one.split()) for one in _SENTENCE.split(text[:LONGEST_TEXT])]
    sentences = [one for one in parts if len(one) > SHORTEST]
    heading, mark = rng.choice(HEADINGS), rng.choice(("- ", "* ", "\u2022 ", ""))
    if len(sentences) < LEAST_SENTENCES or not is_prose(text):
        return []
    chosen: list[int] = []
    for at in rng.shuffled(range(len(sentences))):
        if chosen and len(sentences[at]) > room:
            continue
        chosen.append(at)
        room -= len(sentences[at])
        if room <= 0 or len(chosen) == len(sentences) - 1:
            break
    lines = [f"{mark if len(chosen) > 1 else ''}{sentences[at]}" for at in sorted(chosen)]
    english = not is_foreign(text[:LONGEST_TEXT]) and detect_language(text) in (None, Language.EN)
    if not lines or not english:
        return lines
    return [f"{heading}: {lines[0]}"] if len(lines) == 1 else [f"{heading}:", *lines]


LONGEST_TEXT, SHORTEST, LEAST_SENTENCES = 8_000, 3, 2
