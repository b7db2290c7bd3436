"""Faults of an answer that the upstream never gave: they are withheld, and no event says that they acted."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from crosswind.loopback_server import listen
from crosswind.testing import Answer, Call, ScriptedProvider, plain
from crosswind.testing.replies import chunks
from tests.gateway.dialogue import body, user
from tests.gateway.proxy.faulty import RESPONSES
from tests.gateway.servers import answer, gateway, upstream

ON_ANSWERS = [
    "model.malformed_arguments",
    "model.length_cut",
    "model.unknown_tool",
    "model.duplicated_call_id",
]
ON_STREAMS = ["transport.sse_cut", "transport.sse_stall", "transport.first_token_delay", "model.stream_cut"]


async def meet(tmp: Path, url: str, operator: str, *, stream: bool) -> list[str]:
    """The notes of the events of one request under a fault; each must say that it was withheld."""
    noise = f"name: faulty\nrules:\n- {{operator: {operator}, severity: 1.0}}\n"
    async with gateway(tmp, url, noise=noise) as running:
        await running.chat(body(user("hello"), stream=stream), "s")
        events = (await running.trajectory("s"))["events"]
    assert events and all(one["after"] is None for one in events)
    return [one["note"] for one in events]


@pytest.mark.parametrize("operator", ON_ANSWERS)
@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_that_is_none_isnt_edited(tmp_path: Path, operator: str, status: int) -> None:
    async with upstream(plain({}, status)) as app:
        assert "no whole answer" in (await meet(tmp_path, app.url, operator, stream=False))[0]


@pytest.mark.parametrize("operator", ON_STREAMS)
async def test_an_answer_that_is_no_stream_isnt_cut(tmp_path: Path, operator: str) -> None:
    async with upstream(plain(answer("Hello there."))) as app:
        assert "no stream" in (await meet(tmp_path, app.url, operator, stream=True))[0]


@pytest.mark.parametrize(
    ("operator", "stream"),
    [
        *((one, False) for one in ON_ANSWERS),
        *((one, True) for one in ON_STREAMS),
        ("transport.truncated_body", False),
        ("transport.wrong_content_type", False),
        ("transport.bandwidth", True),
    ],
)
async def test_an_upstream_that_is_away_gives_nothing_to_spoil(
    tmp_path: Path, operator: str, stream: bool
) -> None:
    with listen() as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    assert "gave no answer" in (await meet(tmp_path, url, operator, stream=stream))[0]


SHORT = [
    b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n',
    b"data: [DONE]\n\n",
]


@pytest.mark.parametrize("operator", ["transport.sse_cut", "transport.sse_stall", "model.stream_cut"])
async def test_a_stream_that_ends_before_the_fault_is_whole_and_says_so(
    tmp_path: Path, operator: str
) -> None:
    """The turn is recorded at the completing event: what comes behind it is known then, or left alone."""
    noise = f"name: faulty\nrules:\n- {{operator: {operator}, severity: 1.0}}\n"
    struck = 0
    async with upstream(*[chunks(*SHORT)] * 12) as app, gateway(tmp_path, app.url, noise=noise) as running:
        for number in range(12):
            try:
                got = (await running.chat(body(user(f"hello {number}"), stream=True), f"s{number}")).content
            except httpx.HTTPError:
                got = b""
            [event] = (await running.trajectory(f"s{number}"))["events"]
            [turn] = (await running.trajectory(f"s{number}"))["turns"]
            spoilt = got != b"".join(SHORT)
            acted = event["after"] is not None
            struck += acted
            if operator != "transport.sse_stall":
                assert acted == spoilt == (turn["error"] is not None), event["note"]
            if not acted:
                assert "nothing that it could act on" in event["note"] and not spoilt
                assert "nothing that it could act on" in event["draw"]["unable"]
    assert struck < 12


@pytest.mark.parametrize("operator", ["transport.truncated_body", "transport.bandwidth"])
async def test_an_empty_body_is_neither_cut_nor_slowed(tmp_path: Path, operator: str) -> None:
    async with upstream(plain(b"")) as app:
        assert "nothing that it could act on" in (await meet(tmp_path, app.url, operator, stream=False))[0]


async def test_what_comes_behind_a_fault_that_ends_the_exchange_is_withheld(tmp_path: Path) -> None:
    rules = ["transport.status", "transport.latency", "transport.bandwidth"]
    noise = "name: faulty\nrules:\n" + "".join(f"- {{operator: {one}, severity: 1.0}}\n" for one in rules)
    async with upstream() as app, gateway(tmp_path, app.url, noise=noise) as running:
        await running.chat(body(user("hello")), "s")
        events = (await running.trajectory("s"))["events"]
    assert {one["operator"]: one["after"] is not None for one in events} == {
        "transport.status": True,
        "transport.latency": False,
        "transport.bandwidth": False,
    }


async def test_the_log_of_the_run_counts_what_acted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also on the first request of a conversation that a client of Responses may continue by its id."""
    noise = "name: faulty\nrules:\n- {operator: model.duplicated_call_id, severity: 1.0}\n"
    calls = (Call("get_order", {"id": "W1"}), Call("get_order", {"id": "W2"}))
    provider = ScriptedProvider(lambda _: Answer(None, calls))
    async with provider as app, gateway(tmp_path, app.url, noise=noise) as running:
        asked = {"model": "m", "input": "hello", "tools": RESPONSES.tools}
        headers = {"x-crosswind-session": "s", "authorization": "Bearer k"}
        given = await running.http.post(f"{running.data}/v1/responses", json=asked, headers=headers)
        ids = [one["call_id"] for one in given.json()["output"] if one["type"] == "function_call"]
        [event] = (await running.trajectory("s"))["events"]
    assert len(set(ids)) == 2 and event["after"] is None and "may change" in event["note"]
    assert "may change" in event["draw"]["unable"], "not the guard's doing"
    said = re.sub(r"\x1b\[\d*m", "", "".join(capfd.readouterr()))
    assert re.search(r"noise of this run\s+injected=0 withheld=1", said)
