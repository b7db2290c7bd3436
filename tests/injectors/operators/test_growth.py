"""A text twice as long is twice the work: a long message must not block everybody else's.

Counted, not timed: the calls, and the characters that methods of strings read from end to end. Work done in a
single regular expression isn't seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from crosswind.injectors.engine.messages import perturb_messages
from tests.injectors.dialogues import call, conversation
from tests.injectors.plans import plan_with

ON_PROSE = ("user.typos", "user.ambiguous", "user.inconsistent", "user.paraphrase")
ON_RESULTS = (
    *("tool.redundant", "tool.misleading", "tool.prompt_injection", "tool.erroneous", "tool.incomplete"),
    *("tool.context_pressure", "tool.misread", "tool.numeric_noise", "tool.fabricated_observation"),
)
SENTENCE = "Please check whether my parcel has left the warehouse and tell me when it should be here. "
NAMES = "Move the alpha folder and the beta file to Berlin on May 14. "
UNITS = (
    *(SENTENCE, NAMES, "the alpha folder and ", "file ", "A. ", "Ä. "),
    *("a", "7", '"', "'", "“", "({[", " ", " \n"),
)
LENGTH = 17_000
"""Characters of the shorter text: more than those of the texts that anything is remembered of."""
MOST = 2.6
"""How many times as much twice the text may take: two but for caches. Quadratic work would take four."""
_WHOLE = {"count", "lower", "upper", "casefold", "split", "splitlines", "translate", "replace", "strip"}
"""Methods of strings that read all of it."""

_PLACE = {"type": "string"}
_TOOL = {
    "name": "move_file",
    "description": "Move a file.",
    "parameters": {"type": "object", "properties": {"source": _PLACE, "folder": _PLACE, "date": _PLACE}},
}
TOOLS = [{"type": "function", "function": _TOOL}]


@pytest.mark.parametrize("operator", ON_PROSE)
def test_work_on_a_message_grows_with_its_length(operator: str) -> None:
    _check(operator, lambda text: [{"role": "user", "content": text}])


@pytest.mark.parametrize("operator", ON_RESULTS)
def test_work_on_a_result_grows_with_its_length(operator: str) -> None:
    asked = {"role": "user", "content": "Please move the file for me."}
    _check(operator, lambda text: [asked, *call("move_file", {"source": "a.txt"}, text, 0)])


def _check(operator: str, write: Callable[[str], list[dict[str, Any]]]) -> None:
    plan = plan_with(operator, user_can_answer=True)

    def work_on(unit: str, length: int) -> int:
        """At least a step a character of the shorter text: how few there are says nothing."""
        # Another length for each operator: what one read isn't remembered for the next.
        text = unit * (length // len(unit) + len(operator))
        given = conversation(write(text), TOOLS)
        return max(_count_steps(lambda: perturb_messages(plan, given, {})), LENGTH)

    for unit in (SENTENCE, *UNITS):
        work_on(unit, LENGTH + 3_000)  # Word lists, patterns and a text's beginning are read once.
    grown = {unit: work_on(unit, 2 * LENGTH) / work_on(unit, LENGTH) for unit in UNITS}
    assert {unit: times for unit, times in grown.items() if times > MOST} == {}


def _count_steps(work: Callable[[], object]) -> int:
    """The calls while it works, and the characters that are read as a whole."""
    steps = 0

    def count(frame: FrameType, event: str, called: Any) -> None:
        nonlocal steps
        if event == "call":
            steps += 1
        elif event == "c_call":
            steps += 1
            read = getattr(called, "__self__", None)
            if isinstance(read, str) and called.__name__ in _WHOLE:
                steps += len(read)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return steps
