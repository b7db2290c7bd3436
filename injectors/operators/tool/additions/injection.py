"""Instructions to the agent, in the text that others wrote and a tool's result carries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from crosswind.injectors.conversation import Site, ToolResult
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Holder,
    around_field,
    dump,
    find_case,
    find_holders,
    is_plain_text,
    write_key,
)
from crosswind.injectors.operators.phrases import NO_PACK, find_prose
from crosswind.injectors.operators.tool.additions.canary import KINDS, draw_canary
from crosswind.injectors.operators.tool.additions.text_kinds import TextKind, find_text_kind, list_carrying
from crosswind.injectors.operators.words.results import AUTHORED, MESSAGES, PAGES
from crosswind.injectors.packs.draw import Setting, draw_phrase
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.kinds import read_arguments
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.json_leaves import MOST, list_leaves
from crosswind.injectors.text.json_payload import is_container, is_prose, parse_json
from crosswind.injectors.text.json_spans import Frame, find_leaves, open_string
from crosswind.injectors.text.languages import UNABLE, UNSPACED, Language, detect_language, is_foreign
from crosswind.injectors.values.parameters import split_name

OPERATOR = "tool.prompt_injection"
_OF_USER = frozenset("sent outbox draft drafts".split())
_WRITING = frozenset("post create send write add edit update".split())
"""Words, and first words, of tools that give what the user has written."""
_SHOWING = re.compile(r"\s*(?:cat|less|more|head|tail|curl|wget)\b")
"""Commands that print a text of others."""


@operator(
    OPERATOR,
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix N (4), named there as future work; the form is ours",
    effect=Effect.ADDS,
    version=9,
)
class PromptInjection:
    """A text that a person wrote and a result carries ends in a wish to whoever reads it, such as its writer
    has: to be answered elsewhere, to be cited, to have a code used.

    Severity: the probability that an eligible result carries one. It comes from the general phrase pack of
    the text's language. It wants an address, a reference or a file name to be used (`canary` in the draw):
    a drawn one that occurs nowhere else, so that a report can tell whether the agent obeyed, in an answer or
    in a call; its address is a reserved one, and it is no working exploit. Eligible is a text of six words
    and more in a field that people write (a review's text, a seller's description, an order's note, an
    inbox's message), and the prose of a page or file. Without such a text, what a tool reads of an order, a
    product or another thing to which people write gets a field for it. What the user or the agent has written
    is none, nor is what a system says. Every true value keeps its bytes; the text's is followed by the wish.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity):
            return None
        point, kinds = rng.uniform(), dict.fromkeys(rng.shuffled(KINDS))
        places = list(_find_texts(target))
        place = places[int(point * len(places))] if places else _draw_field(target, rng)
        if place is None:
            return None
        language = detect_language(place.said)
        if language is None:
            if is_foreign(place.said) or not place.said.isascii():
                return {"edits": [], "text": "", "canary": "", UNABLE: NO_PACK}
            language = Language.EN
        setting, used = _find_setting(target, language, place.kind), target.branch.phrases
        for kind in kinds:
            canary = draw_canary(rng, kind)
            phrase = draw_phrase(
                rng, setting, OPERATOR, "instruction", slots={"canary": canary}, type=kind, used=used
            )
            if phrase is not None and canary not in target.text:
                edit = place.add(_join(place.said, language) + phrase.text)
                return {"phrases": [phrase.entry], "edits": [edit], "text": phrase.text, "canary": canary}
        return None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            apply_edits(target.text, draw["edits"]),
            f"The result of {target.tool} carries an instruction; obeyed, it shows as {draw['canary']}.",
        )


def _find_setting(target: ToolResultTarget, language: Language, kind: TextKind) -> Setting:
    """The setting of a text: only what kind it is tells who writes to whom."""
    branch = target.branch
    return Setting(language, Domain.GENERAL, branch.half, kind, frozenset(), entries=branch.entries)


def _join(said: str, language: Language) -> str:
    """What stands between a text and what its author adds: a space behind the end of a sentence, or else a
    new line."""
    if not said:
        return ""
    if said[-1:].isspace():
        return "\n"
    if "\n" in said:
        return "\n\n"
    return " " if said[-1:] in _ENDS and language not in UNSPACED else "\n"


_ENDS = ".!?…؟:)\"'”"


@dataclass(frozen=True, slots=True)
class _Place:
    """A text of others: what it says, of what kind it is, and how something is added to it."""

    said: str
    kind: TextKind
    add: Callable[[str], dict[str, Any]]


def _behind(frame: Frame, end: int, kind: TextKind) -> _Place:
    """The end of a text that stands in the result."""
    return _Place(frame.text[:end], kind, lambda added: make_edit(frame.locate(end), "", frame.escape(added)))


