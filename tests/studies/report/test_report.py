"""`crosswind report` on a store of plain traffic: no groups, no training, several protocols, failures."""

from __future__ import annotations

import json
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.record import Arm, Reward, Turn, TurnFailure
from crosswind.gateway.trajectory.store import open_store
from tests.gateway.dialogue import PROFILE, TURNS, body
from tests.gateway.servers import gateway, settings, upstream
from tests.gateway.trajectory import rows


def report(tmp_path: Path) -> str:
    store, out = settings(tmp_path, "http://127.0.0.1:1/v1").store, tmp_path / "report.html"
    result = CliRunner().invoke(root, ["report", "--store", store, "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out.read_text("utf-8")


def turn(index: int, protocol: str, asked: Any, said: Any, **fields: Any) -> Turn:
    view = View.plain(json.dumps(asked).encode())
    produced = View.plain(json.dumps(said).encode())
    return rows.turn("n", index, protocol=protocol, received=view, sent=view, produced=produced, **fields)


MESSAGES = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "where is <W17>?"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "shipped"}]},
    ]
}
OTHERS = [
    turn(
        0,
        "messages",
        MESSAGES,
        {"content": [{"type": "text", "text": "it is on its way"}]},
        usage={"input_tokens": 700, "output_tokens": 70},
        queue_us=1_000,
        total_us=5_000,
    ),
    turn(
        1,
        "responses",
        {"input": "and W18?"},
        {"output": [{"type": "function_call", "name": "get_order", "arguments": "{}"}]},
        usage={"input_tokens": 300, "output_tokens": 30},
        usage_injected={"input_tokens": 11},
        fitness="injected_error",
        error=TurnFailure(Source.INJECTED, "http_503"),
        stream=True,
    ),
    turn(2, "completions", {"prompt": "x"}, {"choices": [{"text": "yes"}]}, fitness="client_error",
         error=TurnFailure(Source.CLIENT, "disconnected")),
]  # fmt: skip


async def test_plain_traffic_is_told_in_full(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        history: list[Any] = []
        for new in TURNS:
            history += new
            assert (await running.chat(body(*history), "s")).status_code == 200
        await running.flush()
        running.gateway.store.write(
            [rows.session("n", arm="noisy", created_us=2**52), *OTHERS, rows.event("n")]
        )
    page = report(tmp_path)
    for told in (
        "<td>chat</td>", "<td>messages</td><td>1</td><td>0</td>", "<td>responses</td><td>1</td><td>1</td>",
        "<td>user.redundant</td>", "<td>tool.timeout</td>",
        "<td>injected</td><td>http_503</td><td>1</td>", "<td>the client&#39;s</td><td>disconnected</td>",
        "<td>pending</td><td>2</td><td>100.0%</td>", "<td>queue</td>", "<td>total</td>",
        "it is on its way", "where is &lt;W17&gt;?", "get_order({})", "<td>completions</td>",
    ):  # fmt: skip
        assert told in page, told
    assert "<td>11</td>" in page, "what noise cost"
    assert "nan" not in page.lower().replace("nano", "") and "None" not in page


async def test_a_store_without_any_traffic_has_a_report(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app):
        pass
    assert "<h1>Crosswind report</h1>" in report(tmp_path)


def test_a_store_that_is_not_there_is_a_wrong_option(tmp_path: Path) -> None:
    told = CliRunner().invoke(root, ["report", "--store", f"sqlite:///{tmp_path}/none.db"])
    assert told.exit_code == 2 and "there is no store" in told.output
    assert list(tmp_path.iterdir()) == []


def test_success_by_arm_comes_from_the_rewards_and_needs_no_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(settings(tmp_path, "http://127.0.0.1:1/v1").store)) as store:
        for number, reward in enumerate([1.0, 1.0, 1.0, 0.0, 1.0, 0.5]):
            name, arm = f"s{number}", Arm.CLEAN if number < 3 else Arm.NOISY
            store.write([rows.session(name, arm=arm), Reward(name, number, reward)])
        store.write([rows.event("s3"), rows.event("s3", ordinal=1, after=None), rows.event("s4", after=None)])
        asleep = rows.session("asleep", arm=Arm.NOISY, labels={"purpose": "try"})
        store.write([asleep, Reward("asleep", 9, 1.0), rows.event("asleep", after=None)])
        store.write([rows.session("pending", arm=Arm.NOISY)])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = report(tmp_path)
    assert "The plots are left out" in page and "<svg" not in page
    table = page.partition("<h2>Success by arm</h2>")[2].partition("</table>")[0]
    shown = [line for line in table.splitlines() if line.startswith(("<tr><td>clean", "<tr><td>noisy"))]
    assert [re.findall("<td>(.*?)</td>", line) for line in shown] == [
        ["clean", "", "3", "0", "0", "0", "100.0 %", "[43.9 %, 100.0 %]", ""],
        ["noisy", "", "3", "1", "1", "2", "50.0 %", "[12.5 %, 87.5 %]", "1 without a reward"],
        ["noisy", "try", "1", "0", "0", "1", "no noise acted", "", ""],
    ]


