"""Ask a model for a pack's missing entries, and keep those that pass the checks, the guard and the judge."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec

from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.noise_model.chat_model import ModelFailed, ask_model, open_client, score_text
from crosswind.injectors import registry
from crosswind.injectors.guard.solvability import check_user_text
from crosswind.injectors.packs.checks import check, check_between
from crosswind.injectors.packs.draw import fill
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.packs.model import SLOT, Entry, Pack, parse
from crosswind.injectors.packs.parts import PARTS, Domain, Form, Part
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Half, UserTarget
from crosswind.injectors.text.entities import find_protected_spans
from crosswind.injectors.text.languages import Language, detect_language
from crosswind.injectors.wording import Prompt
from crosswind.studies.pack_build.tasks import LANGUAGES, make_task

SHOWN = 3
"""How many reasons are kept of what refused entries of a part's half."""

ROUNDS = 4
"""How often a part is asked for before the rest of it is given up."""

_GIVEN = ("key", "text", "parameter", "fits", "about", "served_by", "address")
_LATIN = (Language.DE, Language.ES, Language.FR)
_SAMPLE = "I need this done today, please."
_SLOTS = {"value": "noon", "rival": "midnight", "thing": "time", "coarse": "midday", "request": "do this"}
_SLOTS |= {
    "option": "the first",
    "chosen": "the second",
    "tool": "search",
    "canary": "X",
}


class Refusal(NamedTuple):
    """Why an entry isn't kept."""

    by: str
    why: str = ""


@dataclass(slots=True)
class PartOutcome:
    """What came of one part's half."""

    part: Part
    half: Half
    wanted: int
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """By what refused: format, check, guard, judge, model."""
    reasons: dict[str, list[str]] = field(default_factory=dict)
    """The first few reasons of each: with the entry's text, what is wrong with it."""

    def refuse(self, refusal: Refusal) -> None:
        self.refused[refusal.by] += 1
        reasons = self.reasons.setdefault(refusal.by, [])
        if refusal.why and refusal.why not in reasons and len(reasons) < SHOWN:
            reasons.append(refusal.why)


@dataclass(slots=True)
class PackBuild:
    """A pack that grows in a file: each kept entry is a line at once, so that a later run goes on."""

    path: Path
    language: Language
    domain: Domain
    licence: str
    model: NoiseModel
    count: int
    tell: Callable[[str], None]
    _others: list[Pack] = field(init=False)
    _pack: Pack = field(init=False)

    def __post_init__(self) -> None:
        name = f"{self.language}/{self.domain}"
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            header = {"pack": name, "version": 1, "licence": self.licence}
            self.path.write_text(json.dumps(header) + "\n", encoding="utf-8")
        pack, problems = parse(self.path.read_bytes())
        if pack is None or problems:
            raise ValueError(f"{self.path}:{problems[0].line}: {problems[0].what}")
        if pack.name != name:
            raise ValueError(f"{self.path} is the pack {pack.name}, not {name}: give another folder")
        self._pack = pack
        self._others = [one for one in load_all() if one.name != name]

    async def run(self, parts: Sequence[Part]) -> list[PartOutcome]:
        """Build these parts, both halves of each."""
        limit = asyncio.Semaphore(self.model.concurrency)
        async with open_client() as http, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._build(http, limit, part, half)) for part in parts for half in Half
            ]
        return [task.result() for task in tasks]

    async def _build(
        self, http: httpx.AsyncClient, limit: asyncio.Semaphore, part: Part, half: Half
    ) -> PartOutcome:
        wanted = (self.count + (half is Half.TRAIN)) // 2
        outcome = PartOutcome(part, half, wanted, len(self._pack.select(part.operator, part.name, half)))
        async with limit:
            for _ in range(ROUNDS):
                if outcome.kept >= wanted:
                    break
                await self._ask(http, outcome)
        self.tell(f"{part.operator} {part.name}, {half.value}: {outcome.kept} of {wanted}")
        return outcome

    async def _ask(self, http: httpx.AsyncClient, outcome: PartOutcome) -> None:
        part, half = outcome.part, outcome.half
        written = [one for half in Half for one in self._pack.select(part.operator, part.name, half)]
        prompt = make_task(part, self.language, self.domain, outcome.wanted - outcome.kept, written)
        try:
            answer = await ask_model(http, self.model, prompt.system, prompt.user)
        except ModelFailed as error:
            outcome.refuse(Refusal(f"model: {error}"))
            return
        for given in read_objects(answer):
            if outcome.kept >= outcome.wanted:
                return
            try:
                entry = self._read_entry(part, half, given)
            except msgspec.ValidationError as error:
                outcome.refuse(Refusal("format", f"{json.dumps(given, ensure_ascii=False)}: {error}"))
                continue
            why = self._refuse(entry, part) or await self._judge(http, prompt, entry)
            # Another part may have written the like while the judge was at work.
            why = why or self._refuse(entry, part)
            if why is None:
                self._keep(entry)
                outcome.kept += 1
            else:
                outcome.refuse(why)

    def _read_entry(self, part: Part, half: Half, given: dict[str, Any]) -> Entry:
        number = 1 + max(
            (
                int(number)
                for entry in self._pack.entries
                if (number := entry.id.removeprefix(f"{part.name}-")).isdecimal()
                and entry.operator == part.operator
            ),
            default=0,
        )
        document = {name: given[name] for name in _GIVEN if given.get(name)}
        if part.form is Form.FIELD and not isinstance(document.get("text", ""), str):
            document["text"] = json.dumps(document["text"], ensure_ascii=False)
        document |= {"for": part.operator, "part": part.name, "half": half, "id": self._name(part, number)}
        return msgspec.convert(document, Entry)

    def _name(self, part: Part, number: int) -> str:
        """A new id: several operators have a part of one name."""
        taken = {entry.id for entry in self._pack.entries}
        while (name := f"{part.name}-{number:03d}") in taken:
            number += 1
        return name

    def _refuse(self, entry: Entry, part: Part) -> Refusal | None:
        """What refuses an entry: its language, a check of packs, or the guard on a message with it."""
        if (found := find_other_language(entry, part, self.language)) is not None:
            return Refusal(
                "check", f"{entry.text!r}: it is {LANGUAGES[found]}: write {LANGUAGES[self.language]}"
            )
        if problems := find_problems(self._with(entry)) - find_problems(self._pack):
            return Refusal("check", f"{entry.text!r}: {min(problems)[1]}")
        others = [_of_part(one, part) for one in self._others if one.language is self.language]
        mine = _of_part(self._with(entry), part)
        for pack, problem in check_between([*others, mine]):
            if pack is mine:
                return Refusal("check", f"{entry.text!r}: {problem.what}")
        return Refusal("guard", repr(entry.text)) if part.of_user and not passes_guard(entry) else None

    async def _judge(self, http: httpx.AsyncClient, prompt: Prompt, entry: Entry) -> Refusal | None:
        judge = self.model.judge
        if judge is None:
            return None
        try:
            score = await score_text(http, judge, prompt, entry.text)
        except ModelFailed as error:
            return Refusal(f"judge: {error}")
        return Refusal("judge", f"{entry.text!r}: {score:g}") if score < judge.least else None

    def _with(self, entry: Entry) -> Pack:
        lines = (*self._pack.lines, len(self._pack.lines) + 2)
        return replace(self._pack, entries=(*self._pack.entries, entry), lines=lines)

    def _keep(self, entry: Entry) -> None:
        self._pack = self._with(entry)
        with self.path.open("ab") as file:
            file.write(msgspec.json.encode(entry_document(entry)) + b"\n")


