"""The log as machines read it: JSON from the first line, stable codes, an access log, counted repetitions."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.gateway.telemetry.codes import CODES, code_of
from crosswind.gateway.telemetry.repeats import RepeatFilter
from crosswind.testing.replies import plain
from tests import ROOT
from tests.gateway.dialogue import body, user
from tests.gateway.servers import upstream
from tests.loop.children import Child, Children

MESSAGE = {"role": "assistant", "content": "hello"}
ANSWER = {"object": "chat.completion", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}


def logged(child: Child) -> list[dict[str, Any]]:
    return [json.loads(line) for line in child.said.splitlines()]


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_json_log_is_json_throughout_and_has_an_event_for_each_request(
    tmp_path: Path, children: Children, workers: int
) -> None:
    environment = {"CROSSWIND_LOG__FORMAT": "json", "CROSSWIND_LOG__ACCESS": "true"}
    ports = ("--host", "0.0.0.0", "--port", "0", "--control-port", "0", "--workers", str(workers))
    async with upstream(plain(ANSWER)) as app, httpx.AsyncClient(trust_env=False) as http:
        serve = children.start(
            "serve", "--upstream", f"{app.url}/v1", *ports, cwd=tmp_path, environment=environment
        )
        [banner] = serve.until(
            lambda: [one for one in serve.until(lambda: logged(serve)) if one["code"] == "serving"]
        )
        assert banner["data_plane"].startswith("http://0.0.0.0:") and banner["profile"] == "off"
        data = banner["data_plane"].replace("0.0.0.0", "127.0.0.1")
        secret = {"authorization": "Bearer sk-hidden-1"}
        asked = body(user("the-hidden-text"))
        assert (await http.post(f"{data}/chat/completions", json=asked, headers=secret)).status_code == 200
        assert (await http.get(f"{data}/sk-hidden-2?key=sk-hidden-3")).status_code == 200
        assert (await http.get(f"{banner['control_plane']}/api/sessions/sk-hidden-4")).status_code == 404
        assert (await http.get(f"{data}s/nowhere")).status_code == 404
    assert serve.stop() == 0, serve.said
    requests = [one for one in logged(serve) if one["code"] == "request"]
    shown = {(one["plane"], one["method"], one["route"], one["status"]) for one in requests}
    assert shown == {
        ("data", "POST", "chat", "200"),
        ("data", "GET", "pass_through", "200"),
        ("data", "GET", "none", "404"),
        ("control", "GET", "/api/sessions/{session_id}", "404"),
    }
    assert len(requests) == 4 and all(one["ms"] >= 0 for one in requests)
    assert all(one["session"] for one in requests if one["route"] == "chat")
    assert "hidden" not in "".join(json.dumps(one) for one in requests)


def test_the_banner_names_the_address_that_is_bound(tmp_path: Path, children: Children) -> None:
    ports = ("--host", "0.0.0.0", "--port", "0", "--control-port", "0")
    serve = children.start("serve", "--upstream", "http://127.0.0.1:9/v1", *ports, cwd=tmp_path)
    assert serve.address("data plane").startswith("http://0.0.0.0:")
    assert serve.stop() == 0


def test_every_event_has_a_code_of_its_own() -> None:
    texts, codes = set(), []
    for folder, _, files in os.walk(ROOT / "crosswind" / "gateway", followlinks=True):
        for file in (Path(folder) / name for name in files if name.endswith(".py")):
            for call in ast.walk(ast.parse(file.read_text("utf-8"))):
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                    continue
                if isinstance(call.func.value, ast.Name) and call.func.value.id == "_log":
                    [text] = call.args
                    assert isinstance(text, ast.Constant), (
                        f"{file}:{call.lineno}: the text has to be constant"
                    )
                    assert all(one.arg != "code" for one in call.keywords), f"{file}:{call.lineno}"
                    texts.add(str(text.value))
                    codes.append(code_of(str(text.value)))
    assert texts <= CODES.keys(), "give each text a code in crosswind/gateway/telemetry/codes.py"
    assert len(set(CODES.values())) == len(CODES)
    assert all(code.isidentifier() for code in CODES.values()) and codes


def test_equal_warnings_are_logged_once_and_counted() -> None:
    at = [0.0]
    repeats = RepeatFilter(60.0, now=lambda: at[0])
    assert [repeats.admits("warning", "late", {"turn": turn}) for turn in range(4)] == [
        True,
        False,
        False,
        False,
    ]
    assert repeats.admits("warning", "late", {"operator": "a"}) and repeats.admits("error", "late", {})
    assert list(repeats.take_over()) == []
    at[0] = 61.0
    assert list(repeats.take_over()) == [("warning", "late", {"repeated": 3})]
    assert repeats.admits("warning", "late", {}) and not repeats.admits("warning", "late", {})
    assert list(repeats.take_over(every=True)) == [("warning", "late", {"repeated": 1})]
    assert all(RepeatFilter(0.0).admits("warning", "late", {}) for _ in range(3))


def test_each_change_of_a_switch_is_logged() -> None:
    repeats = RepeatFilter(60.0, now=lambda: 0.0)
    orders = [False, True, True, False, True]
    admitted = [repeats.admits("warning", "switched", {"enabled": enabled}) for enabled in orders]
    assert admitted == [True, True, False, True, True]
    assert list(repeats.take_over(every=True)) == [("warning", "switched", {"repeated": 1})]


REPEATED = """\
import structlog
from crosswind.gateway.config.sections import Logging
from crosswind.gateway.telemetry.logs import configure

configure(Logging(format="json"))
log = structlog.get_logger()
for turn in range(5):
    log.warning("released before it was durable", turn=turn)
    log.info("answered with an error", status=400)
"""


def test_what_was_left_out_is_said_at_the_end(tmp_path: Path, children: Children) -> None:
    script = tmp_path / "script.py"
    script.write_text(REPEATED)
    said = children.run(str(script), command=(sys.executable,), cwd=tmp_path)
    lines = [json.loads(line) for line in said.splitlines()]
    late = [one for one in lines if one["code"] == "released_before_durable"]
    assert [one.get("repeated") for one in late] == [None, 4]
    assert sum(one["code"] == "answered_with_error" for one in lines) == 5


@pytest.mark.parametrize("form", ["console", "json"])
def test_control_characters_are_escaped(form: str) -> None:
    """In a process of its own, since loggers keep the configuration they began with."""
    code = (
        "import structlog; from crosswind.gateway.config.sections import Logging\n"
        "from crosswind.gateway.telemetry.logs import configure\n"
        f"configure(Logging(format={form!r}))\n"
        "log = structlog.get_logger('t')\n"
        "log.info('answered with an error', session='a\\x9b31m\\x1b[2J\\u2028b\\u202e', n=1)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr.decode()
    assert told.strip().isascii() and "\x1b" not in told and told.count("\n") == 1
    assert "9b31m" in told and "answered with an error" in told
