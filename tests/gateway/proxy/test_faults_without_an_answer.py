"""Faults of an answer that the upstream never gave: they are withheld, and no event says that they acted."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosswind.testing import plain
from crosswind.testing.server import listen
from tests.gateway.dialogue import body, user
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