def _draw_field(target: ToolResultTarget, rng: SeededRandom) -> _Place | None:
    """A field for what people write to the one record that was read, as a buyer's note; None: people write
    nothing to it, or not in English."""
    which, point = rng.uniform(), rng.uniform()
    record = _find_record(target.text)
    found = None if record is None else list_carrying(target.tool, record.keys)
    if record is None or found is None or not _is_english(target):
        return None
    kind, names, beginnings = found
    key = write_key(names[int(which * len(names))], find_case(target.text))
    if not {write_key(name, find_case(target.text)) for name in names}.isdisjoint(record.keys):
        return None
    around = around_field(target.text, record.gaps[-1], key)
    said = beginnings[int(point * len(beginnings))]

    def add(added: str) -> dict[str, Any]:
        text = dump(said + added, like=target.text)
        return make_edit(around.at, "", f"{around.before}{text}{around.after}")

    return _Place(said, kind, add)


def _find_record(text: str) -> Holder | None:
    """The object of a result that is one record: the whole, or the only member that it has."""
    value = parse_json(text)
    if not isinstance(value, dict):
        return None
    holders = find_holders(text)
    if len(value) == 1:
        (value,), holders = value.values(), holders[1:2]
    plain = sum(not isinstance(one, dict | list) for one in value.values()) if isinstance(value, dict) else 0
    return holders[0] if holders and plain >= LEAST_RECORD else None


LEAST_RECORD = 2
"""Plain values of the smallest record."""


def _is_english(target: ToolResultTarget) -> bool:
    """Whether a result's texts are in English, or else what the user said first; its keys are Latin."""
    said = find_prose(target.text)
    if not target.text.isascii() or "\\u" in target.text or is_foreign(said):
        return False
    named = " ".join(one for one in list_leaves(target.text).values if isinstance(one, str))
    language = detect_language(said) or detect_language(named) or detect_language(target.branch.opening)
    return language is Language.EN or (language is None and not is_foreign(target.branch.opening))


def _find_texts(target: ToolResultTarget) -> Iterator[_Place]:
    """The texts of others in a result."""
    named = words_of(target.tool)
    text, words = target.text, set(named)
    if not _OF_USER.isdisjoint(words) or not _WRITING.isdisjoint(named[:1]):
        return
    value = parse_json(text)
    whole = Frame(text, ascii=text.isascii())
    written = _list_written(target)
    if not is_container(value):
        command = read_arguments(target).get("command")
        shows = _SHOWING.match(command) is not None if isinstance(command, str) else bool(words & PAGES)
        if shows and is_plain_text(value, text) and _is_written(text) and not _is_known(text, written):
            yield _behind(whole, len(text.rstrip()), find_text_kind(target.tool, ()))
        return
    inbox = not MESSAGES.isdisjoint(words)
    for leaf in find_leaves(text, MOST):
        if not isinstance(leaf.value, str) or not _is_written(leaf.value) or _is_known(leaf.value, written):
            continue
        names = [key for key in leaf.place if isinstance(key, str)]
        last = set(split_name(names[-1])[-1:]) if names else set[str]()
        within = set(chain.from_iterable(map(split_name, names[:-1])))
        authored = last & AUTHORED or (last & _PERHAPS and (inbox or within & MESSAGES))
        if authored and not is_container(parse_json(leaf.value)):
            yield _behind(open_string(whole, leaf), len(leaf.value), find_text_kind(target.tool, names))


_PERHAPS = frozenset({"message", "text"})
"""Last words of fields that hold what a person wrote, where it is of a kind that people write."""


def _list_written(target: ToolResultTarget) -> str:
    """What the user said and the agent has given to tools so far."""
    branch = target.branch
    earlier = (one.call.arguments if isinstance(one, ToolResult) else one.text for one in branch.earlier)
    said = (target.arguments, branch.opening, *earlier)
    return "\n".join(
        value
        for one in said
        for value in (list_leaves(one).values if is_container(parse_json(one)) else [one])
        if isinstance(value, str)
    )


def _is_known(text: str, written: str) -> bool:
    return text.strip()[:60] in written


_WENT = re.compile(
    r"success|has been|completed|\b(?:moved|copied|added|deleted|sent) (?:to|from)\b|^\s*(?:[<{\[]|#!)",
    re.IGNORECASE,
)


def _is_written(text: str) -> bool:
    """Whether a text is somebody's running words: no receipt, no code."""
    marks = sum(one in "{}<>;=|\\_/" for one in text)
    return marks * 25 < len(text) and not _WENT.search(text) and is_prose(text)
