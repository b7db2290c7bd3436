"""Content encodings: relayed as they came, undone for the record as far as they can be, and never too far."""

from __future__ import annotations

import gzip
import importlib
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.testing.replies import DONE, SSE, Part, ReceivedRequest, plain
from tests.gateway.dialogue import body, user
from tests.gateway.engine import engine
from tests.gateway.servers import answer, delta, event, gateway, upstream

BODY = body(user("hi"))
PLENTY = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    compress = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compress.compress(data) + compress.flush()


def members(data: bytes) -> bytes:
    """gzip in two members, as some servers write a stream."""
    half = len(data) // 2
    return gzip.compress(data[:half]) + gzip.compress(data[half:])


def library(name: str, function: str) -> Callable[[bytes], bytes]:
    def compress(data: bytes) -> bytes:
        module = pytest.importorskip(name)
        made: bytes = getattr(module, function)(data)
        return made

    return compress


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip of two members": ("GZIP", members),
    "deflate": ("deflate", zlib.compress),
    "deflate without its header": ("deflate", raw_deflate),
    "twice": ("deflate, gzip", lambda data: gzip.compress(zlib.compress(data))),
    "identity": ("identity", bytes),
    "zstd": ("zstd", library("zstandard", "compress")),
    "brotli": ("br", library("brotli", "compress")),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_it_is_undone_whatever_the_chunks(name: str) -> None:
    encoding, encode = ENCODERS[name]
    rng = random.Random(1)
    for data in (b"", b"x", b"hello " * 1000, rng.randbytes(70_000)):
        encoded = encode(data)
        for size in (1, 7, 4096, 1 << 20):
            decoding = ContentDecoder(encoding, PLENTY)
            pieces = [encoded[start : start + size] for start in range(0, len(encoded), size)]
            assert b"".join(map(decoding.feed, pieces)) == data and not decoding.failed


@pytest.mark.parametrize("name", [name for name in ENCODERS if name != "identity"])
def test_a_bomb_is_decoded_up_to_the_limit_only(name: str) -> None:
    encoding, encode = ENCODERS[name]
    bomb = encode(bytes(16 << 20))
    decoding = ContentDecoder(encoding, 1000)
    assert decoding.feed(bomb) == bytes(1000) and decoding.failed
    assert decoding.feed(bomb) == b""
    exactly = ContentDecoder(encoding, 1000)
    assert exactly.feed(encode(bytes(1000))) == bytes(1000) and not exactly.failed


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_members_with_nothing_in_them_are_not_decoded_for_ever(name: str) -> None:
    encoding, encode = ENCODERS[name]
    decoding = ContentDecoder(encoding, PLENTY)
    assert decoding.feed(encode(b"") * 60_000 + encode(b"hello")) == b"hello" and not decoding.failed
    assert decoding.feed(encode(b"") * 60_000 + encode(b"hello")) == b"" and decoding.failed


def test_what_an_encoding_around_another_gives_is_bounded_too() -> None:
    nothing = zlib.compress(b"")[:2] + b"\x00\x00\x00\xff\xff" * (1 << 20)  # blocks with no bytes
    decoding = ContentDecoder("deflate, gzip", PLENTY)
    assert decoding.feed(gzip.compress(nothing)) == b"" and decoding.failed
    layers = ", ".join(["deflate"] * 6)
    assert ContentDecoder(layers, PLENTY).failed and not ContentDecoder(layers[9:], PLENTY).failed


@given(st.sampled_from(["gzip", "deflate", "zstd", "br", "gzip, zstd"]), st.lists(st.binary(), max_size=4))
def test_broken_data_never_raises(encoding: str, chunks: list[bytes]) -> None:
    decoding = ContentDecoder(encoding, 100)
    assert sum(len(decoding.feed(chunk)) for chunk in chunks) <= 100


