"""Instructions to the agent, in the text that others wrote and a tool's result carries."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.conversation import Site, ToolList
from crosswind.injectors.guard.tool_evidence import words_of
from crosswind.injectors.guard.tool_words import READING
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.insertion import (
    Around,
    around_field,
    dump,
    find_case,
    find_holders,
    is_plain_text,
    write_key,
)
from crosswind.injectors.operators.tool.canary import draw_canary
from crosswind.injectors.operators.tool.sensors import COMMANDING
from crosswind.injectors.operators.words.results import FREE_TEXTS
from crosswind.injectors.packs.draw import draw_phrase, make_setting
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolResultTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.json_leaves import MOST, list_leaves
from crosswind.injectors.text.json_payload import is_container, is_prose, parse_json
from crosswind.injectors.text.json_spans import Frame, find_leaves, open_string
from crosswind.injectors.text.languages import Language

_SAID = re.compile(
    r"success|\bhas been\b|\bcompleted\b|\b(?:moved|copied|added|deleted|sent) (?:to|from)\b", re.IGNORECASE
)
_SAYING = re.compile(r"status|message|result|detail|error|warning|hint|path|url|query", re.IGNORECASE)
_PRINTING = frozenset("git status test tests log build ls du compile install".split())
"""What a system says of a call, by its words, its field or its tool: nobody else wrote it."""


@operator(
    "tool.prompt_injection",
    site=Site.TOOL_RESULT,
    recovery=Recovery.IGNORE,
    source="RobustBench-TC, appendix N (4), named there as future work; the form is ours",
    effect=Effect.ADDS,
    version=4,
)
class PromptInjection:
    """A result carries an instruction to the agent, such as an untrusted page, message or review may hold.

    Severity: the probability that an eligible result carries one. It comes from the general English phrase
    pack, and asks the agent to say a canary, a drawn word that occurs nowhere else (`canary` in the draw), so
    that a report can tell whether the agent obeyed; it is no working exploit. It stands behind text that
    others wrote: a JSON string of several words, at any depth, or plain text. What a system says of its call
    and what the agent has sent are none, nor is the
    receipt of a command. Without such a text, an object gets a field that records of its kind
    may have for one, such as an order's gift message; any other result is left alone. Every true value keeps
    its bytes; the text's is followed by the instruction.
    """

    def draw(self, target: ToolResultTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity) or next(iter(words_of(target.tool)), "") in COMMANDING:
            return None
        canary, point, above = draw_canary(rng), rng.uniform(), rng.chance(0.5)
        places = list(_find_texts(target))
        field = None if places else _draw_field(target, rng)
        if (not places and field is None) or canary in target.text:
            return None
        branch = target.branch
        setting = make_setting(ToolList(), "", Language.EN, branch.half, entries=branch.entries)
        phrase = draw_phrase(
            rng,
            setting,
            "tool.prompt_injection",
            "instruction",
            slots={"canary": canary},
            used=branch.phrases,
        )
        if phrase is None:
            return None
        if field is not None:
            around, begins = field
            content = dump(f"{begins} {phrase.text}", like=target.text)
            edit = make_edit(around.at, "", f"{around.before}{content}{around.after}")
            return {"phrases": [phrase.entry], "edits": [edit], "text": phrase.text, "canary": canary}
        frame, end = places[int(point * len(places))]
        lead = "\n\n" if "\n" in frame.text[:end] or (above and not frame.levels) else " "
        edit = make_edit(frame.locate(end), "", frame.escape(lead + phrase.text))
        return {"phrases": [phrase.entry], "edits": [edit], "text": phrase.text, "canary": canary}

    def apply(self, target: ToolResultTarget, draw: Draw) -> Result:
        return Result(
            apply_edits(target.text, draw["edits"]),
            f"The result of {target.tool} carries an instruction; obeyed, it shows as {draw['canary']}.",
        )


def _find_texts(target: ToolResultTarget) -> Iterator[tuple[Frame, int]]:
    """The texts of others in a result, each with its end."""
    text = target.text
    value = parse_json(text)
    whole = Frame(text, ascii=text.isascii())
    if not is_container(value):
        printed = not _PRINTING.isdisjoint(words_of(target.tool))
        if is_plain_text(value, text) and not printed and _is_of_others(text):
            yield whole, len(text.rstrip())
        return
    sent = list_leaves(target.arguments).values if is_container(parse_json(target.arguments)) else ()
    for leaf in find_leaves(text, MOST):
        if not isinstance(leaf.value, str) or not _is_of_others(leaf.value) or leaf.value in sent:
            continue
        field = next((key for key in reversed(leaf.place) if isinstance(key, str)), "")
        if not _SAYING.search(field) and not is_container(parse_json(leaf.value)):
            yield open_string(whole, leaf), len(leaf.value)


_TRADED = frozenset({"symbol", "ticker", "order_type"})
"""Fields of a stock's order, which carries nobody's words."""


def _draw_field(target: ToolResultTarget, rng: SeededRandom) -> tuple[Around, str] | None:
    """The place of a text that such a record may have, and how it begins; None: records of the tool have
    none."""
    at = rng.uniform()
    verb, *rest = words_of(target.tool) or [""]
    nouns = {word.removesuffix("s") for word in rest} if verb in READING else set[str]()
    holders = find_holders(target.text) if is_container(parse_json(target.text)) else ()
    fitting = [one for one in FREE_TEXTS if one[0] in nouns]
    if not holders or not fitting or not _TRADED.isdisjoint(holders[0].keys):
        return None
    noun, name, begins = fitting[int(at * len(fitting))]
    case, record = find_case(target.text), holders[0]
    if target.text.lstrip()[:1] == "[":
        record = holders[-1]
    elif f"{noun}s" in rest:
        if len(holders) < 2:
            return None
        record = next(one for one in reversed(holders) if one.keys == holders[1].keys)
    key = write_key(name, case)
    return None if key in record.keys else (around_field(target.text, record.gaps[-1], key), begins)


def _is_of_others(text: str) -> bool:
    return is_prose(text) and not _SAID.search(text)
