"""Errors that name the tool to call first."""

from __future__ import annotations

import re
from typing import Any

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.operators.tool.prerequisite import find_prerequisite
from crosswind.injectors.targets import ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import looks_destroyed
from crosswind.injectors.text.languages import UNABLE
from tests.injectors.dialogues import call, conversation
from tests.injectors.plans import plan_of

NAMES = {
    "get_ward": ["ward_id"],
    "list_wards": [],
    "find_patients": [],
    "get_patient": ["patient_id"],
    "admit_patient": ["patient_id"],
    "get_invoice": ["invoice_id"],
}


def declare(name: str, needs: list[str]) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in needs}
    parameters = {"type": "object", "properties": properties, "required": needs}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


TOOLS = [declare(name, needs) for name, needs in NAMES.items()]
PROFILE = "name: t\nbounds: {{faults_per_call: {}}}\nrules: [{{operator: tool.prerequisite, severity: 1.0}}]"
RESULT = '{"patient_id": "P1", "pulse": 82}'


def met(messages: list[dict[str, Any]], seed: int, per_call: int = 1) -> list[tuple[str, str | None]]:
    """By result: what was shown, and the tool that it asked for (None: none)."""
    new = perturb_messages(plan_of(PROFILE.format(per_call), seed), conversation(messages, TOOLS), {}).new
    return [
        (one.text or one.item.text, next((each.draw["first"] for each in one.decisions), None)) for one in new
    ]


def read(at: int, patient: str = "P1") -> list[dict[str, Any]]:
    return call("get_patient", {"patient_id": patient}, RESULT, at)


def test_what_it_names_is_declared_only_reads_and_needs_no_more_than_the_call_gave() -> None:
    named = set()
    for seed in range(60):
        [(text, first)] = met(read(0), seed)
        if first is not None:
            assert first in text and looks_destroyed(text, RESULT)
            named.add(first)
    assert named == {"find_patients"}


def test_what_it_names_may_take_what_an_earlier_call_was_given_or_brought() -> None:
    tools = [declare("get_ward", ["ward_id"]), declare("list_patients", ["ward_id"]), TOOLS[3]]
    ward = call("get_ward", {"ward_id": "W1"}, '{"beds": 4}', 0)
    brought = call("get_invoice", {"invoice_id": "I1"}, '{"ward_id": "W1"}', 0)

    def named(before: list[dict[str, Any]]) -> set[str | None]:
        given = conversation([*before, *read(1)], tools)
        plans = (plan_of(PROFILE.format(1), seed) for seed in range(40))
        last = [perturb_messages(plan, given, {}).new[-1] for plan in plans]
        return {next((each.draw["first"] for each in one.decisions), None) for one in last}

    assert "list_patients" in named(ward) and "list_patients" in named(brought)
    assert "list_patients" not in named([])


def test_a_call_of_what_it_names_lifts_it_for_every_call_of_the_tool() -> None:
    lifted = 0
    for seed in range(60):
        first = met(read(0), seed, 3)[0][1]
        if first is None:
            continue
        lifted += 1
        again = met([*read(0), *read(1), *read(2, "P2")], seed, 3)
        assert [one[1] for one in again] == [first] * 3, "nobody called it, and it is asked for again"
        messages = [*read(0), *call(first, {}, '{"wards": [1, 2]}', 1), *read(2), *read(3, "P2")]
        after = met(messages, seed, 3)
        assert after[0][1] == first
        assert [one[1] for one in after[2:]] == [None, None]
    assert lifted > 20


def test_the_same_call_made_again_succeeds_in_any_case_where_a_call_fails_once() -> None:
    for seed in range(40):
        shown = met([*read(0), *read(1)], seed)
        assert shown[1][0] == RESULT


def test_no_two_tools_ask_for_each_other() -> None:
    for seed in range(80):
        asks = {}
        for name in ("list_wards", "find_patients", "get_patient"):
            arguments = {"patient_id": "P1"} if name == "get_patient" else {}
            asks[name] = met(call(name, arguments, RESULT, 0), seed)[0][1]
        for name, first in asks.items():
            assert first is None or asks.get(first) != name


def test_a_tool_that_was_called_before_is_never_asked_for() -> None:
    for seed in range(60):
        messages = [
            *call("list_wards", {}, '{"wards": [1, 2]}', 0),
            *call("find_patients", {}, '{"doctors": [1, 2]}', 1),
            *read(2),
        ]
        assert met(messages, seed)[2][1] is None


def test_only_a_tool_that_makes_sense_is_named() -> None:
    for seed in range(40):
        assert met(call("get_invoice", {"invoice_id": "I1"}, RESULT, 0), seed)[0][1] is None
        text, first = met(call("admit_patient", {"patient_id": "P1"}, RESULT, 0), seed)[0]
        assert first in (None, "find_patients") and text


def test_without_such_a_tool_the_result_stays_and_the_event_says_why() -> None:
    plan = plan_of(PROFILE.format(1), 0)
    messages = conversation(call("list_wards", {}, RESULT, 0), TOOLS)
    [one] = perturb_messages(plan, messages, {}).new
    assert one.text in (None, RESULT)
    assert [UNABLE in each.decision.draw for each in one.injections] == [True]


def test_a_login_is_asked_for_by_the_tools_of_its_own_system_only() -> None:
    tools = [named("post_status", "Belongs to the posting system."), named("unlock_doors", "Unlock the car.")]
    login, status = (
        named("posting_login", "Log in."),
        named("posting_get_login_status", "Says who is logged in."),
    )
    posts, doors, checked = (
        find_prerequisite(
            ToolResultTarget("{}", 0, tool.name, '{"text": "a"}', ToolClass.READ_ONLY, 0, (*tools, first))
        )
        for tool, first in ((tools[0], login), (tools[1], login), (tools[0], status))
    )
    assert posts == login and doors is None and checked is None


def test_a_login_whose_credentials_nobody_gave_is_asked_for_because_the_session_expired() -> None:
    tools = [declare("posting_login", ["user_name", "password"]), declare("posting_get_drafts", ["topic"])]
    sent = [one for at in range(2) for one in call("posting_get_drafts", {"topic": "x"}, RESULT, at)]
    for seed in range(40):
        for said, ended in (
            ("Which drafts are there?", True),
            ("My user name is ann and my password is x1.", False),
        ):
            messages = [{"role": "user", "content": said}, *sent]
            plan = plan_of(PROFILE.format(1), seed)
            *_, first, again = perturb_messages(plan, conversation(messages, tools), {}).new
            text = first.text or ""
            assert "posting_login" in text
            assert (ENDED.search(text) is not None) == ended, text
            assert again.text in (None, RESULT)


ENDED = re.compile(
    "expired|ended|timed out|(?:logged|signed) out|no longer|closed|over|lapsed|too old|past its",
    re.IGNORECASE,
)


def test_only_what_brings_an_id_that_the_call_needs_is_asked_for() -> None:
    for seed in range(40):
        assert met(call("get_patient", {"patient_id": "P1"}, RESULT, 0), seed)[0][1] in (
            None,
            "find_patients",
        )
        assert met(call("admit_patient", {"patient_id": "P1"}, RESULT, 0), seed)[0][1] != "get_patient"


def named(name: str, description: str) -> ToolSchema:
    return ToolSchema(name, description, {"type": "object", "properties": {}, "required": ["text"]})
