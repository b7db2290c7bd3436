"""A guard that slept is caught: each guarantee, with session, turn and event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crosswind.injectors import operator
from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.engine.counters import BranchCounters
from crosswind.injectors.engine.faults import LinkRules
from crosswind.injectors.faults import fault_from
from crosswind.injectors.guard import shown_text, solvability
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Recovery, ToolChange, ToolResultTarget, ToolTarget, UserTarget
from tests.gateway.dialogue import body, result, user
from tests.gateway.servers import gateway, upstream
from tests.studies.audit.stores import audited, broken, store


class Evil:
    """Severity: none; it does harm always."""

    def __init__(self, harm: Callable[[Any], Any], draw: Draw) -> None:
        self._harm, self._draw = harm, draw

    def draw(self, target: Any, rng: SeededRandom, severity: float) -> Draw:
        return self._draw

    def apply(self, target: Any, draw: Draw) -> operator.Result:
        return operator.Result(self._harm(target), "Harm was done.")


@pytest.fixture
def evil() -> Iterator[Callable[..., str]]:
    """Registers an operator that does this harm, and gives the profile that has it."""
    before = dict(operator._registered)

    def register(
        harm: Callable[[Any], Any],
        site: Site,
        recovery: Recovery,
        *,
        fault: bool = False,
        draw: Draw | None = None,
        bounds: str = "{}",
    ) -> str:
        operator._registered["user.evil"] = operator.Registered(
            "user.evil", site, recovery, Evil(harm, draw or {}), fault=fault
        )
        rule = "rules: [{operator: user.evil, severity: 1}]"
        return f"name: evil\nbounds: {bounds}\n{rule}\n"

    yield register
    operator._registered.clear()
    operator._registered.update(before)


@pytest.fixture
def asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard lets everything through."""

    def nothing(*_: Any, **__: Any) -> None:
        return None

    for module, names in (
        (solvability, ("check_fault", "check_user_text", "check_tool_result")),
        (shown_text, ("check_shown_text",)),
        (tool_guard, ("check_change", "check_shown", "check_duplicates")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, nothing)
    monkeypatch.setattr(BranchCounters, "full", nothing)
    monkeypatch.setattr(LinkRules, "_may_destroy", lambda *_: True)


def without_figures(target: UserTarget) -> str:
    return "".join(letter for letter in target.text if not letter.isdigit())


def another_status(target: ToolResultTarget) -> str:
    return target.text.replace("shipped", "delivered")


def without_parameters(target: ToolTarget) -> ToolChange:
    return ToolChange(ToolSchema(target.tool.name, "Look up an order.", {"type": "object", "properties": {}}))


TIMED_OUT = "Tool execution timed out."


@pytest.mark.usefixtures("asleep")
@pytest.mark.parametrize(
    "guarantee,turn,what,given",
    [
        (
            "protected entities",
            0,
            "'W17' is lost",
            {"harm": without_figures, "site": Site.USER_TEXT, "recovery": Recovery.NONE_NEEDED},
        ),
        (
            "protected entities",
            0,
            "'W99' is made up",
            {
                "harm": lambda target: f"{target.text} Or W99.",
                "site": Site.USER_TEXT,
                "recovery": Recovery.IGNORE,
            },
        ),
        (
            "contradictions settled",
            0,
            "is what was said last",
            {
                "harm": lambda target: f"This is final: W17. {target.text} Green, no, I mean.",
                "site": Site.USER_TEXT,
                "recovery": Recovery.IGNORE,
                "draw": {"final": ["W17"], "wrong": {"W17": ["Green"]}},
            },
        ),
        (
            "contradictions settled",
            0,
            "isn't settled",
            {
                "harm": lambda target: f"Not W17 maybe. {target.text}".replace("Not W17", "Not this"),
                "site": Site.USER_TEXT,
                "recovery": Recovery.IGNORE,
                "draw": {"final": ["W17"]},
            },
        ),
        (
            "true value",
            1,
            "values are gone, and 'ignore' brings none back",
            {"harm": lambda _: TIMED_OUT, "site": Site.TOOL_RESULT, "recovery": Recovery.IGNORE},
        ),
        (
            "true value",
            1,
            "no other tool is declared",
            {
                "harm": lambda _: TIMED_OUT,
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.OTHER_TOOL,
                "fault": True,
            },
        ),
        (
            "detectable",
            1,
            "could be taken for a true one",
            {"harm": another_status, "site": Site.TOOL_RESULT, "recovery": Recovery.RETRY, "fault": True},
        ),
        (
            "forced success",
            2,
            "fault 2 of 1 on get_order",
            {
                "harm": lambda _: TIMED_OUT,
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.RETRY,
                "fault": True,
            },
        ),
        (
            "forced success",
            2,
            "fault 2 of 1 in all",
            {
                "harm": lambda _: TIMED_OUT,
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.RETRY,
                "fault": True,
                "bounds": "{faults_per_call: 1, faults_per_session: 1}",
            },
        ),
        (
            "forced success",
            1,
            "2 turns in a row destroyed",
            {
                "harm": lambda _: fault_from({"where": "request", "kind": "status", "status": 503}),
                "site": Site.TRANSPORT,
                "recovery": Recovery.RETRY,
                "fault": True,
            },
        ),
        (
            "dose caps",
            2,
            "injection 2 of 1",
            {
                "harm": lambda target: f"{target.text} ",
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.IGNORE,
                "bounds": "{events_per_session: 1}",
            },
        ),
        (
            "dose caps",
            2,
            "injection 2 of 1 on get_order",
            {
                "harm": lambda target: f"{target.text} ",
                "site": Site.TOOL_RESULT,
                "recovery": Recovery.IGNORE,
                "bounds": "{events_per_tool: 1}",
            },
        ),
        (
            "true tools",
            0,
            "get_order: the declared tool takes other parameters than it did",
            {"harm": without_parameters, "site": Site.TOOL_SCHEMA, "recovery": Recovery.IGNORE},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_guard_that_slept_is_caught(
    tmp_path: Path,
    evil: Callable[..., str],
    guarantee: str,
    turn: int,
    what: str,
    given: dict[str, Any],
) -> None:
    await store(tmp_path, evil(**given), statuses=True)
    found = [one for one in await asyncio.to_thread(broken, tmp_path) if one["guarantee"] == guarantee]
    first = next((one for one in found if what in one["what"]), None)
    assert first is not None, found
    assert (first["session"], first["turn"], first["operator"]) == ("s0", turn, "user.evil")
    assert first["event"] is not None
    told = await asyncio.to_thread(audited, tmp_path)
    assert told.exit_code == 1 and f"BROKEN {guarantee}: session s0, turn {turn}, event" in told.output


@pytest.mark.usefixtures("asleep")
async def test_a_write_that_was_destroyed_is_caught(tmp_path: Path, evil: Callable[..., str]) -> None:
    profile = evil(lambda _: TIMED_OUT, Site.TOOL_RESULT, Recovery.RETRY, fault=True)
    function = {"name": "cancel_order", "arguments": "{}"}
    called = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    async with upstream() as app, gateway(tmp_path, app, noise=profile) as running:
        await running.chat(body(user("Cancel it."), called, result("c", "W1")), "s0")
        await running.flush()
    [found] = await asyncio.to_thread(broken, tmp_path)
    assert found["guarantee"] == "tool classes"
    assert found["what"] == "cancel_order is destructive: a retry would repeat what it did"
