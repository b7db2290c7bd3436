"""The guard: noise that would make the task unsolvable is withheld.

Each check returns None where the task stays solvable. Otherwise it returns the reason in plain words, for the
event of the withheld injection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from shlex import quote

import msgspec

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.bounds import Bounds
from crosswind.injectors.guard.corrections import correct
from crosswind.injectors.guard.restrictions import find_lost_restriction
from crosswind.injectors.guard.tool_classes import Permission, explain_writing, find_declared
from crosswind.injectors.operator import Registered
from crosswind.injectors.targets import (
    Draw,
    Effect,
    Recovery,
    ToolClass,
    ToolResultTarget,
    UserTarget,
    Withheld,
)
from crosswind.injectors.text import entities
from crosswind.injectors.text.json_payload import (
    NOT_JSON,
    holds_all,
    is_container,
    looks_destroyed,
    parse_json,
)


class ClassRefusal(str):
    """The refusal of a fault that the tool's class doesn't allow."""


class BoundsRefusal(str):
    """The refusal of what is more than the session's bounds allow."""


def find_reason(refusal: str) -> Withheld:
    """The kind of a refusal, for counts."""
    if isinstance(refusal, ClassRefusal):
        return Withheld.TOOL_CLASS
    return Withheld.BOUNDS if isinstance(refusal, BoundsRefusal) else Withheld.GUARD


NOTHING = "it changes nothing"
"""The refusal of what leaves the payload as it is."""

FULL = BoundsRefusal("the session has met as many injections as `events_per_session` allows")
FULL_TOOL = BoundsRefusal("the tool's results have met as many injections as `events_per_tool` allows")
"""The refusals of injections beyond the session's bounds."""
SPENT = BoundsRefusal("the drill has injected as often as it may (max_injections)")

NO_ROOM = BoundsRefusal("the session's bounds would leave no room to settle it")
"""The refusal of a doubt that could not be settled later."""

_WORD = re.compile(rf"[{entities.UNSPACED}]|[^\W{entities.UNSPACED}]+")
NO_DRAW: Draw = {}


class Spent(msgspec.Struct, frozen=True, gc=False):
    """What the session has met on this branch before the item at hand."""

    faults_on_call: int
    faults: int


def check_fault(
    target: ToolResultTarget,
    spent: Spent,
    bounds: Bounds,
    permission: Permission,
    declared: Mapping[str, str],
) -> str | None:
    """Why this result may not be destroyed; None if it may. `declared` is the operator's table of classes."""
    if not permission.allowed:
        return ClassRefusal(_refuse_class(target, declared))
    if spent.faults_on_call >= bounds.faults_per_call:
        return BoundsRefusal(
            f"this call of {target.tool} has already met {_count_faults(spent.faults_on_call)}, so now it "
            "returns the truth"
        )
    if spent.faults >= bounds.faults_per_session:
        return BoundsRefusal(
            f"the session has already met {_count_faults(spent.faults)}, as many as its bounds allow"
        )
    return None


def _refuse_class(target: ToolResultTarget, declared: Mapping[str, str]) -> str:
    tool, kind = target.tool, target.tool_class
    changed = "its call may have changed something, and a retry may change it again"
    if find_declared(tool, declared) is not None:
        return f"{tool} is of class {kind.value}, as `tool_classes` says: {changed}"
    allowing = f"If it only reads, {suggest_declaration(tool)} allows the fault"
    if kind is ToolClass.UNKNOWN:
        return f"nothing says what {tool} does: {changed}. {allowing}"
    why = explain_writing(tool, target.tools)
    return f"{tool} is of class {kind.value}{f' by {why}' if why else ''}: {changed}. {allowing}"


def suggest_declaration(tool: str) -> str:
    """How to declare that a tool only reads, as it is written."""
    key = tool if _PLAIN_KEY.fullmatch(tool) else json.dumps(tool, ensure_ascii=False)
    return f"`tool_classes: {{{key}: read_only}}` in the configuration or `--tools-read-only {quote(tool)}`"


_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")


def check_read_elsewhere(target: ToolResultTarget, after: str, read: Iterable[str]) -> str | None:
    """Why a result may not be cut short, or hold false values, whose call must not be repeated; None where
    earlier reads, which may be, gave all that it loses."""
    lost = set(_WORD.findall(target.text)) - set(_WORD.findall(after))
    for text in read:
        lost.difference_update(_WORD.findall(text))
    if not lost:
        return None
    return ClassRefusal(
        f"{target.tool} is of class {target.tool_class.value}, "
        "and no earlier read holds what would be missing"
    )


def check_user_text(entry: Registered, target: UserTarget, after: str, draw: Draw = NO_DRAW) -> str | None:
    """Why the policy may not see this in place of the user's text; None if it may. The phrases of
    `draw` may hold a rival of a value, and a coarse form. A value may give way to a rival that is corrected
    behind it."""
    shown, after = after, correct(after, draw) if "wrong" in draw else after
    if not after.strip() and target.text.strip():
        return "nothing of the message was left"
    lost = entities.find_lost(target.text, after, target.tools)
    if lost is not None and (entry.recovery is not Recovery.ASK_USER or not target.user_can_answer):
        return f"it would have changed {lost!r:.60}, which the task may depend on"
    if lost is not None and (needed := find_lost_restriction(target.text, after, target.tools)) is not None:
        return f"it would have lost {needed!r:.60}, and what the user rules out or bounds would be another"
    added = entities.find_added_numbers(target.text, after)
    if added and (
        added := added - entities.find_numbers(" ".join((*target.unsettled, *_list_phrases(draw))))
    ):
        return f"it would have added {min(added)!r:.60}, which could be taken for one of the user's facts"
    if entry.recovery is Recovery.IGNORE and not _words_kept(target.text, after):
        return "it would have lost some of the user's own words"
    return _json_broken(target.text, shown)