async def test_an_answer_of_an_unknown_encoding_is_relayed_and_its_turn_unfit(tmp_path: Path) -> None:
    raw = b"\x00\x01 whatever this is"
    async with (
        upstream(plain(raw, 200, (b"content-encoding", b"snappy"))) as app,
        gateway(tmp_path, app) as running,
    ):
        request = running.http.build_request(
            "POST",
            f"{running.data}/s/s/v1/chat/completions",
            json=BODY,
            headers={"accept-encoding": "snappy, gzip;q=0.1"},
        )
        given = await running.http.send(request, stream=True)
        assert b"".join([part async for part in given.aiter_raw()]) == raw
        assert given.headers["content-encoding"] == "snappy"
        assert app.requests[0].headers["accept-encoding"] == "snappy, gzip;q=0.1"
        (turn,) = (await running.trajectory("s"))["turns"]
        assert turn["fitness"] == "undecodable"


async def test_a_bomb_is_relayed_and_its_turn_unfit(tmp_path: Path) -> None:
    bomb = gzip.compress(json.dumps(answer("a" * (8 << 20))).encode())
    zipped = (b"content-encoding", b"gzip")
    async with (
        upstream(plain(bomb, 200, zipped)) as app,
        gateway(tmp_path, app, limits={"decoded": 1 << 20}) as running,
    ):
        given = await running.chat(BODY, "s", accept_encoding="gzip")
        assert len(given.json()["choices"][0]["message"]["content"]) == 8 << 20
        (turn,) = (await running.trajectory("s"))["turns"]
        assert turn["fitness"] == "undecodable" and len(turn["produced"]) < 2 << 20


@pytest.mark.parametrize("name", ["gzip", "zstd", "an unknown one"])
async def test_an_encoded_stream_keeps_its_bytes(tmp_path: Path, name: str) -> None:
    encoding, encode = ENCODERS.get(name, ("snappy", bytes))
    raw = encode(event([delta("zip")]) + event([delta("ped")]) + event([delta(finish="stop")]) + DONE)

    async def reply(_: ReceivedRequest):  # type: ignore[no-untyped-def]
        head: Part = (200, [SSE, (b"content-encoding", encoding.encode())])
        yield head
        for byte in raw:
            yield bytes([byte])

    async with upstream(reply) as app, gateway(tmp_path, app) as running:
        url = f"{running.data}/s/s/v1/chat/completions"
        request = running.http.build_request("POST", url, json={**BODY, "stream": True})
        given = await running.http.send(request, stream=True)
        assert b"".join([part async for part in given.aiter_raw()]) == raw
        (turn,) = (await running.trajectory("s"))["turns"]
        assert ("zipped" in turn["produced"]) == (turn["fitness"] != "undecodable") == (name in ENCODERS)


async def test_what_has_to_be_edited_is_asked_for_plainly(tmp_path: Path) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app, capture="on") as running:
        assert (await running.chat(BODY, "s", accept_encoding="br")).status_code == 200
        assert app.requests[0].headers["accept-encoding"] == "identity"
        raw = plain(b"?", 200, (b"content-encoding", b"snappy"))
        app.steps[:] = [raw]
        given = await running.chat(BODY, "s", accept_encoding="br")
        assert (given.status_code, given.json()["error"]["code"]) == (502, "upstream_undecodable")


def test_brotli_is_left_alone_where_its_library_cant_be_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from crosswind.gateway.http import content_encoding as decoding

    class Old:
        class Decompressor:
            def process(self, data: bytes) -> bytes:
                raise AssertionError("unbounded")

    monkeypatch.setattr(
        decoding, "importlib", type("Imports", (), {"import_module": staticmethod(lambda name: Old)})
    )
    decoding._decoders.cache_clear()
    try:
        assert ContentDecoder("br", 100).failed
    finally:
        monkeypatch.undo()
        decoding._decoders.cache_clear()
    assert importlib.import_module("crosswind.gateway.http.content_encoding") is decoding
