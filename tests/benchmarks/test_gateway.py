"""The gateway's benchmark measures what it says: real conversations, every answer read, true CPU time."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.gateway.cases import FULL, KINDS, QUICK, Case, cases
from benchmarks.gateway.compiled import build, quantile, send
from benchmarks.gateway.contestants import BOTH, DIRECT, LITELLM_PROXY, NGINX, Crosswind
from benchmarks.gateway.conversations import converse
from benchmarks.gateway.paired import Unsound, ceiling, measure_pairs, ratios
from benchmarks.gateway.report import markdown
from benchmarks.gateway.work import head, make_work, read_work
from benchmarks.processes import cpu_s, run_server
from crosswind.studies.stack import free_port

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def bodies(requests: list[bytes]) -> list[dict[str, Any]]:
    out = []
    for request in requests:
        top, _, body = request.partition(b"\r\n\r\n")
        assert int(top.rpartition(b":")[2]) == len(body)
        out.append(json.loads(body))
    return out


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_work_holds_growing_conversations_each_with_a_name_of_its_own(kind: Any, tmp_path: Path) -> None:
    before, counted = make_work(Case(kind, 2, 4 * kind.turns, 1), tmp_path, slow=False)
    connections = [bodies(requests) for requests in read_work(counted)]
    assert [len(requests) for requests in connections] == [2 * kind.turns] * 2
    assert len({body["user"] for requests in connections for body in requests}) == 4
    for requests in connections:
        for number, body in enumerate(requests):
            turn = kind.first + number % kind.turns
            assert sum(message["role"] == "assistant" for message in body["messages"]) == turn - 1
            if number % kind.turns:
                earlier = requests[number - 1]["messages"]
                assert body["messages"][: len(earlier)] == earlier
    assert (before is not None) is (kind.first > 1 and kind.known)
    if before is not None:
        known = [bodies(requests) for requests in read_work(before)]
        first = connections[0][0]["messages"]
        assert known[0][0]["messages"] == first[:-2] and known[0][0]["user"] == connections[0][0]["user"]


@pytest.mark.parametrize(
    ("name", "least", "most"), [("2k", 1800, 2200), ("stream", 1800, 2200), ("60k", 57e3, 63e3)]
)
def test_requests_have_the_size_that_their_name_says(name: str, least: int, most: int) -> None:
    kind = KINDS[name]
    one = converse("agent-00001", kind.shape, kind.last)
    sizes = [one.ends[turn - 1] + len(one.tail) for turn in range(kind.first, kind.last + 1)]
    assert least <= sum(sizes) / len(sizes) <= most


def test_every_listed_case_is_of_a_known_kind() -> None:
    assert len(list(cases(quick=False))) == len(FULL)
    assert {case.key for case in cases(quick=True)} <= {case.key for case in cases(quick=False)}
    assert len(QUICK) < len(FULL)


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("load", tmp_path_factory.mktemp("generator"))


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder, port = tmp_path_factory.mktemp("upstream"), free_port()
    command = [str(build("upstream", folder)), str(port), "100"]
    probe = head("probe", 2) + b"{}"
    with run_server(command, core=0, port=port, probe=probe, log=folder / "log", environment={}):
        yield port


@needs_cc
async def test_the_upstream_answers_what_conversations_hold(upstream: int) -> None:
    kind = KINDS["2k"]
    one = converse("agent-7", kind.shape, 12)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{upstream}/v1") as client:
        for turn in range(1, 12):
            answer = await client.post("/chat/completions", content=one.text[: one.ends[turn - 1]] + one.tail)
            said = answer.json()["choices"][0]["message"]
            history = json.loads(one.text[: one.ends[turn]] + one.tail)["messages"]
            assert history[-2] == said


@needs_cc
@pytest.mark.parametrize("name", ["agent-8", "paced-8"])
async def test_the_upstream_streams_64_chunks(upstream: int, name: str) -> None:
    kind = KINDS["stream"]
    one = converse(name, kind.shape, 2)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{upstream}/v1") as client:
        answer = await client.post("/chat/completions", content=one.text[: one.ends[0]] + one.tail)
    *chunks, end = [event.removeprefix("data: ") for event in answer.text.split("\n\n") if event]
    assert end == "[DONE]" and len(chunks) == 64
    choices = [json.loads(chunk)["choices"] for chunk in chunks]
    text = "".join(choice["delta"].get("content", "") for one in choices for choice in one)
    assert json.loads(one.text[: one.ends[1]] + one.tail)["messages"][-2]["content"] == text
    assert choices[-2][0]["finish_reason"] == "stop" and json.loads(chunks[-1])["usage"]


@needs_cc
@pytest.mark.parametrize("name", ["2k", "60k", "stream", "stream, paced"])
async def test_the_generator_sends_everything_and_reads_every_answer(
    upstream: int, generator: Path, name: str, tmp_path: Path
) -> None:
    kind = KINDS[name]
    case = Case(kind, 3, 12 * kind.turns, 1)
    _, counted = make_work(case, tmp_path, slow=False)
    load = await asyncio.to_thread(send, generator, upstream, counted, core=0)
    assert len(load.records) == 12 * kind.turns and load.failed == 0
    assert all(0 < record.first_ns <= record.last_ns for record in load.records)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{upstream}/v1") as client:
        body = read_work(counted)[0][0].partition(b"\r\n\r\n")[2]
        answer = await client.post("/chat/completions", content=body)
    assert load.records[0].bytes == len(answer.content)


@asynccontextmanager
async def answering(answer: bytes, *pieces: int) -> AsyncIterator[int]:
    """A server that gives the same answer to everything, cut at these places, and then closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        top = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(top.rpartition(b":")[2]))
        for start, end in zip((0, *pieces), (*pieces, len(answer)), strict=True):
            writer.write(answer[start:end])
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
CHUNKED = OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@needs_cc
@pytest.mark.parametrize(
    ("answer", "status", "size", "good"),
    [
        (OK + b"Content-Length: 9\r\n\r\n" + b'{"a": 12}', 200, 9, True),
        (OK + b"\r\n" + b'{"a": 12}\n', 200, 10, True),
        (OK + b"Content-Length: 9\r\n\r\n" + b'{"a": 1', 0, 7, False),
        (b"HTTP/1.1 500 Oh\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", 500, 2, False),
        (OK + b"Content-Length: 4\r\n\r\nnull", 200, 4, False),
        (CHUNKED + b"A\r\n: comment\n\r\n0e\r\ndata: [DONE]\n\n\r\n0\r\nX: y\r\n\r\n", 200, 24, True),
        (CHUNKED + b"3;a=b\r\nabc\r\n0\r\n\r\n", 200, 3, False),
        (CHUNKED + b"e\r\ndata: [DONE]\n\n\r\n", 0, 14, False),
        (b"", 0, 0, False),
    ],
)
@pytest.mark.parametrize("cut", [(), (10,), (50, 51), (80, 81, 82)])
async def test_the_generator_tells_whole_answers_from_others(
    answer: bytes, status: int, size: int, good: bool, cut: tuple[int, ...], generator: Path, tmp_path: Path
) -> None:
    _, counted = make_work(Case(KINDS["2k"], 1, 4, 1), tmp_path, slow=False)
    async with answering(answer, *(at for at in cut if at < len(answer))) as port:
        load = await asyncio.to_thread(send, generator, port, counted, core=0)
    assert [(r.status, r.bytes, r.good) for r in load.records] == [(status, size, good)] * 4
    assert load.failed == (0 if good else 4)


