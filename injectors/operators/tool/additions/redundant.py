"""What a result says already, said again beside it, and fields of little use as systems give them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tool_evidence import words_of
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
from crosswind.injectors.operators.tool.additions.described_call import describe_call
from crosswind.injectors.operators.tool.additions.restatement import (
    restate_object,
    restate_records,
    restate_text,
)
from crosswind.injectors.operators.tool.cut_ways import is_local
from crosswind.injectors.operators.words.empty_fields import AMISS
from crosswind.injectors.operators.words.results import PAGES
from crosswind.injectors.packs.draw import Setting, fill, list_fitting, shuffle_entries
from crosswind.injectors.packs.model import Entry, Named
from crosswind.injectors.packs.parts import Domain
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.kinds import find_kinds
from crosswind.injectors.stacks.model import Shape, ToolKind
from crosswind.injectors.stacks.shapes import find_shape
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.wording import written_form

LEAST, MOST = 0.8, 1.8
"""For each character of a result, uniform(0.8, 1.8) x severity characters are added."""

SHORTEST = 48
"""Characters for which a very short result has room: one field."""

MOST_FIELDS, MOST_FLAT, MOST_LINES = 2, 2, 3
"""Fields of a pack beside an answer, of these among the answer's own, and lines beside a text."""
MOST_OF_RECORD, MOST_BESIDE = 5, 2
"""Fields of each record of a list, and what is said again beside that list."""
DATED = 0.3
"""How often a record tells its version, or whether it is in use."""

OPERATOR = "tool.redundant"


