"""Fields of little use in a result, as APIs give them: of the record, and of its domain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Addition,
    Case,
    Holder,
    around_field,
    around_line,
    dump,
    find_case,
    find_holders,
    find_line_gaps,
    insert,
    is_plain_text,
    replace_contents,
    write_contents,
    write_key,
)
from crosswind.injectors.operators.model_text import read_general_lines
from crosswind.injectors.operators.phrases import NO_PACK, find_setting
from crosswind.injectors.operators.tool.described_call import describe_call
from crosswind.injectors.packs.draw import fill, list_fitting, shuffle_entries
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, EntryWeights, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.languages import UNABLE
from crosswind.injectors.wording import written_form

LEAST, MOST = 0.8, 1.8
"""For each character of a result, uniform(0.8, 1.8) x severity characters are added."""

SHORTEST = 48
"""Characters for which a very short result has room: one field."""

MOST_FIELDS = 10
"""Fields of one record; the paper's example has seven."""

LINES = ("{key}: {content}", "{key}={content}", "{words}: {content}", "{key}\t{content}", "[{key}] {content}")
"""How texts show fields. One way goes through a result."""


@operator(
    "tool.redundant",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    aliases=("tool-redundancy",),
    source="NoisyAgent section 3.1 (4); AgentNoiseBench section 2.2.1, appendix B (its example drops fields)",
    effect=Effect.ADDS,
    version=2,
)
class RedundantResult:
    """The answer stands among fields that nobody asked for: when the record was written and by whom, hashes,
    shards, debug ids, flags of its domain.

    Severity: uniform(0.8, 1.8) x severity characters are added for each of the result's own, so that at the
    papers' 0.7 most results are 1.5 to 2.3 times as long; a record gets ten fields at most, and a very short
    one may be tripled by its first. The fields come from the phrase packs of the conversation's domain and
    language. Objects get them among their own, in the result's naming convention, each record of a list the
    same ones with its own values; plain text gets lines before, behind or between its paragraphs. Every true
    value keeps its bytes; other JSON is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text = target.text
        value = parse_json(text)
        room = severity * max(rng.uniform(LEAST, MOST) * len(text), SHORTEST)
        if not (is_container(value) or is_plain_text(value, text)):
            return None
        setting = find_setting(target)
        if setting is None:
            return {"phrases": [], "added": [], UNABLE: NO_PACK}
        fitting = list_fitting(setting, "tool.redundant", "field")
        unmet = [one for one in fitting if one[0] not in target.branch.phrases] or fitting
        entries = _shuffle(unmet, rng, setting.entries)
        fields = _Fields(text, rng, room)
        if is_container(value):
            records = _find_records(text, value)
            fields.add_to_records(records, entries, find_case(text))
        else:
            fields.add_lines(find_line_gaps(text), entries)
        return {"phrases": fields.names, "added": fields.added} if fields.added else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        note = f"{len(draw['added'])} parts of little use were added to the result of {target.tool}."
        return Result(insert(target.text, draw["added"]), note)


def _shuffle(
    entries: Sequence[tuple[str, Entry]], rng: SeededRandom, weights: EntryWeights
) -> list[tuple[str, Entry]]:
    """The entries in random order, those of the domain earlier than the general ones."""
    if weights:
        return shuffle_entries(rng, entries, weights)
    keys = [rng.uniform() * (GENERAL_LATER if f"/{Domain.GENERAL}@" in name else 1) for name, _ in entries]
    return [one for _, one in sorted(zip(keys, entries, strict=True), key=lambda one: one[0])]


GENERAL_LATER = 2.5
"""How much rarer a general field is than one of the domain."""


def _find_records(text: str, value: Any) -> Sequence[Holder]:
    """The records of a result's lists; without any, all of its objects."""
    holders = find_holders(text)
    in_lists = len(holders) > 2 and len({holder.keys for holder in holders[1:]}) < len(holders) - 1
    return holders[1:] if in_lists and isinstance(value, dict) else holders


class _Fields:
    """Fields that are drawn until there is no more room."""

    def __init__(self, text: str, rng: SeededRandom, room: float) -> None:
        self._text, self._rng, self._room = text, rng, room
        self._point = rng.uniform()
        self.names: list[str] = []
        self.added: list[Addition] = []

    def add_to_records(
        self, records: Sequence[Holder], entries: Sequence[tuple[str, Entry]], case: Case
    ) -> None:
        taken = frozenset[str]().union(*(record.keys for record in records))
        for name, entry in entries:
            key = write_key(entry.key, case)
            if key in taken:
                continue
            made = [self._make_field(record, key, entry) for record in records]
            if not self._take(name, made):
                return

    def _make_field(self, record: Holder, key: str, entry: Entry) -> Addition:
        place = around_field(self._text, self._rng.choice(record.gaps), key)
        content = dump(json.loads(fill(entry.text, {}, self._rng)), like=self._text)
        return [place.at, place.before, content, place.after]

    def add_lines(self, gaps: Sequence[int], entries: Sequence[tuple[str, Entry]]) -> None:
        form = self._rng.choice(LINES)
        for name, entry in entries:
            place = around_line(self._text, self._rng.choice(gaps))
            content = json.loads(fill(entry.text, {}, self._rng))
            shown = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            words = entry.key.replace("_", " ")
            line = form.format(key=entry.key, words=words[:1].upper() + words[1:], content=shown)
            if not self._take(name, [[place.at, place.before, line, place.after]]):
                return

    def _take(self, name: str, made: list[Addition]) -> bool:
        """Add a field if there is room for it; one that doesn't fit as a whole with the probability that
        makes the volume right on average. False: there is no more."""
        length = sum(len(before) + len(content) + len(end) for _, before, content, end in made)
        fits = self._room >= length or self._point < self._room / length
        if fits:
            self.names.append(name)
            self.added += made
        self._room -= length
        return self._room > 0 and len(self.names) < MOST_FIELDS


@written_form("tool.redundant")
class RedundantResultWording:
    """The rule's fields at the rule's places, with the model's sentences as their values: notices,
    disclaimers, advice on other things. They depend on the call alone, and name no value.
    """

    ahead = True

    def ask(self, target: ToolResultTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            f"The material is a call of a tool. Write {max(1, len(draw['added']))} sentences, each on a line "
            "of its own, such as services put around their results and nobody reads: notices, disclaimers, "
            "hints at other services. True of any result, of no use for this one, with nothing in particular "
            "in them."
        )
        return task, describe_call(target)

    def apply(self, target: ToolResultTarget, draw: Draw, text: str) -> Result:
        added = draw["added"]
        said = write_contents(read_general_lines(text, len(added)), like=target.text)
        return RedundantResult().apply(target, {**draw, "added": replace_contents(added, said)})
