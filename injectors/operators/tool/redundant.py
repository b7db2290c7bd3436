"""Fields and lines of little use beside a result, as systems of any kind give them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Addition,
    Holder,
    around_field,
    around_line,
    dump,
    find_case,
    find_holders,
    insert,
    is_plain_text,
    replace_contents,
    write_contents,
    write_key,
)
from crosswind.injectors.operators.model_text import read_general_lines
from crosswind.injectors.operators.phrases import find_system
from crosswind.injectors.operators.tool.described_call import describe_call
from crosswind.injectors.packs.draw import fill, list_fitting, shuffle_entries
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.wording import written_form

LEAST, MOST = 0.8, 1.8
"""For each character of a result, uniform(0.8, 1.8) x severity characters are added."""

SHORTEST = 48
"""Characters for which a very short result has room: one field."""

MOST_FIELDS, MOST_OF_RECORD, MOST_LINES = 7, 5, 6
"""Fields beside an answer, of each record of a list, and lines beside a text."""

OPERATOR = "tool.redundant"


@operator(
    OPERATOR,
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    aliases=("tool-redundancy",),
    source="NoisyAgent section 3.1 (4); AgentNoiseBench section 2.2.1, appendix B (its example drops fields)",
    effect=Effect.ADDS,
    version=3,
)
class RedundantResult:
    """The answer stands among fields that nobody asked for, as an API's envelope and a database's records
    have them: ids of the request, versions, hashes, quotas.

    Severity: uniform(0.8, 1.8) x severity characters are added for each of the result's own, with a bound on
    their number; a very short one may be tripled by its first. The fields come from the general English
    phrase pack, and fit the system behind the tool. An object gets them at its beginning or its end, or in
    one field that holds them; the records of a list get the same ones, each with its own values, and the
    object around them one. Names follow the result's convention. Plain text gets lines at its beginning or
    its end: a shell's for a command, a database client's for a query, a page's for other text. Every true
    value keeps its bytes; other JSON is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        text = target.text
        value = parse_json(text)
        room = severity * max(rng.uniform(LEAST, MOST) * len(text), SHORTEST)
        if not (is_container(value) or is_plain_text(value, text)):
            return None
        fields = _Fields(target, rng, room)
        if is_container(value):
            fields.add_to_records(value)
        else:
            fields.add_lines()
        return {"phrases": fields.names, "added": fields.added} if fields.added else None

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        note = f"{len(draw['added'])} parts of little use were added to the result of {target.tool}."
        return Result(insert(target.text, draw["added"]), note)


def _split_records(text: str, value: Any) -> tuple[Holder | None, Sequence[Holder]]:
    """The object that is the whole answer, and the records of its list: the objects with the same fields."""
    holders = find_holders(text)
    if isinstance(value, dict):
        rest = holders[1:]
        keys, count = max(Counter(one.keys for one in rest).items(), key=itemgetter(1), default=(None, 0))
        return (holders[0] if holders else None), [one for one in rest if count > 1 and one.keys == keys]
    return None, [one for one in holders if one.keys == holders[0].keys]


class _Fields:
    """Fields that are drawn until there is no more room."""

    def __init__(self, target: ToolResultTarget, rng: SeededRandom, room: float) -> None:
        self._text, self._rng, self._room = target.text, rng, room
        self._setting = find_system(target)
        self._met = target.branch.phrases
        self._point = rng.uniform()
        self._case = find_case(target.text)
        self.names: list[str] = []
        self.added: list[Addition] = []

    def _draw_entries(self, part: str) -> list[tuple[str, Entry]]:
        fitting = list_fitting(self._setting, OPERATOR, part)
        unmet = [one for one in fitting if one[0] not in self._met] or fitting
        return shuffle_entries(self._rng, unmet, self._setting.entries)

    def add_to_records(self, value: Any) -> None:
        whole, records = _split_records(self._text, value)
        if records:
            end = self._rng.chance(0.7)
            for name, entry, key in self._name_fields("record", records)[:MOST_OF_RECORD]:
                if not self._take(name, [self._make_field(one, end, key, entry) for one in records]):
                    break
        if whole is not None and self._room > 0:
            self._add_envelope(whole, 1 if records else MOST_FIELDS)

    def _name_fields(self, part: str, records: Sequence[Holder]) -> list[tuple[str, Entry, str]]:
        """The entries of a part whose names no record has, with these names as the result writes them."""
        taken = frozenset[str]().union(*(record.keys for record in records))
        named = ((name, one, write_key(one.key, self._case)) for name, one in self._draw_entries(part))
        return [one for one in named if one[2] not in taken]

    def _add_envelope(self, whole: Holder, most: int) -> None:
        end, nested, holder = self._rng.chance(0.75), self._rng.chance(0.4), self._rng.choice(ENVELOPES)
        made: list[tuple[str, Addition]] = []
        room = self._room
        for name, entry, key in self._name_fields("field", [whole])[:most]:
            one = self._make_field(whole, end, key, entry)
            length = sum(map(len, one[1:]))
            if made and room < length:
                break
            made.append((name, one))
            room -= length
            if room <= 0:
                break
        self.names += [name for name, _ in made]
        if nested and len(made) > 1 and write_key(holder, self._case) not in whole.keys:
            content = {_read_key(one[1]): json.loads(one[2]) for _, one in made}
            place = around_field(self._text, whole.gaps[-1 if end else 0], write_key(holder, self._case))
            self.added.append([place.at, place.before, dump(content, like=self._text), place.after])
        else:
            self.added += [one for _, one in made]

    def _make_field(self, record: Holder, end: bool, key: str, entry: Entry) -> Addition:
        place = around_field(self._text, record.gaps[-1 if end else 0], key)
        content = dump(json.loads(fill(entry.text, {}, self._rng)), like=self._text)
        return [place.at, place.before, content, place.after]

    def add_lines(self) -> None:
        ends = (0, len(self._text))
        for name, entry in self._draw_entries("line")[:MOST_LINES]:
            place = around_line(self._text, ends[self._rng.chance(0.7)])
            line = fill(entry.text, {}, self._rng)
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
        return self._room > 0


ENVELOPES = ("meta", "metadata", "_meta", "context", "response_info", "info", "_metadata")
"""Fields that hold what stands beside an answer."""


def _read_key(before: str) -> str:
    """The name in what stands before a field's value."""
    return before[before.index('"') + 1 : before.rindex('"')]


WRITTEN = MOST_OF_RECORD + MOST_FIELDS
"""Sentences that a model is asked for: as many as are ever added."""


@written_form("tool.redundant")
class RedundantResultWording:
    """The rule's fields at the rule's places, with the model's sentences as their values: notices,
    disclaimers, advice on other things. They depend on the call alone, and name no value.
    """

    ahead = True

    def ask(self, target: ToolResultTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            # How many are used depends on the result, which isn't known yet.
            f"The material is a call of a tool. Write {WRITTEN} sentences, each on a line "
            "of its own, such as services put around their results and nobody reads: notices, disclaimers, "
            "hints at other services. True of any result, of no use for this one, with nothing in particular "
            "in them."
        )
        return task, describe_call(target)

    def apply(self, target: ToolResultTarget, draw: Draw, text: str) -> Result:
        added = draw["added"]
        said = write_contents(read_general_lines(text, len(added)), like=target.text)
        return RedundantResult().apply(target, {**draw, "added": replace_contents(added, said)})
