"""A result's own content, said again: its fields in words, a list in another order, a figure as a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosswind.injectors.operators.insertion import SNAKE, Case, write_key
from crosswind.injectors.operators.tool.facts import split_field
from crosswind.injectors.operators.words import fields
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.languages import Language, detect_language, is_foreign

SAYINGS = (
    *("summary", "message", "description", "overview", "info", "output", "as_text", "formatted", "statement"),
    *("report_text", "result_summary", "plain_text", "human_readable", "output_text", "status_text"),
)
"""Fields in which a system says its fields in words."""
SUFFIXES = ("text", "display", "formatted", "str", "string")
"""Behind a field's name: its figure as a text."""
COUNTS = ("count", "total", "length", "size")
ORDERED = ("sorted", "ordered", "alphabetical", "by_name")
"""Behind a list's name: how many it has, and the same in another order."""
SIZES = (("length", "word_count"), ("char_count", "word_count"), ("chars", "words"), ("characters", "words"))
"""Behind a text's name: how long it is, in characters and words."""
PREVIEWS = ("preview", "excerpt", "snippet", "beginning")
HEADINGS = (
    *("Summary", "Key points", "In brief", "Highlights", "Overview", "At a glance", "Main points", "Recap"),
    *("In short", "Short version", "Notes", "Digest"),
)
LONGEST, MOST_SAID = 60, 3
"""Characters of a text that is said again, and the fields of the largest object of which one text says all:
of more it would be a dump."""


def restate_object(
    value: Mapping[str, Any], rng: SeededRandom, room: float, case: Case, *, local: bool
) -> Iterator[tuple[str, Any]]:
    """Fields that say an object's content again, until there is no more room."""
    pairs = list(_list_pairs(value))
    made = [*_reorder(value, rng, case), *_size(value, rng, case)]
    if len(pairs) <= MOST_SAID:
        made += _say(value, pairs, rng)
    if not local or len(pairs) > MOST_SAID:
        made += write_texts([value], rng, case)
    for key, content in made:
        if key in value:
            continue
        length = len(key) + len(json.dumps(content)) + 6
        if length > room * SLACK and room < LEAST:
            return
        yield (write_key(key, case) if key in SAYINGS else key), content
        room -= length
        if room <= 0:
            return


LEAST = 24
"""Characters for which a restatement is worth it."""
SLACK = 1.5


def _list_pairs(value: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """What an object says, each with its field's name in words."""
    for key, one in value.items():
        camel = key != key.lower() and split_field(key)
        words = (*before, *(camel or re.split("[_-]+", key.strip("_-"))))
        if isinstance(one, dict):
            yield from _list_pairs(one, words[-3:])
        elif isinstance(one, list):
            said = [_write(each) for each in one if not isinstance(each, list | dict) and each is not None]
            if said and len(joined := ", ".join(said)) <= LONGEST:
                yield " ".join(words), joined
        elif one is not None and 0 < len(_write(one)) <= LONGEST:
            yield " ".join(words), _write(one)


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.strip() if isinstance(value, str) else json.dumps(value)


def _say(
    value: Mapping[str, Any], pairs: list[tuple[str, str]], rng: SeededRandom
) -> Iterator[tuple[str, Any]]:
    """One text with the fields in words."""
    key, comma, capital = rng.choice(SAYINGS), rng.choice((", ", "; ")), rng.chance(0.7)
    said = comma.join(f"{name}: {text}" for name, text in pairs)
    if said and key not in value:
        yield key, said[:1].upper() + said[1:] if capital else said


def write_texts(
    records: Sequence[Mapping[str, Any]], rng: SeededRandom, case: Case
) -> Iterator[tuple[str, Any]]:
    """Figures of a record as texts beside them; of several with the same fields, each figure's texts."""
    suffix, first = rng.choice(SUFFIXES), records[0]
    for key in rng.shuffled(sorted(first)):
        named = name_after(key, suffix, case)
        if named not in first and all(_is_figure(key, one.get(key)) for one in records):
            said = [_write_figure(one[key], key, suffix) for one in records]
            yield named, said[0] if len(said) == 1 else said


def _write_figure(value: float, key: str, suffix: str) -> str:
    said = json.dumps(value)
    if suffix not in GROUPED:
        return said
    decimals = len(said.partition(".")[2])
    money = decimals == 1 and not _MONEY.isdisjoint(split_field(key))
    return f"{value:,.2f}" if decimals == 2 or money else f"{value:,}"


_MONEY = frozenset("amount balance cost due fare fee paid price refund salary subtotal tax total".split())
"""Words of fields that hold sums of money, which have two decimals."""
GROUPED = ("display", "formatted")
"""Suffixes of figures that are written for people: with their thousands apart."""


def name_after(key: str, suffix: str, case: Case) -> str:
    """The name of a field that says something of another."""
    return f"{key}_{suffix}" if case == SNAKE or "_" in key else f"{key}{suffix.title().replace('_', '')}"


def _is_figure(key: str, value: Any) -> bool:
    """Whether a value is a figure of a plain field, and names nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not key.isidentifier():
        return False
    return (isinstance(value, float) or abs(value) >= LEAST_FIGURE) and split_field(key)[-1:] not in _NAMING


LEAST_FIGURE = 10
_NAMING = {(word,) for word in fields.NAMING}


def _size(value: Mapping[str, Any], rng: SeededRandom, case: Case) -> Iterator[tuple[str, Any]]:
    """How long the longest text is, and how it begins."""
    (length, words), preview = rng.choice(SIZES), rng.choice(PREVIEWS)
    share = 0.35 + 0.3 * rng.uniform()
    texts = {
        key: one for key, one in value.items() if isinstance(one, str) and len(one) > LONG_TEXT and " " in one
    }
    if texts:
        key = max(texts, key=lambda name: (len(texts[name]), name))
        whole = texts[key]
        yield name_after(key, length, case), len(whole)
        if whole.isascii():  # Not each language parts its words.
            yield name_after(key, words, case), len(whole.split())
        cut = whole[: min(LONGEST_PREVIEW, int(len(whole) * share))].rsplit(" ", 1)[0]
        yield name_after(key, preview, case), cut.rstrip(" .,;:") + "..."


LONG_TEXT, LONGEST_PREVIEW = 60, 400


def _reorder(value: Mapping[str, Any], rng: SeededRandom, case: Case) -> Iterator[tuple[str, Any]]:
    """The longest list of texts in another order, with how many it has."""
    texts = {
        key: one
        for key, one in value.items()
        if isinstance(one, list) and len(one) > 1 and all(isinstance(each, str) for each in one)
    }
    key = max(texts, key=lambda name: (len(texts[name]), name), default=None)
    if key is None:
        return
    ordered, named, count = sorted(texts[key]), rng.choice(ORDERED), rng.choice(COUNTS)
    if not {*COUNTS, f"{key}_count"} & value.keys():
        yield name_after(key, count, case), len(ordered)
    if ordered != texts[key]:
        yield name_after(key, named, case), ordered


_SENTENCE = re.compile(r"(?<=[.!?。！？؟])\s+|(?<=[。！？])|\n+")


def restate_text(text: str, rng: SeededRandom, room: float) -> list[str]:
    """Lines that say some of a text's sentences again, in their order; in English under a heading."""
    sentences = [one.strip() for one in _SENTENCE.split(text[:LONGEST_TEXT]) if len(one.strip()) > SHORTEST]
    heading, mark = rng.choice(HEADINGS), rng.choice(("- ", "* ", "\u2022 ", ""))
    if len(sentences) < LEAST_SENTENCES:
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
