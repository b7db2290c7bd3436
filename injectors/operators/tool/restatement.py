"""A result's own content, said again: its fields in words, a list in another order, a figure as a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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
LISTINGS = (
    *("fields", "lines", "details", "output_lines", "report", "summary_lines", "status_lines", "properties"),
    *("attributes", "key_values"),
)
SUFFIXES = ("text", "display", "formatted", "str", "string")
"""Behind a field's name: its figure or flag as a text."""
COUNTS = ("count", "total", "total_count", "num_items")
ORDERED = ("sorted", "ordered", "alphabetical", "by_name", "sorted_by_name")
LABELS = (
    *(
        "label",
        "display",
        "display_text",
        "short",
        "one_line",
        "short_text",
        "caption",
        "headline",
        "listing",
    ),
    *("brief", "short_description", "list_text", "item_text", "text_line"),
)
"""Fields in which a record of a list says its fields."""
SIZES = (("length", "word_count"), ("char_count", "word_count"), ("size", "words"), ("characters", "words"))
"""How long a text is, in characters and words."""
PREVIEWS = ("preview", "excerpt", "snippet", "beginning")
HEADINGS = (
    *("Summary", "Key points", "In brief", "Highlights", "Overview", "At a glance", "Main points", "Recap"),
    *("In short", "Short version", "Notes", "Digest"),
)
LONGEST, MOST = 60, 24
"""Characters of a text that is said again, and the most of a result's fields."""


def restate_object(
    value: Mapping[str, Any], rng: SeededRandom, room: float, case: Case, *, local: bool
) -> Iterator[tuple[str, Any]]:
    """Fields that say an object's content again, until there is no more room."""
    pairs = list(_list_pairs(value))[:MOST]
    kinds = [_say, _list] if local else [_write_texts, _say, _list]
    made = [*_reorder(value, rng), *_size(value, rng)]
    for kind in rng.shuffled(kinds):
        made += kind(value, pairs, rng, max(room, LEAST), case)
    for key, content in made:
        if key in value:
            continue
        length = len(key) + len(json.dumps(content)) + 6
        if length > room * SLACK and room < LEAST:
            return
        yield write_key(key, case), content
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
    value: Mapping[str, Any], pairs: list[tuple[str, str]], rng: SeededRandom, room: float, case: Case
) -> Iterator[tuple[str, Any]]:
    """One text with the fields in words."""
    key, colon = rng.choice(SAYINGS), rng.choice((": ", ": ", " ")) if len(pairs) > 1 else ": "
    comma = rng.choice((", ", "; ", " | "))
    said, capital = "", rng.chance(0.5)
    for name, text in pairs:
        longer = f"{said}{comma if said else ''}{name}{colon}{text}"
        if said and len(longer) > room * SLACK:
            break
        said = longer
    if said and key not in value:
        yield key, said[:1].upper() + said[1:] if capital else said


def _list(
    value: Mapping[str, Any], pairs: list[tuple[str, str]], rng: SeededRandom, room: float, case: Case
) -> Iterator[tuple[str, Any]]:
    """The fields as a list of texts."""
    key, colon = rng.choice(LISTINGS), rng.choice((": ", "=", " = "))
    lines = [f"{name}{colon}{text}" for name, text in pairs]
    while len(lines) > 1 and sum(map(len, lines)) > room * SLACK:
        lines.pop()
    if len(lines) > 1 and key not in value:
        yield key, lines


def _write_texts(
    value: Mapping[str, Any], pairs: list[tuple[str, str]], rng: SeededRandom, room: float, case: Case
) -> Iterator[tuple[str, Any]]:
    """Figures and flags as texts beside them."""
    suffix = rng.choice(SUFFIXES)
    for key in rng.shuffled(sorted(value)):
        if (named := name_text(key, suffix, case)) not in value and _is_figure(key, value[key]):
            yield named, _write(value[key])


def name_text(key: str, suffix: str, case: Case) -> str:
    """The name of the field that holds another's content as a text."""
    return f"{key}_{suffix}" if case == SNAKE or "_" in key else f"{key}{suffix.capitalize()}"


def _is_figure(key: str, value: Any) -> bool:
    """Whether a value is a figure or a flag, and names nothing."""
    return isinstance(value, int | float) and split_field(key)[-1:] not in _NAMING


_NAMING = {(word,) for word in fields.NAMING}


def label_records(records: list[Any], rng: SeededRandom) -> tuple[str, list[str]] | None:
    """A field that says what each record does, with its texts; None where a record says too little."""
    key, comma, named = rng.choice(LABELS), rng.choice((", ", " | ", " - ", "; ")), rng.chance(0.5)
    said = []
    for one in records:
        pairs = list(_list_pairs(one))[:MOST_OF_RECORD]
        texts = [text for _, text in pairs[:1]] + [
            f"{name} {text}" if named else text for name, text in pairs[1:]
        ]
        said.append(comma.join(texts))
        if len(pairs) < LEAST_OF_RECORD or key in one:
            return None
    return key, said


LEAST_OF_RECORD, MOST_OF_RECORD = 2, 6


def _size(value: Mapping[str, Any], rng: SeededRandom) -> Iterator[tuple[str, Any]]:
    """How long the longest text is, and how it begins."""
    (length, words), preview = rng.choice(SIZES), rng.choice(PREVIEWS)
    share = 0.35 + 0.3 * rng.uniform()
    texts = [one for one in value.values() if isinstance(one, str) and len(one) > LONG_TEXT and " " in one]
    if texts:
        whole = max(texts, key=lambda one: (len(one), one))
        yield length, len(whole)
        yield words, len(whole.split())
        cut = whole[: min(LONGEST_PREVIEW, int(len(whole) * share))].rsplit(" ", 1)[0]
        yield preview, cut.rstrip(" .,;:") + "..."


LONG_TEXT, LONGEST_PREVIEW = 60, 400


def _reorder(value: Mapping[str, Any], rng: SeededRandom) -> Iterator[tuple[str, Any]]:
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
    if count not in value:
        yield count, len(ordered)
    if ordered != texts[key] and named not in value:
        yield named, ordered


_SENTENCE = re.compile(r"(?<=[.!?。！？؟])\s+|(?<=[。！？])|\n+")


def restate_text(text: str, rng: SeededRandom, room: float) -> list[str]:
    """Lines that say some of a text's sentences again, in their order; in English under a heading."""
    sentences = [one.strip() for one in _SENTENCE.split(text[:LONGEST_TEXT]) if len(one.strip()) > SHORTEST]
    heading, mark = rng.choice(HEADINGS), rng.choice(("- ", "* ", "\u2022 ", ""))
    chosen: list[int] = []
    for at in rng.shuffled(range(len(sentences))):
        if chosen and len(sentences[at]) > room:
            continue
        chosen.append(at)
        room -= len(sentences[at])
        if room <= 0:
            break
    lines = [f"{mark if len(chosen) > 1 else ''}{sentences[at]}" for at in sorted(chosen)]
    english = not is_foreign(text[:LONGEST_TEXT]) and detect_language(text) in (None, Language.EN)
    if not lines or not english:
        return lines
    return [f"{heading}: {lines[0]}"] if len(lines) == 1 else [f"{heading}:", *lines]


LONGEST_TEXT, SHORTEST = 8_000, 3
