"""Links that break, on the event loop that `crosswind serve` runs on: its transports are not asyncio's."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.gateway.proxy.faulty import CHAT, serving, turns
from tests.gateway.servers import Running


async def received(running: Running, stream: bool) -> tuple[bytes, bool]:
    """All that came over the connection, and whether it was reset."""
    host, port = running.data.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    asked = json.dumps(CHAT.body | {"stream": stream}).encode()
    writer.write(
        b"POST /s/one/v1/chat/completions HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n"
        b"authorization: Bearer unused-but-long\r\ncontent-length: %d\r\n\r\n%b" % (len(asked), asked)
    )
    got = b""
    try:
        while part := await reader.read(65536):
            got += part
    except ConnectionResetError:
        return got, True
    finally:
        writer.close()
    return got, False


async def broken(tmp: Path, operator: str, stream: bool) -> tuple[bytes, bool, Any]:
    """All that came, whether the connection was reset, and the turn on record."""
    async with serving(tmp, operator) as (_, running):
        got, was_reset = await received(running, stream)
        for _ in range(1000):  # a stream is read to its end, for the record, after its client was cut off
            recorded = await turns(running)
            if recorded and recorded[0]["delivered"] != "unknown":
                break
        return got, was_reset, recorded[0]


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_that_breaks_brings_nothing(
    tmp_path: Path, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    got, was_reset, turn = uvloop.run(broken(tmp_path, "transport.reset", stream))
    assert (got, was_reset) == (b"", True)
    assert (turn["error"]["type"], turn["delivered"]) == ("transport.reset", "no")
    assert not [record for record in caplog.records if record.name == "uvicorn.error"]


@pytest.mark.parametrize("operator", ["transport.truncated_body", "transport.sse_cut"])
def test_an_answer_that_is_cut_ends_in_its_middle(
    tmp_path: Path, operator: str, caplog: pytest.LogCaptureFixture
) -> None:
    got, was_reset, turn = uvloop.run(broken(tmp_path, operator, stream=operator == "transport.sse_cut"))
    assert got.startswith(b"HTTP/1.1 200 ") and not was_reset
    assert not got.endswith((b"0\r\n\r\n", b"}"))
    assert (turn["error"]["type"], turn["delivered"]) == (operator, "no")
    assert not [record for record in caplog.records if record.name == "uvicorn.error"]
