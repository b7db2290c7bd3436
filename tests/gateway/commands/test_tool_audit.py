"""`crosswind tools audit`: calls are delivered twice to real servers, and the state says what that did."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.gateway.commands.tools import tools
from tests.gateway.tools.shop import mcp_shop

LIST = [{"tool": "list_entries"}]
LEDGER = Path(__file__).with_name("ledger_server.py")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(tools, ["audit", *arguments], catch_exceptions=False)


def calls(folder: Path, *entries: dict[str, Any]) -> str:
    file = folder / "calls.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in entries))
    return str(file)


def ledger(folder: Path) -> list[str]:
    return ["--", sys.executable, str(LEDGER), str(folder / "ledger.json")]


def verdicts(said: Any) -> dict[str, str]:
    return {one["tool"]: one["verdict"] for one in json.loads(said.stdout)["tools"]}


def test_each_tool_of_a_server_over_stdio_has_its_verdict(tmp_path: Path) -> None:
    file = calls(
        tmp_path,
        {"tool": "append", "arguments": {"name": "a"}, "reads": LIST},
        {"tool": "put", "arguments": {"name": "b"}, "reads": LIST},
        {"tool": "create", "arguments": {"name": "c"}, "reads": LIST},
        {"tool": "send", "arguments": {"name": "d"}, "reads": LIST},
        {"tool": "list_entries", "reads": LIST},
        {"tool": "refuse", "reads": LIST},
        {"tool": "die", "reads": LIST},
        {"tool": "put", "arguments": {"name": "e"}, "reads": [{"tool": "count_reads"}]},
    )
    said = run("--calls", file, "--json", "--fail", *ledger(tmp_path))
    rows = json.loads(said.stdout)["tools"]
    assert [one["verdict"] for one in rows] == [
        "unsafe: applied twice",
        "safe",
        "refused: the server noticed",
        "unknown: reads show no effect",
        "safe",
        "unknown: the call failed",
        "unknown: the call failed",
        "unknown: reads differ by themselves",
    ]
    assert "list_entries" in rows[0]["seen"]
    assert "c exists" in rows[2]["seen"]
    assert "not today" in rows[5]["seen"]
    assert "has ended" in rows[6]["seen"]
    assert json.loads((tmp_path / "ledger.json").read_text()) == ["a", "a", "b", "c"]
    assert said.exit_code == 1


@pytest.mark.parametrize("options", [{}, {"json_response": True, "stateless_http": True}])
async def test_a_server_over_http_gets_each_call_twice_and_nothing_else(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text(
        "- tool: place_order\n"
        "  arguments: {item: lamp}\n"
        "  reads: [{tool: get_order, arguments: {order_id: 1}}]\n"
    )
    result = tmp_path / "audit.md"
    async with mcp_shop(**options) as shop:
        said = await asyncio.to_thread(run, "--calls", str(file), "--mcp", shop.url, "--out", str(result))
        assert said.exit_code == 0, said.output
        assert shop.orders == ["lamp", "lamp"]
        assert (shop.calls("get_order"), shop.calls("find_order")) == (6, 0)
    # The read doesn't show the orders: that is no proof of safety.
    assert ": unknown: reads show no effect\n" in result.read_text()
    assert "place_order" in said.stderr


def test_a_dry_run_prints_the_calls_and_starts_nothing(tmp_path: Path) -> None:
    file = calls(tmp_path, {"tool": "append", "arguments": {"name": "a"}, "reads": LIST})
    said = run("--calls", file, "--dry-run", *ledger(tmp_path))
    assert 'append {"name": "a"}' in said.output
    assert "list_entries {}" in said.output
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"tool": "apend", "reads": LIST}, "the server has no tool 'apend': did you mean 'append'"),
        ({"tool": "append", "reads": [{"tool": "list"}]}, "the server has no tool 'list'"),
        ({"tool": "append"}, "call 1, reads: write the reads that show what the call changes"),
        ({"tool": "append", "reads": LIST, "argument": {}}, "call 1, argument: Extra inputs"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_before_any_call(
    tmp_path: Path, entry: dict[str, Any], said: str
) -> None:
    other = {"tool": "append", "arguments": {"name": "a"}, "reads": LIST}
    found = run("--calls", calls(tmp_path, entry, other), *ledger(tmp_path))
    assert found.exit_code != 0
    assert said in found.output
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (
            "2026-12-03",
            "calls.yaml:3: 2026-12-03: YAML reads it as date, which JSON doesn't have there",
        ),
        ("[1, {at: 2026-12-03 10:00:00}]", "calls.yaml:3: 2026-12-03 10:00:00: YAML reads it as datetime"),
        ("{1: a}", "calls.yaml:3: 1: YAML reads it as int"),
        (".inf", "calls.yaml:3: inf: YAML reads it as float"),
        ("&a [*a]", "calls.yaml:3: it holds itself"),
        ("a, name: b", "calls.yaml:3: not valid YAML: the key 'name'"),
    ],
)
def test_what_json_cannot_hold_is_refused_before_any_call(tmp_path: Path, argument: str, said: str) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text(
        "- {tool: append, arguments: {name: a}, reads: [{tool: list_entries}]}\n"
        "- tool: append\n"
        f"  arguments: {{name: {argument}}}\n"
        "  reads: [{tool: list_entries}]\n"
    )
    found = run("--calls", str(file), *ledger(tmp_path))
    assert found.exit_code == 1 and said in found.output
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (["--mcp", "http://127.0.0.1:9/mcp"], "start it, or correct the URL"),
        (["--", "no-such-command"], "give the server's command behind `--`"),
        (["--", "true"], "has ended"),
        (["--timeout", "0.2", "--", "sleep", "60"], "gave no answer in 0.2 s"),
        ([], "give either --mcp URL or the server's command"),
        (["--mcp", "http://a", "--key-env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_a_server_that_cannot_be_asked_says_why(tmp_path: Path, server: list[str], said: str) -> None:
    found = run("--calls", calls(tmp_path, {"tool": "append", "reads": LIST}), *server)
    assert found.exit_code not in (0, None)
    assert said in found.output
