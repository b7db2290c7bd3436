"""`crosswind doctor` lists the tools of a server or an API, and writes a profile to begin with."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.gateway.commands.doctor import doctor
from crosswind.gateway.commands.tool_diagnosis import DiagnosedTool, describe_tools
from crosswind.gateway.tools.safety import assess
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import load, parse
from tests.gateway.tools.shop import OPENAPI, mcp_shop


def run(*arguments: str) -> Any:
    return CliRunner().invoke(doctor, list(arguments), catch_exceptions=False)


@pytest.mark.parametrize("options", [{}, {"json_response": True, "stateless_http": True}])
async def test_the_tools_of_an_mcp_server_are_listed(tmp_path: Path, options: dict[str, Any]) -> None:
    profile = tmp_path / "shop.yaml"
    async with mcp_shop(**options) as shop:
        said = await asyncio.to_thread(run, "--mcp", shop.url, "--write-profile", str(profile), "--json")
    tools = {one["name"]: one for one in json.loads(said.output)["tools"]}
    assert tools["get_order"]["class"] == "read_only"
    assert tools["get_order"]["origin"] in ("annotations", "wording")
    assert "tool.incomplete" in tools["get_order"]["operators"]
    assert tools["place_order"]["class"] not in ("read_only", "idempotent")
    assert "tool.incomplete" not in tools["place_order"]["operators"]
    written = parse(profile.read_text(), str(profile))
    assert written.name == "shop"
    assert written.tool_classes["get_order"].value == "read_only"


def test_the_operations_of_an_openapi_document_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps(OPENAPI))
    profile = tmp_path / "orders.yaml"
    lines = run("--http", str(file), "--write-profile", str(profile)).output.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["tool", "class", "known", "by"],
        ["get_order", "read_only", "method"],
        ["cancel_order", "idempotent", "method"],
    ]
    assert any(line.startswith("noise for read_only, idempotent: tool.execution_failure") for line in lines)
    assert lines[-1].startswith(f"wrote {profile}: correct its classes")
    assert max(map(len, lines[:-1])) <= 80


def test_a_tool_that_writes_is_listed_with_the_word_that_says_so_and_the_fix() -> None:
    tool = ToolSchema("frobnicate", "Cancels an order.", {})
    safety = assess(make_plan(load("off"), Seed(0, "test", "session")), tool.name, [tool])
    lines = list(describe_tools([DiagnosedTool(tool.name, safety)]))
    assert lines[1].split(None, 2) == ["frobnicate", "destructive", "'cancels' in its description"]
    assert "`--tools-read-only NAME`" in " ".join(lines)


def test_a_server_without_tools_is_told() -> None:
    assert list(describe_tools([])) == ["no tools"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--http", "missing.yaml"], "give its file or its URL"),
        (["--mcp", "http://127.0.0.1:9/mcp"], "start it, or correct the URL"),
        (["--mcp", "http://a", "--http", "b"], "give either --mcp or --http"),
    ],
)
def test_what_cannot_be_listed_says_why(arguments: list[str], said: str) -> None:
    found = run(*arguments)
    assert found.exit_code != 0
    assert said in found.output