def entry_document(entry: Entry) -> dict[str, Any]:
    """The entry as a pack's line has it: without the fields that say nothing."""
    return {name: value for name, value in msgspec.to_builtins(entry).items() if value not in (None, "", [])}


def find_problems(pack: Pack) -> set[tuple[int, str]]:
    """The problems of a pack, but for halves of unequal size: it is being built. Counts in them are left
    out."""
    problems = ((one.line, one.what.partition(" is in ")[0]) for one in check(pack))
    return {(line, what) for line, what in problems if "divide by half" not in what}


def find_other_language(entry: Entry, part: Part, language: Language) -> Language | None:
    """The language of a phrase that is surely none of the pack's. Short phrases in Latin letters pass for
    English, whichever language they are in."""
    found = detect_language(SLOT.sub(" ", entry.text)) if part.form is Form.PHRASE else None
    unsure = found is Language.EN and language in _LATIN
    return None if found is language or unsure else found


def passes_guard(entry: Entry) -> bool:
    """Whether the guard lets a message pass to which the filled entry is appended."""
    after = f"{_SAMPLE} {fill(entry.text, _SLOTS, SeededRandom(entry.id))}"
    target = UserTarget(_SAMPLE, 0, find_protected_spans(_SAMPLE, ()))
    return check_user_text(registry.resolve(entry.operator), target, after) is None


def _of_part(pack: Pack, part: Part) -> Pack:
    rows = [
        (line, entry)
        for line, entry in zip(pack.lines, pack.entries, strict=True)
        if (entry.operator, entry.part) == (part.operator, part.name)
    ]
    return replace(pack, lines=tuple(line for line, _ in rows), entries=tuple(entry for _, entry in rows))


def read_objects(answer: str) -> Iterator[dict[str, Any]]:
    """The objects of the JSON array in a model's answer, whatever stands around it."""
    try:
        found = json.loads(answer[answer.index("[") : answer.rindex("]") + 1])
    except ValueError:
        return
    yield from (one for one in found if isinstance(one, dict))


def select_parts(language: Language, operators: Sequence[str]) -> list[Part]:
    """The parts to build: those of the named operators, or all, that the language's general pack has, since a
    pack of any domain may have them. ValueError for an unknown operator."""
    known = dict.fromkeys(part.operator for part in PARTS.values())
    if unknown := [name for name in operators if name not in known]:
        raise ValueError(f"{unknown[0]!r} draws from no pack: use {', '.join(known)}")
    return [
        part
        for part in PARTS.values()
        if part.operator in (operators or known) and part.wanted.of(language, Domain.GENERAL)
    ]
