"""Messages in place of a result: failures of the tool, in the formats of real systems."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from crosswind.injectors import registry
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.shapes import find_shape
from crosswind.injectors.targets import Branch, Half, ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import is_container, looks_destroyed, parse_json
from tests.injectors.operators.acting import outcomes, result_target


def tool(name: str, *required: str) -> ToolSchema:
    return ToolSchema(name, "", {"type": "object", "properties": {}, "required": list(required)})


CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "hospital": ("get_patient_vitals", {"patient_id": "P-4471"}, '{"patient_id": "P-4471", "pulse": 82}'),
    "sql": ("run_query", {"sql": "SELECT id FROM customers"}, '[{"id": 1}, {"id": 2}]'),
    "sql text": ("execute_sql", {"query": "SELECT count(*) FROM visits"}, " count\n-------\n   312\n(1 row)"),
    "shell": ("bash", {"command": "cat /etc/hosts"}, "127.0.0.1 localhost\n::1 localhost"),
    "files": ("cat", {"file_name": "notes.txt"}, '{"file_content": "buy milk"}'),
    "git": ("mcp__git__git_log", {"repo_path": "/srv/app"}, "commit 4f2a9c1\nAuthor: Kim\n\n  Fix it"),
    "mcp": ("mcp__weather__get_forecast", {"city": "Oslo"}, '{"content": [{"type": "text", "text": "4 C"}]}'),
    "hotel": ("hotel_search", {"city": "Lisbon"}, '{\n  "hotels": [{"name": "Alba"}],\n  "count": 1\n}'),
    "home": ("get_thermostat", {"device_id": "th-2"}, '{"device_id": "th-2", "target": 21.5}'),
    "bank": ("list_transactions", {"account_id": "AT61"}, '[{"id": "t1", "amount": -12.5}]'),
    "web": ("fetch_url", {"url": "https://docs.acme.io/setup"}, "Setup guide. Install it with pip."),
    "graphql": ("graphql_query", {"query": "{ viewer { login } }"}, '{"data": {"viewer": {"login": "kim"}}}'),
    "code": ("python_interpreter", {"code": "print(1 + 1)"}, "2"),
}


def target(case: str, key: str = "0", half: Half = Half.TRAIN, ordinal: int = 0) -> ToolResultTarget:
    name, arguments, text = CASES[case]
    tools = (tool(name, *arguments), tool("list_things"))
    given = json.dumps(arguments)
    return ToolResultTarget(
        text, ordinal, name, given, ToolClass.READ_ONLY, 0, tools, branch=Branch(half, key, "Hello")
    )


def drawn(operator: str, of: ToolResultTarget, seed: int = 0, **options: Any) -> dict[str, Any]:
    draw = registry.resolve(operator).draw(options, of, SeededRandom(f"{seed}"), 1.0)
    assert draw is not None
    return dict(draw)


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize("case", CASES)
def test_an_error_shows_that_it_is_one_and_fits_what_the_tool_gives(case: str, half: Half) -> None:
    """In place of JSON stands JSON, or what stands before a system: a proxy's page, or a client's text."""
    shapes = Counter[bool]()
    for seed in range(150):
        of = target(case, f"{seed}", half)
        text = drawn("tool.execution_failure", of, seed)["text"]
        assert looks_destroyed(text, of.text), text
        assert "{" not in text.replace("{'", "") or not any(f"{{{slot}" in text for slot in ("int:", "one:"))
        shapes[is_container(parse_json(text))] += 1
        if find_shape(of.text) == "text":
            assert not is_container(parse_json(text)), text
        if find_shape(of.text) == "mcp":
            value = parse_json(text)
            assert value.get("isError") is True or "error" in value
    if case not in ("sql",) and is_container(parse_json(target(case).text)):
        assert shapes[True] > 75


@pytest.mark.parametrize("case", CASES)
def test_a_system_keeps_its_format_for_the_whole_session_and_others_have_others(case: str) -> None:
    stacks = set()
    for key in range(30):
        ours = {
            drawn("tool.execution_failure", target(case, f"{key}", ordinal=at), at)["stack"]
            for at in range(20)
        }
        assert len(ours) == 1
        stacks |= ours
    assert len(stacks) > 1


def test_the_tools_of_one_backend_share_a_format() -> None:
    names = ("github_get_issue", "github_list_issues", "github_search_code")
    tools = tuple(tool(name) for name in names)
    for key in range(20):
        of = [
            ToolResultTarget("[1]", 0, name, "{}", ToolClass.READ_ONLY, 0, tools, branch=Branch(key=f"{key}"))
            for name in names
        ]
        assert len({drawn("tool.execution_failure", one)["stack"] for one in of}) == 1


@pytest.mark.parametrize("case", CASES)
def test_the_halves_share_no_format(case: str) -> None:
    train, test = (
        {drawn("tool.execution_failure", target(case, f"{key}", half))["stack"] for key in range(60)}
        for half in Half
    )
    assert train.isdisjoint(test)


def test_two_hundred_seeds_give_many_texts_where_what_a_system_says_has_ids_and_times() -> None:
    """A device, a shell and a function say no ids: they have fewer texts, and each in its own words."""
    for case, least in (("hospital", 140), ("hotel", 140), ("bank", 130), ("mcp", 90), ("home", 80)):
        texts = {
            drawn("tool.execution_failure", target(case, f"{seed}"), seed)["text"] for seed in range(200)
        }
        assert len(texts) >= least, case


def test_the_four_status_codes_of_the_paper_are_equally_likely_and_stated() -> None:
    kinds = Counter[str]()
    for seed in range(400):
        draw = drawn(
            "tool.execution_failure", target("hotel", f"{seed}"), seed, kinds=("401", "403", "408", "429")
        )
        kinds[draw["kind"]] += 1
    assert set(kinds) == {"401", "403", "408", "429"}
    assert all(70 < count < 130 for count in kinds.values())
    every = {drawn("tool.execution_failure", target("hotel"), seed)["kind"] for seed in range(100)}
    assert len(every) == 7


def test_an_error_repeats_no_secret_of_the_call_and_no_value_of_the_result() -> None:
    arguments = {
        "user": "kim",
        "password": "hunter22",
        "api_key": "sk-abc123",
        "card_number": "4111111111111111",
    }
    for seed in range(300):
        of = replace(
            target("home", f"{seed}", Half.TEST if seed % 2 else Half.TRAIN),
            arguments=json.dumps(arguments),
            text='{"balance": 98765.43, "holder": "Zwingli"}',
        )
        text = drawn("tool.execution_failure", of, seed)["text"]
        assert not any(secret in text for secret in ("hunter22", "sk-abc123", "4111111111111111"))
        assert "98765.43" not in text and "Zwingli" not in text


def test_severity_is_the_probability() -> None:
    assert 180 < len(outcomes("tool.execution_failure", severity=0.7, seeds=300)) < 240


@pytest.mark.parametrize(
    "name",
    ["timeout", "rate_limit", "auth_error", "server_error", "malformed_response", "schema_drift"],
)
def test_the_papers_strings_stay_and_a_real_form_may_be_asked_for(name: str) -> None:
    assert len(set(outcomes(f"tool.{name}"))) == 1
    of = [target("hotel", f"{seed}") for seed in range(60)]
    real = [drawn(f"tool.{name}", one, at, form="stack")["text"] for at, one in enumerate(of)]
    assert len(set(real)) > 40
    assert all(looks_destroyed(text, of[0].text) for text in real)


def test_a_write_that_was_carried_out_is_never_said_to_have_done_nothing() -> None:
    write = replace(result_target(), tool_class=ToolClass.DESTRUCTIVE)
    entry = registry.resolve("tool.silent_noop")
    for of in (write, result_target()):
        draw = entry.draw({}, of, SeededRandom("1"), 1.0)
        assert draw is None or str(entry.apply(of, draw).payload) == of.text
    assert entry.draw({}, write, SeededRandom("1"), 1.0) is not None


@pytest.mark.parametrize("operator", ["tool.rate_limit", "tool.auth_error", "tool.server_error"])
def test_only_a_service_says_the_papers_status_of_http(operator: str) -> None:
    named = {
        "rhythm_type.find": "HTTP",
        "find_order": "HTTP",
        "send_message": "HTTP",
    }
    for name in (
        *named,
        "ls",
        "fs.ls",
        "git_log",
        "bash",
        "startEngine",
        "run_sql",
        "calculate_area",
        "mcp__shop__find",
    ):
        given = json.dumps({"message": "Select one from the list and update it, please set it."})
        of = ToolResultTarget('{"done": true}', 0, name, given, ToolClass.READ_ONLY)
        for seed in range(20):
            assert ("HTTP " in drawn(operator, of, seed)["text"]) is (name in named), name


def test_changing_the_folder_fails_only_as_it_can() -> None:
    for shown in outcomes_of("cd", {"folder": "project"}, '{"current_working_directory": "project"}'):
        assert not any(
            said in shown for said in ("Read-only", "Connection timed out", "Timer", "fork", "Input/output")
        )


def outcomes_of(name: str, arguments: dict[str, Any], text: str) -> list[str]:
    """What stands in place of a call's result, over seeds and both halves."""
    entry, found = registry.resolve("tool.execution_failure"), []
    for seed in range(120):
        one = ToolResultTarget(
            text,
            0,
            name,
            json.dumps(arguments),
            ToolClass.READ_ONLY,
            branch=Branch(list(Half)[seed % 2], f"{seed}"),
        )
        draw = entry.draw({}, one, SeededRandom(f"{seed}"), 1.0)
        assert draw is not None
        found.append(str(entry.apply(one, draw).payload))
    return found
