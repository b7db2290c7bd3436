"""Requests whose bodies come encoded: read as meant, forwarded as they came unless noise changed them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.gateway.dialogue import PROFILE, body, history
from tests.gateway.http.test_content_encoding import ENCODERS
from tests.gateway.servers import gateway, upstream

PLAIN = json.dumps(body(*history(2))).encode()
TEXTS = [message["content"] for message in json.loads(PLAIN)["messages"]]
ENCODED = [name for name in ENCODERS if name != "identity"]


@pytest.mark.parametrize("name", ENCODED)
async def test_without_noise_it_goes_on_as_it_came_and_is_recorded_plainly(tmp_path: Path, name: str) -> None:
    encoding, encode = ENCODERS[name]
    async with upstream() as app, gateway(tmp_path, app) as running:
        raw = encode(PLAIN)
        assert (await running.chat(raw, "s", content_encoding=encoding)).status_code == 200
        assert app.requests[0].body == raw
        assert app.requests[0].headers["content-encoding"] == encoding
        assert app.requests[0].headers["content-length"] == str(len(raw))
        (turn,) = (await running.trajectory("s"))["turns"]
        assert turn["received"] == turn["sent"] == PLAIN.decode()


@pytest.mark.parametrize("name", ENCODED)
async def test_noise_reaches_it_and_it_goes_on_plainly(tmp_path: Path, name: str) -> None:
    encoding, encode = ENCODERS[name]
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        assert (await running.chat(PLAIN, "s")).status_code == 200
        assert (await running.chat(encode(PLAIN), "s", content_encoding=encoding)).status_code == 200
        assert "content-encoding" not in app.requests[1].headers
        assert app.requests[1].headers["content-length"] == str(len(app.requests[1].body))
        assert app.requests[1].body == app.requests[0].body, "the same noise"
        assert app.requests[1].texts() != TEXTS


@pytest.mark.parametrize(
    ("encoding", "raw"),
    [
        ("snappy", b"whatever this is"),
        ("gzip", b"not gzip at all"),
        ("gzip", gzip.compress(PLAIN)[:-20]),
        ("gzip", gzip.compress(b'{"messages": "' + bytes(4 << 20))),
    ],
    ids=["unknown", "broken", "cut", "a bomb"],
)
async def test_what_cant_be_read_goes_on_as_it_came(tmp_path: Path, encoding: str, raw: bytes) -> None:
    async with upstream() as app, gateway(tmp_path, app, limits={"body": 1 << 20}) as running:
        given = await running.chat(raw, content_encoding=encoding)
        assert given.status_code == 200
        assert app.requests[0].body == raw and app.requests[0].headers["content-encoding"] == encoding
