"""RobustBench-TC, appendix C: its 22 examples under the built-in profiles, on two samples of our own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from tests.injectors.operators.user.asides.meanings import CHEAP, QUICK
from tests.injectors.operators.worked.properties import (
    TRUTH_AGAIN,
    Example,
    Property,
    added,
    each,
    kept,
    more,
    only_in,
    says_anothers,
    says_its_own,
    says_nothing,
    takes_nothing,
    takes_other_things,
)
from tests.injectors.operators.worked.sample import Sample, Tool, View, tool, words

RHYTHM = Sample(
    "Find the type of heart rhythm based on the ECG (Electrocardiogram) recording ID rec58213.",
    (
        tool(
            "list_paintings_in_wing",
            "Retrieve a list of specific works in a certain museum, in a specified wing.",
            museum_name="Identify the museum, such as 'Old Hall'.",
            wing="The specified wing of that museum.",
        ),
        tool(
            "rhythm_type.find",
            "Find the type of a heart rhythm based on the ID of its ECG recording.",
            recording_id="The specified recording's ID, for example rec7.",
            patient_group="The particular group.",
        ),
    ),
    "rhythm_type.find",
    {"recording_id": "rec58213", "patient_group": "adults"},
    '{"rhythm": "sinus"}',
)
ASKED_AT_LENGTH = replace(
    RHYTHM,
    query="Hello, could you please help me? I would like to have the type of heart rhythm that is based on "
    "the ECG (Electrocardiogram) recording ID rec58213, thanks in advance.",
)
"""Typos leave the words alone that a call may need, and the shorter query has hardly any others."""
NOTE = Sample(
    'The text is "Tea with the neighbours" and the place is "Garden Y".',
    (
        tool(
            "ChangeTimer",
            "Changes a timer of a specific user.",
            token="The provided token.",
            time="The time.",
        ),
        tool("FetchToken", "Fetches the token of a specific user.", user="The specified user."),
        tool(
            "AddNote",
            "Creates a note for a specific user.",
            token="The provided token.",
            text="The note's text.",
        ),
    ),
    "FetchToken",
    {"user": "user5"},
    '{"token": "t0k3n"}',
)
TRANSITION = {
    "Timeout": "Tool execution timed out after the configured request timeout. "
    "The remote endpoint did not respond within the allotted time.",
    "RateLim": "HTTP 429 Too Many Requests. "
    "The provider rejected the call because the per-minute rate limit has been exceeded.",
    "AuthErr": "HTTP 401 Unauthorized. "
    "The provider rejected the call because the supplied credentials are invalid or expired.",
    "5xxErr": "HTTP 500 Internal Server Error. The remote endpoint failed to handle the request.",
    "Malform": "Malformed response from tool execution: the body could not be parsed as JSON.",
    "SchemaD": "Schema validation failed: "
    "the response did not match the tool’s declared output schema (extra/missing fields).",
}
"""Appendix G's strings: the benchmark's own, byte for byte."""

Twin = Callable[[Tool, Tool, View], bool]


def _mistyped(clean: View, noisy: View) -> list[tuple[list[str], list[str]]]:
    """The runs of words that differ. A missed or added space makes one word of two, or two of one."""
    was, now = words(clean.query), words(noisy.query)
    runs = SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
    return [(was[a:b], now[c:d]) for kind, a, b, c, d in runs if kind != "equal"]


def _count_typos(clean: View, noisy: View) -> int:
    return sum(min(len(was), len(now)) for was, now in _mistyped(clean, noisy))


def _typed_alike(clean: View, noisy: View) -> bool:
    """The mistyped words have the letters of the true ones, but for two at most for each typo."""
    return bool(_mistyped(clean, noisy)) and all(
        sum((Counter("".join(was)) - Counter("".join(now))).values()) <= 2 * min(len(was), len(now))
        for was, now in _mistyped(clean, noisy)
    )


def _types(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: schema["type"] for name, schema in parameters["properties"].items()}


def _says(parameters: Mapping[str, Any]) -> list[str]:
    return [schema["description"] for schema in parameters["properties"].values()]


def _about_as_long(was: str, now: str) -> bool:
    return abs(len(now) - len(was)) <= 0.2 * len(was)


def duplicate(row: str, says: Twin, takes: Twin) -> Example:
    """A second tool of the same name beside each, which differs in what it says and takes."""
    return Example(
        row,
        NOTE,
        f"robustbench-tc/{row}",
        (
            more("added: a tool of the same name", lambda was, twin, _: twin.name == was.name),
            more(f"added: it {says.__name__.replace('_', ' ')}", says),
            more(f"added: it {takes.__name__.replace('_', ' ')}", takes),
            Property(
                "kept: the true tools as they were, in their order",
                lambda clean, noisy: (
                    len(noisy.tools) > len(clean.tools)
                    and [one for one in noisy.tools if one.true] == list(clean.tools)
                ),
            ),
            only_in("tools"),
        ),
    )


def tempting(row: str, suffix: str, owns_up: str, cue: re.Pattern[str]) -> Example:
    """A distractor whose name tempts and whose description is honest, and a user whom the name tempts."""
    return Example(
        row,
        NOTE,
        f"robustbench-tc/{row}",
        (
            more("added: its name tempts", lambda was, one, _: one.name == was.name + suffix),
            more(
                "added: its description owns up",
                lambda was, one, _: re.search(owns_up, (one.description or "").lower()),
            ),
            more(
                "kept: it says what the true one does, and takes the same",
                lambda was, one, _: (
                    str(one.description).startswith(str(was.description))
                    and one.parameters["properties"].keys() == was.parameters["properties"].keys()
                ),
            ),
            added("the preference that the name speaks to", lambda behind: bool(cue.search(behind))),
            Property(
                "kept: the true tools under their names",
                lambda clean, noisy: (
                    len(noisy.tools) > len(clean.tools)
                    and sorted(one.name for one in noisy.tools if one.true) == sorted(clean.declared)
                ),
            ),
            kept('"Tea with the neighbours"', '"Garden Y"'),
        ),
    )


def abbreviated(row: str, owns_up: str) -> Example:
    """The true tool under an abbreviation, and a distractor under its old name."""
    return Example(
        row,
        RHYTHM,
        f"robustbench-tc/{row}",
        (
            Property(
                "renamed: the true tools are abbreviated",
                lambda clean, noisy: (
                    {name: one.name for name, one in noisy.declared.items()}
                    == {"list_paintings_in_wing": "lst_paint_in_wing", "rhythm_type.find": "rhthm_type.find"}
                ),
            ),
            Property(
                "added: the old full names are the distractors'",
                lambda clean, noisy: {one.name for one in noisy.only_noise} == set(clean.declared),
            ),
            more(
                "added: the distractor owns up",
                lambda was, one, _: re.search(owns_up, (one.description or "").lower()),
            ),
            each(
                "kept: what the true tools say and take",
                lambda was, now: (
                    now.name != was.name
                    and (was.description, was.parameters) == (now.description, now.parameters)
                ),
            ),
            only_in("tools"),
        ),
    )


def transition(row: str) -> Example:
    """The benchmark's string in place of the first call's result."""
    return Example(
        row,
        RHYTHM,
        f"robustbench-tc/{row}",
        (
            Property("the benchmark's string stands there", lambda _, noisy: noisy.first == TRANSITION[row]),
            Property("dropped: the result", lambda clean, noisy: "sinus" not in noisy.first),
            only_in("results"),
            TRUTH_AGAIN,
        ),
    )


DEARER = "pric|cost|fee|charge|tariff|dearer|credits|debited|metered|premium"
SLOWER = "time|long|later|slow|latency|wait|lags|finished|deferred"

EXAMPLES = (
    Example(
        "Typo",
        ASKED_AT_LENGTH,
        "robustbench-tc/Typo",
        (
            Property(
                "two to four words are mistyped", lambda clean, noisy: 2 <= _count_typos(clean, noisy) <= 4
            ),
            Property("by a letter or two each", _typed_alike),
            kept("ECG", "rec58213", "ID"),
            only_in("query"),
        ),
    ),
    Example(
        "QueryPara",
        RHYTHM,
        "robustbench-tc/QueryPara",
        (
            Property(
                "said in another construction, or more politely",
                lambda clean, noisy: clean.query not in noisy.query,
            ),
            kept("the type of heart rhythm based on the ECG (Electrocardiogram) recording ID rec58213"),
            only_in("query"),
        ),
    ),
    Example(
        "ToolPara",
        RHYTHM,
        "robustbench-tc/ToolPara",
        (
            each("reworded: every description", lambda was, now: now.description != was.description),
            each(
                "kept: names, parameters, and about the length",
                lambda was, now: (
                    now.description != was.description
                    and (was.name, was.parameters) == (now.name, now.parameters)
                    and _about_as_long(str(was.description), str(now.description))
                ),
            ),
            Property(
                "kept: technical terms",
                lambda clean, noisy: (
                    noisy.tools != clean.tools
                    and "ECG" in str(noisy.declared["rhythm_type.find"].description)
                ),
            ),
            only_in("tools"),
        ),
    ),
    Example(
        "ParamPara",
        RHYTHM,
        "robustbench-tc/ParamPara",
        (
            each(
                "reworded: every parameter's description",
                lambda was, now: not set(_says(was.parameters)) & set(_says(now.parameters)),
            ),
            each(
                "kept: types, what is required, and what the tools say",
                lambda was, now: (
                    was.parameters != now.parameters
                    and _types(was.parameters) == _types(now.parameters)
                    and was.parameters["required"] == now.parameters["required"]
                    and (was.name, was.description) == (now.name, now.description)
                ),
            ),
            Property(
                "kept: valid values",
                lambda clean, noisy: (
                    noisy.tools != clean.tools
                    and "'Old Hall'" in " ".join(_says(noisy.declared["list_paintings_in_wing"].parameters))
                    and "rec7" in " ".join(_says(noisy.declared["rhythm_type.find"].parameters))
                ),
            ),
            only_in("tools"),
        ),
    ),
    duplicate("Dup-NoDesc", says_nothing, takes_nothing),
    duplicate("Dup-Desc", says_its_own, takes_nothing),
    duplicate("Dup-WrongP", says_nothing, takes_other_things),
    duplicate("Dup-DescWP", says_its_own, takes_other_things),
    duplicate("Dup-SwapDP", says_anothers, takes_other_things),
    Example(
        "RedunTool",
        RHYTHM,
        "robustbench-tc/RedunTool",
        (
            more("added: two neighbours of each tool", lambda was, one, _: one.name not in ("", was.name), 2),
            more(
                "added: with other purposes and parameters",
                lambda was, one, _: (
                    one.description not in (None, was.description) and one.parameters["properties"]
                ),
                2,
            ),
            Property(
                "kept: the true tools as they were",
                lambda clean, noisy: len(noisy.tools) > len(clean.tools) and noisy.declared == clean.declared,
            ),
            only_in("tools"),
        ),
    ),
    tempting("MisDesc", "_Budget", DEARER, CHEAP),
    tempting("TimeDesc", "_Fast", SLOWER, QUICK),
    tempting("MisDesc-N", "_1", DEARER, CHEAP),
    tempting("TimeDesc-N", "_1", SLOWER, QUICK),
    abbreviated("MisDesc-Abbr", DEARER),
    abbreviated("TimeDesc-Abbr", SLOWER),
    *map(transition, TRANSITION),
)
"""Appendix C prints `AddAgenda_1` for MisDesc and TimeDesc too; table 1 has the suffixes _Budget and _Fast,
and so have we."""