@operator(
    OPERATOR,
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    aliases=("tool-redundancy",),
    source="NoisyAgent section 3.1 (4); AgentNoiseBench section 2.2.1, appendix B (its example drops fields)",
    effect=Effect.ADDS,
    version=8,
)
class RedundantResult:
    """The answer says its own content again, as many systems do: in a sentence, a sum or a date as people
    read them, the request, a record's address and place in the list, a text's beginning, how many there
    are. A service's has what an API sends beside, at most one of a kind: an id of the request, how long it
    took, a version.

    Severity: uniform(0.8, 1.8) x severity characters are added for each of the result's own, with a bound on
    their number; a very short one may be tripled by its first. The fields of the envelope come from the
    general English phrase pack; a shell, a device, a computation and a patient's record have none. An
    object gets its fields at its end or its beginning; the records of a list get the same ones, each with
    its own values, and the object around them a few. Names follow the result's convention. Plain text gets
    lines at its beginning or its end: a shell's for a command, a database client's for a query, a page's
    for a page. Every true value keeps its bytes; other JSON is left alone.
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
        count = len(draw["added"])
        what = "part of little use was" if count == 1 else "parts of little use were"
        note = f"{count} {what} added to the result of {target.tool}."
        return Result(insert(target.text, draw["added"]), note)


def _split_records(text: str, value: Any) -> tuple[Holder | None, Sequence[Holder]]:
    """The object that is the whole answer, and the records of its list: the objects with the same fields."""
    holders = find_holders(text)
    if isinstance(value, dict):
        rest = holders[1:]
        keys, count = max(Counter(one.keys for one in rest).items(), key=itemgetter(1), default=(None, 0))
        return (holders[0] if holders else None), [one for one in rest if count > 1 and one.keys == keys]
    return None, [one for one in holders if one.keys == holders[0].keys]


Told = list[tuple[list[str], str, str]]
"""Fields that belong together: the entries that they come from, their key, and their value as JSON."""


class _Fields:
    """Fields that are drawn until there is no more room."""

    def __init__(self, target: ToolResultTarget, rng: SeededRandom, room: float) -> None:
        self._text, self._rng, self._room, self._target = target.text, rng, room, target
        self._setting = find_system(target)
        self._met = target.branch.phrases
        self._case = find_case(target.text)
        kinds = find_kinds(target, "")
        self._rows = ToolKind.SQL in kinds
        self._local = self._rows or is_local(target.tool, kinds) or self._setting.domain is Domain.HEALTH
        self.names: list[str] = []
        self.added: list[Addition] = []

    def _find_printer(self) -> Setting:
        """The setting of what prints a text: of a database's client, whatever its tool's name."""
        if not self._rows:
            return self._setting
        return find_system(replace(self._target, tool="sql"), described=False)

    def _draw_entries(self, part: str, setting: Setting | None = None) -> list[Named]:
        fitting = list_fitting(setting or self._setting, OPERATOR, part)
        if AMISS.search(self._text) or _STATE.search(self._text):
            fitting = tuple(one for one in fitting if one[1].key not in _WELL)
        unmet = [one for one in fitting if one[0] not in self._met] or list(fitting)
        return shuffle_entries(self._rng, unmet, self._setting.entries)

    def add_to_records(self, value: Any) -> None:
        whole, records = _split_records(self._text, value)
        end = self._rng.chance(0.75)
        if records:
            self._add_to_each(records, end=end)
        if whole is None or self._room <= 0:
            return
        told: list[Told] = []
        if find_shape(self._text) is not Shape.MCP:
            again = restate_object(self._target, value, self._rng, self._case, local=self._local)
            told = [[([], key, self._dump(one)) for key, one in group] for group in again]
        envelope = self._write_envelope(whole)
        if envelope:
            told.insert(self._rng.integer(0, min(1, len(told))), envelope)
        taken = set(whole.keys)
        for names, key, content in chain.from_iterable(told[: MOST_BESIDE if records else None]):
            own = write_key(key, self._case)
            made = [self._make_field(whole, end, own, content)]
            if own not in taken and self._room > 0 and self._has_room(made):
                taken.add(own)
                self._take(names, made)

    def _write_envelope(self, whole: Holder) -> Told:
        """What an API sends beside its answer, at most one of a kind, in an object of its own or among the
        other fields."""
        count, nested = self._rng.integer(1, MOST_FIELDS), self._rng.chance(0.6)
        outer, met = self._rng.choice(ENVELOPES), set[str]()
        found: list[tuple[str, str, str]] = []
        for name, entry, key in self._name_fields("field", [whole]):
            kind = KIND_OF.get(entry.key, entry.key)
            if kind not in met and len(found) < count:
                met.add(kind)
                found.append((name, key, self._fill(entry)))
        if not found:
            return []
        if not nested or len(found) == 1 or write_key(outer, self._case) in whole.keys:
            return [([name], key, content) for name, key, content in found[:MOST_FLAT]]
        held = {key: json.loads(content) for _, key, content in found}
        return [([name for name, _, _ in found], outer, self._dump(held))]

    def _dump(self, content: Any) -> str:
        return dump(content, like=self._text)

    def _add_to_each(self, records: Sequence[Holder], *, end: bool) -> None:
        """Fields for each record, with values of its own."""
        read = [json.loads(self._text[one.gaps[0].at - 1 : one.gaps[-1].at] + "}") for one in records]
        taken = set(records[0].keys)
        told: list[tuple[list[str], str, list[str]]] = []
        if self._rng.chance(DATED):
            for name, entry, key in self._name_fields("record", records)[:1]:
                told.append(([name], key, [self._fill(entry) for _ in records]))
        if self._rows:
            again = [[(self._rng.choice(ROW_NUMBERS), [at + 1 for at in range(len(read))])]]
        else:
            again = restate_records(self._target, read, self._rng, self._case) if len(read) > 1 else []
        for key, each in chain.from_iterable(again):
            told.append(([], write_key(key, self._case), [self._dump(one) for one in each]))
        for names, key, texts in told[:MOST_OF_RECORD]:
            made = [self._make_field(one, end, key, text) for one, text in zip(records, texts, strict=True)]
            if key not in taken and self._has_room(made):
                taken.add(key)
                self._take(names, made)

    def _name_fields(self, part: str, records: Sequence[Holder]) -> list[tuple[str, Entry, str]]:
        """The entries of a part whose names no record has, with these names as the result writes them: none
        where the system is no service."""
        if self._local:
            return []
        taken = frozenset[str]().union(*(record.keys for record in records))
        named = ((name, one, write_key(one.key, self._case)) for name, one in self._draw_entries(part))
        return [one for one in named if one[2] not in taken]

    def _fill(self, entry: Entry) -> str:
        return dump(json.loads(fill(entry.text, {}, self._rng)), like=self._text)

    def _make_field(self, record: Holder, end: bool, key: str, content: str) -> Addition:
        place = around_field(self._text, record.gaps[-1 if end else 0], key)
        return [place.at, place.before, content, place.after]

    def add_lines(self) -> None:
        at = len(self._text) if self._rng.chance(0.7) else 0
        place = around_line(self._text, at)
        kinds, words = find_kinds(self._target, ""), set(words_of(self._target.tool))
        known = not kinds.isdisjoint(_WITH_LINES) or not PAGES.isdisjoint(words)
        for name, entry in self._draw_entries("line", self._find_printer())[: MOST_LINES if known else 0]:
            line = fill(entry.text, {}, self._rng)
            if not self._take([name], [[place.at, place.before, line, place.after]]):
                return
        if not known:
            for line in restate_text(self._text, self._rng, self._room):
                self._take([], [[place.at, place.before, line, place.after]])

    def _has_room(self, made: list[Addition]) -> bool:
        """Whether there is room for a field, or nothing was added yet."""
        size = sum(len(before) + len(content) + len(end) for _, before, content, end in made)
        return size <= self._room * SLACK or not self.added

    def _take(self, names: list[str], made: list[Addition]) -> bool:
        """Add a field. False: there is no more room."""
        self.names += names
        self.added += made
        self._room -= sum(len(before) + len(content) + len(end) for _, before, content, end in made)
        return self._room > 0


SLACK = 1.3
"""How far the last field may go beyond the room."""
_WELL = frozenset("status success result ok error errors warnings status_code code completed done".split())
"""Fields that say that a call went well: none beside an answer that speaks of an error, or has a state."""
_STATE = re.compile(r'"(?:\w*_)?(?:state|status)"', re.IGNORECASE)
ENVELOPES = """
    meta _meta metadata response_metadata header info response_info diagnostics trace_info stats timing debug
    transport telemetry runtime server_info envelope system context execution profile