def test_cpu_time_is_what_the_process_itself_counts() -> None:
    before = time.process_time()
    seen = cpu_s(os.getpid())
    assert before <= seen <= time.process_time()


def test_quantiles() -> None:
    assert quantile([5.0], 0.99) == 5.0
    assert quantile(list(range(101)), 0.5) == 50 and quantile(list(range(101)), 0.99) == pytest.approx(99)


def test_the_page_has_ratios_of_this_run() -> None:
    def told(cpu_s_per_1000: float) -> dict[str, Any]:
        figures = {
            "requests": 10, "failed": 0, "cpu_s_per_1000": cpu_s_per_1000, "cpu_s_per_1000_least": 0.1,
            "cpu_s_per_1000_most": 9.0, "requests_per_s": 5.0, "p50_ms": 2.0, "p99_ms": 3.0,
            "first_byte_p50_ms": 1.0, "other_core_busy": 0.5,
        }  # fmt: skip
        return {"cases": {"2k, 16": figures}, "start_s": 1.0, "rss_mb": 50.0}

    run = {
        "command": "c", "date": "2026-11-21", "rounds": 2, "versions": {"nginx": "1"},
        "left_out": ["ASGI relay"],
        "machine": {"cores": 2, "processor": "p", "memory_gb": 8, "system": "s", "python": "3",
                    "load_before": 0.1},
        "sync_p50_ms": 0.2, "step_ms": 2.0,
        "cases": {"2k, 16": {"kind": "2k", "connections": 16, "request_bytes": 2000}},
        "contestants": {DIRECT: told(0), NGINX.name: told(0.1), BOTH.name: told(0.5),
                        LITELLM_PROXY.name: told(25)},
    }  # fmt: skip
    page = markdown(run)
    assert "| 2k, 16 | 1/50 | 1/35 | 1/100 | 5.0× | 12× |" in page
    assert "Not measured: ASGI relay." in page


def test_parts_of_a_case_hold_different_conversations(tmp_path: Path) -> None:
    case = Case(KINDS["2k"], 2, 16, 1)
    names = [
        {body["user"] for requests in read_work(counted) for body in bodies(requests)}
        for _, counted in (make_work(case, tmp_path, slow=False, part=part) for part in range(3))
    ]
    assert len(set.union(*names)) == sum(map(len, names)) == 12


def test_a_ratio_is_the_median_of_the_slices_ratios() -> None:
    run = {"cpu_ms": {"ours": {"2k": [1.0, 9.0, 3.0]}, "theirs": {"2k": [2.0, 10.0, 1.0]}}}
    assert ratios(run, "ours", "theirs", "2k") == (0.9, 0.5, 3.0)


def test_who_injected_less_is_charged_for_as_much_noise() -> None:
    cpu = {"ours": {"2k": [3.0]}, "quiet": {"2k": [2.0]}, "theirs": {"2k": [5.0]}}
    run = {"cpu_ms": cpu, "injected": {"ours": {"2k": 10}, "theirs": {"2k": 15}}}
    assert ceiling(run, "ours", "theirs", "quiet", "2k") == 0.7
    assert ceiling(run, "theirs", "ours", "quiet", "2k") == 5 / 3


@needs_cc
@pytest.mark.parametrize(
    ("profile", "why"),
    [("off", "different numbers of events"), ("robustbench-tc/RateLim", "logged 1 warnings")],
)
def test_a_contestant_that_lost_its_noise_or_warned_does_not_count(
    profile: str, why: str, tmp_path: Path
) -> None:
    noise = Crosswind("Crosswind: noise", flags=("--profile", "noisyagent", "--record", "none"))
    other = Crosswind("Crosswind: other", flags=(f"--profile={profile}", "--record", "none"))
    with pytest.raises(Unsound, match=why):
        measure_pairs(tmp_path, [noise, other], slices=1, kinds=["2k"])
