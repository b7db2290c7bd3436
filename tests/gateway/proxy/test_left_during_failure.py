"""A client that leaves while its upstream's failure is being recorded is a client that left."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from crosswind.gateway.turn.recording import Recording
from tests.gateway.dialogue import body, user
from tests.gateway.servers import connection, gateway


async def test_its_turn_is_recorded_with_the_upstreams_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settling, ended = asyncio.Event(), asyncio.Event()

    async def wait(*_: Any) -> NoReturn:
        settling.set()
        await asyncio.Future()
        raise AssertionError

    abandon = Recording.record_abandoned

    async def abandoned(self: Recording, exchange: Any, *, gone: bool) -> None:
        await abandon(self, exchange, gone=gone)
        ended.set()

    monkeypatch.setattr(Recording, "settle", wait)
    monkeypatch.setattr(Recording, "record_abandoned", abandoned)
    async with gateway(tmp_path, "http://127.0.0.1:9") as running:
        raw = json.dumps(body(user("Hello"))).encode()
        async with connection(running) as (_, writer):
            head = (
                f"POST /s/one/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(raw)}"
            )
            writer.write(head.encode() + b"\r\ncontent-type: application/json\r\n\r\n" + raw)
            await asyncio.wait_for(settling.wait(), 60)
        await asyncio.wait_for(ended.wait(), 60)
        (turn,) = (await running.trajectory("one"))["turns"]
        assert turn["error"]["source"] == "upstream" and turn["delivered"] == "no"
