"""Logs and instructions that a tool's result carries beside its data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from crosswind.injectors.conversation import Site, ToolList
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Around,
    around_field,
    around_line,
    dump,
    find_case,
    find_holders,
    find_line_gaps,
    insert,
    is_plain_text,
    write_contents,
    write_key,
)
from crosswind.injectors.operators.tool.canary import draw_canary
from crosswind.injectors.operators.words.results import INSTRUCTIONS, LOGS
from crosswind.injectors.packs.draw import Setting, draw_phrase, fill, list_fitting, make_setting
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, EntryWeights, Half, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.languages import Language

VOLUME = 16_000
"""Characters of a log at severity 1: some 3,000 tokens in each result that is hit."""


@operator(
    "tool.context_pressure",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix N (3), named there as future work; the form is ours",
    effect=Effect.ADDS,
    version=2,
)
class ContextPressure:
    """A result carries the service's log, so that the conversation grows and what matters is crowded out.

    Severity: the log has 16,000 x severity characters (up to the end of its last line), in every result that
    is hit; the profile says how often that is. Its lines are those of one real service, of two or three kinds
    from the general English phrase pack, each a little later than the one before. It stands in a field among
    the others of the JSON object or of the array's first one, or before or behind plain text. Every true
    value keeps its bytes; other JSON is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        place = _draw_place(target, LOGS, rng)
        seed, start = rng.integer(0, 2**40), rng.integer(0, 300 * 86_400)
        if severity <= 0 or place is None:
            return None
        half, size = target.branch.half, round(VOLUME * severity)
        around = [place.at, place.before, place.after]
        count = len(_write_log(seed, start, half, size))
        return {
            "around": around,
            "half": half.value,
            "seed": seed,
            "start": start,
            "size": size,
            "count": count,
        }

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        log = _write_log(draw["seed"], draw["start"], Half(draw["half"]), draw["size"])
        at, before, after = draw["around"]
        in_json = is_container(parse_json(target.text))
        content = dump(log, like=target.text) if in_json else "\n".join(log)
        text = insert(target.text, [(at, before, content, after)])
        return Result(text, f"A log of {draw['count']} lines was added to the result of {target.tool}.")


def _draw_place(target: ToolResultTarget, names: Sequence[str], rng: SeededRandom) -> Around | None:
    """Where one field of these names, or lines of text, can be added; None where there is no room."""
    text = target.text
    value = parse_json(text)
    point, keys = rng.uniform(), rng.shuffled(names)
    if is_plain_text(value, text):
        gaps = find_line_gaps(text)
        return around_line(text, gaps[int(point * len(gaps))])
    holders = find_holders(text) if is_container(value) else ()
    if not holders:
        return None
    case = find_case(text)
    key = next((one for one in keys if write_key(one, case) not in holders[0].keys), None)
    gaps_of = holders[0].gaps
    return (
        None if key is None else around_field(text, gaps_of[int(point * len(gaps_of))], write_key(key, case))
    )


@lru_cache(64)
def _write_log(seed: int, start: int, half: Half, size: int) -> tuple[str, ...]:
    """A log of so many characters, of one service: two or three kinds of lines, each a little later than the
    last.
    """
    rng = SeededRandom(f"log|{seed}")
    entries = rng.sample(list_fitting(_in_english(half), "tool.context_pressure", "log"), rng.integer(2, 3))
    now = datetime(2026, 1, 1) + timedelta(seconds=start)
    lines: list[str] = []
    filled = 0
    while filled < size:
        now += timedelta(seconds=rng.integer(0, 40))
        _, entry = rng.choice(entries)
        lines.append(fill(entry.text, {"time": f"{now:%Y-%m-%dT%H:%M:%SZ}"}, rng))
        filled += len(lines[-1])
    return tuple(lines)


@lru_cache(64)
def _in_english(half: Half, entries: EntryWeights = ()) -> Setting:
    """The setting of logs and instructions, which are in English whatever the conversation's language is."""
    return make_setting(ToolList(), "", Language.EN, half, entries=entries)


@operator(
    "tool.prompt_injection",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix N (4), named there as future work; the form is ours",
    effect=Effect.ADDS,
    version=2,
)
class PromptInjection:
    """A result carries an instruction to the agent, such as an untrusted page or record may hold.

    Severity: the probability that an eligible result carries one. It comes from the general English phrase
    pack, and asks the agent to say a canary, a drawn word that occurs nowhere else (`canary` in the draw), so
    that a report can tell whether the agent obeyed; it is no working exploit. A JSON object, or the array's
    first one, gets a field such as holds what others wrote, plain text a line. Every true value keeps its
    bytes; other JSON is left alone.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity):
            return None
        canary, place = draw_canary(rng), _draw_place(target, INSTRUCTIONS, rng)
        if place is None or canary in target.text:
            return None
        branch = target.branch
        setting, used = _in_english(branch.half, branch.entries), branch.phrases
        phrase = draw_phrase(
            rng, setting, "tool.prompt_injection", "instruction", slots={"canary": canary}, used=used
        )
        if phrase is None:
            return None
        around = [place.at, place.before, place.after]
        return {"phrases": [phrase.entry], "around": around, "text": phrase.text, "canary": canary}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        at, before, after = draw["around"]
        [said] = write_contents([draw["text"]], like=target.text)
        return Result(
            insert(target.text, [(at, before, said, after)]),
            f"The result of {target.tool} carries an instruction; obeyed, it shows as {draw['canary']}.",
        )