""".split()
"""What holds what an API sends beside its answer."""
ENVELOPE_KINDS = {
    "id": frozenset(
        """request_id trace_id trace activity_id call_id req_id correlation_id span_id transaction_ref
        event_uuid response_id log_id client_ref session_ref ticket_no caller_ref conversation_ref receipt_no
        job task_no sequence serial""".split()
    ),
    "duration": frozenset(
        """took duration execution_time exec_seconds elapsed latency processing_time response_time
        handled_in runtime db_ms wait_time cpu_time lookup_time""".split()
    ),
    "outcome": frozenset({"status", "success", "result", "ok", "status_code", "code", "completed", "done"}),
    "place": frozenset(
        "host host_name region zone server served_by backend instance shard partition".split()
    ),
    "tries": frozenset("attempts tries retries redirects".split()),
    "version": frozenset("service_version api build release".split()),
    "whole": frozenset({"partial", "cut"}),
    "trouble": frozenset({"error", "errors", "warnings"}),
}
"""Keys that say the same: an answer has one of them."""
KIND_OF = {key: kind for kind, keys in ENVELOPE_KINDS.items() for key in keys}
ROW_NUMBERS = ("row", "row_number", "rownum", "row_num", "rn")
"""What a database's rows may have besides."""
_WITH_LINES = frozenset({ToolKind.SHELL, ToolKind.SQL, ToolKind.WEB})
"""Systems of which the pack has lines."""


WRITTEN = 14
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