def _list_phrases(draw: Draw) -> Iterator[str]:
    """What an operator words with the packs: their phrases, filled with values and rivals that it drew."""
    if "phrases" in draw:
        yield from (str(edit["now"]) for edit in draw.get("edits", ()))


def check_instructions(before: str, after: str) -> str | None:
    """Why a simulated user may not get these instructions; None if it may. Its objective is stated in the
    original words, so all of these must stay."""
    if after == before:
        return NOTHING
    if not _words_kept(before, after) or entities.find_lost(before, after) is not None:
        return "it would have lost some of the instructions' own words"
    if added := entities.find_added_numbers(before, after):
        return f"it would have added {min(added)!r:.60}, which could be taken for a fact of the task"
    return None


def check_tool_result(entry: Registered, target: ToolResultTarget, after: str, clean: str) -> str | None:
    """Why the policy may not see this in place of a tool's result; None if it may. `clean` is the result
    before any noise.

    An operator that isn't declared a fault must leave every value in its place, whatever its recovery: no
    bound limits how often it acts on a call.
    """
    if entry.recovery is Recovery.OTHER_TOOL and len(target.tools) < 2:
        return "no other tool is declared that could give the answer"
    if entry.fault:
        if entry.recovery not in (Recovery.RETRY, Recovery.OTHER_TOOL):
            return f"the recovery {entry.recovery.value!r} does not bring a destroyed result back"
        if entry.effect is Effect.FALSIFIES:
            return _check_false(target.text, after)
        # A mark that other noise has left tells nothing of what this operator did.
        marked = looks_destroyed(after, clean) and (
            target.text is clean or looks_destroyed(after, target.text)
        )
        return None if marked else "the damaged result could be taken for a valid one"
    value = parse_json(target.text)
    # What holds all values of JSON is JSON itself.
    kept = holds_all(parse_json(after), value) if is_container(value) else _words_kept(target.text, after)
    return None if kept else "a value of the true result would have been lost"


def _check_false(before: str, after: str) -> str | None:
    """Why false values may not stand in this result, or None. Nothing need tell that they are false: the call
    is one that may be made again, or earlier reads hold what is lost (`check_fault`), and what is asked for
    with its result, ids above all, is as it was.
    """
    if not after.strip():
        return "nothing of the result was left"
    kept = set(_ID.findall(after))
    if (lost := next((one for one in _ID.findall(before) if one not in kept), None)) is not None:
        return f"it would have changed {lost!r:.60}, which calls may need"
    return _json_broken(before, after)


_ID = re.compile(r"(?<![\w.\\-])[A-Za-z](?=[A-Za-z_-]{0,30}\d)[\w-]{3,64}(?![\w.-])")


def _words_kept(before: str, after: str) -> bool:
    if entities.find_additions(before, after) is not None:
        return True
    remaining = iter(_WORD.findall(after))
    return all(word in remaining for word in _WORD.findall(before))


def _json_broken(before: str, after: str) -> str | None:
    if before.lstrip()[:1] in _OPENS and is_container(parse_json(before)) and parse_json(after) is NOT_JSON:
        return "the text was JSON and would have been none"
    return None


_OPENS = ("{", "[")
"""How objects and lists begin: most users' texts are not asked farther."""


def _count_faults(count: int) -> str:
    return "one fault" if count == 1 else f"{count} faults"


READ_ELSEWHERE = "Solvable: what is missing stands in the result of an earlier read."
"""The sentence for a result cut short whose call must not be repeated."""


def why_solvable(entry: Registered, bounds: Bounds) -> str:
    """The sentence of an event's note that says how the task can still be solved."""
    return _solvable(entry.recovery, entry.site, bounds.faults_per_call)


_HOW: Mapping[tuple[Recovery, Site | None], str] = {
    (Recovery.RETRY, None): "the same call made again returns the true result (at most {most} per call)",
    (Recovery.RETRY, Site.TOOL_SCHEMA): "the first call with a wrong type is told what the tool takes",
    (
        Recovery.RETRY,
        Site.TRANSPORT,
    ): "the same request gets through when sent again (at most {most} running)",
    (
        Recovery.RETRY,
        Site.MODEL_RESPONSE,
    ): "the same request is answered when sent again (at most {most} running)",
    (Recovery.OTHER_TOOL, None): "another declared tool gives the same answer",
    (Recovery.ASK_USER, None): "the user tells what is missing when asked",
    (Recovery.IGNORE, None): "everything that was true is still there, and the rest can be ignored",
    (Recovery.IGNORE, Site.TOOL_SCHEMA): "the true tool is still there, and takes what it took",
    (Recovery.NONE_NEEDED, None): "no content is changed",
    (
        Recovery.NONE_NEEDED,
        Site.USER_TEXT,
    ): "what is told by its form to be an id, a number, a quotation, a name or a technical term is unchanged",
    (Recovery.NONE_NEEDED, Site.TOOL_SCHEMA): "each tool still says what it does and takes",
}
"""By recovery and site; None: any other site."""


@lru_cache(256)
def _solvable(recovery: Recovery, site: Site, faults_per_call: int) -> str:
    how = _HOW.get((recovery, site)) or _HOW[recovery, None]
    return f"Solvable: {how.format(most=_count_faults(faults_per_call))}."