def test_void_sessions_count_in_no_table_and_are_told(tmp_path: Path) -> None:
    url = settings(tmp_path, "http://127.0.0.1:1/v1").store
    refused = TurnFailure(Source.UPSTREAM, "http_401")
    with closing(open_store(url)) as store:
        for number in range(4):
            name, arm = f"bad{number}", Arm.CLEAN if number < 2 else Arm.NOISY
            store.write([rows.session(name, arm=arm), rows.turn(name, error=refused), Reward(name, 1, 0.0)])
    out = ["--out", str(tmp_path / "report.html")]
    told = CliRunner().invoke(root, ["report", "--store", url, *out])
    assert "void, so that they don't count, are 4 of the 4 sessions with rewards (4 upstream)" in told.stderr
    judged = CliRunner().invoke(root, ["report", "--store", url, *out, "--max-drop", "0.1"])
    assert judged.exit_code == 2 and "are 4 of the 4 sessions" in judged.stderr.replace("\n", " ")
    with closing(open_store(url)) as store:
        for number in range(4):
            name, arm = f"good{number}", Arm.CLEAN if number < 2 else Arm.NOISY
            acted = [rows.event(name)] if arm is Arm.NOISY else []
            store.write([rows.session(name, arm=arm), rows.turn(name), *acted, Reward(name, 1, 1.0)])
    page = report(tmp_path)
    table = page.partition("<h2>Success by arm</h2>")[2].partition("</table>")[0]
    for side in ("clean", "noisy"):
        (line,) = [line for line in table.splitlines() if line.startswith(f"<tr><td>{side}")]
        cells = re.findall("<td>(.*?)</td>", line)
        assert (cells[2], cells[6], cells[8]) == ("2", "100.0 %", "2 void (upstream)")
    assert "<td>reward 0 (void: upstream)</td>" in page


def test_each_session_is_listed_with_its_noise_and_how_it_ended(tmp_path: Path) -> None:
    asked = {"messages": [{"role": "user", "content": "book flight HA-118"}]}
    said = {"choices": [{"message": {"role": "assistant", "content": "booked"}}]}
    views = {"received": asked, "sent": asked, "produced": said}
    with closing(open_store(settings(tmp_path, "http://127.0.0.1:1/v1").store)) as store:
        store.write(
            [
                rows.session("met", plan={"profile": "mine"}),
                rows.turn(
                    "met", **{name: View.plain(json.dumps(one).encode()) for name, one in views.items()}
                ),
                rows.event("met"),
                rows.event("met", ordinal=1, after=None),
                rows.session("lost", plan={"profile": "mine"}),
                rows.turn("lost", error=TurnFailure(Source.INJECTED, "http_503"), usage={"prompt_tokens": 7}),
            ]
        )
    page = report(tmp_path)
    for told in (
        "<td>met</td><td>book flight HA-118</td><td>mine</td><td>1</td><td>tool.timeout ×1</td><td>1</td>"
        "<td>answered</td>",
        "<td>lost</td><td></td><td>mine</td><td>1</td><td>no noise acted</td><td>0</td>"
        "<td>failed: injected, http_503</td>",
        "All sessions, the newest first",
        "<td>prompt</td><td>7</td></tr>",
    ):
        assert told in page, told
    assert "in added rounds" not in page, "noise cost no tokens that are known"
