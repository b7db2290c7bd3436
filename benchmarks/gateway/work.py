"""Conversations written down as the requests that the load generator sends."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.gateway.cases import Case
from benchmarks.gateway.conversations import Conversation, converse

KEY = "sk-benchmark-0123456789abcdef0123456789abcdef"
"""The credential that requests carry, and LiteLLM's master key."""
MODEL = "bench"

Turns = Sequence[tuple[Conversation, int]]
"""The requests of one connection: turn k of a conversation, k counted from 1."""


def head(session: str, length: int) -> bytes:
    """A request's head, with the headers that the openai SDK sends and the session's name."""
    lines = (
        "POST /v1/chat/completions HTTP/1.1",
        "Host: 127.0.0.1",
        "Accept-Encoding: gzip, deflate",
        "Connection: keep-alive",
        "Accept: application/json",
        "Content-Type: application/json",
        "User-Agent: OpenAI/Python 3.52.0",
        "X-Stainless-Lang: python",
        "X-Stainless-Package-Version: 3.52.0",
        "X-Stainless-OS: Linux",
        "X-Stainless-Arch: x64",
        "X-Stainless-Runtime: CPython",
        "X-Stainless-Runtime-Version: 3.11.2",
        "X-Stainless-Async: false",
        "x-stainless-retry-count: 0",
        "x-stainless-read-timeout: 600",
        f"Authorization: Bearer {KEY}",
        f"X-Crosswind-Session: {session}",
        f"Content-Length: {length}",
    )
    return "\r\n".join((*lines, "", "")).encode()


def write_work(path: Path, connections: Sequence[Turns]) -> None:
    """Write a work file: a conversation's bytes once, each request as three slices of the file."""
    requests = sum(map(len, connections))
    start = (4 + 4 * len(connections) + 48 * requests + 7) // 8 * 8
    blob = bytearray()
    stored: dict[str, tuple[int, int]] = {}
    slices = bytearray()
    for turns in connections:
        for conversation, turn in turns:
            if conversation.name not in stored:
                stored[conversation.name] = (start + len(blob), start + len(blob) + len(conversation.text))
                blob += conversation.text + conversation.tail
            text, tail = stored[conversation.name]
            length, rest = conversation.ends[turn - 1], len(conversation.tail)
            top = head(conversation.name, length + rest)
            slices += struct.pack("<6Q", start + len(blob), len(top), text, length, tail, rest)
            blob += top
    counts = struct.pack(f"<{1 + len(connections)}I", len(connections), *map(len, connections))
    path.write_bytes((counts + bytes(slices)).ljust(start, b"\0") + blob)


def read_work(path: Path) -> list[list[bytes]]:
    """The requests of each connection, as they go on the wire."""
    data = path.read_bytes()
    (many,) = struct.unpack_from("<I", data)
    counts = struct.unpack_from(f"<{many}I", data, 4)
    slices: Iterator[tuple[int, ...]] = struct.iter_unpack(
        "<6Q", data[4 + 4 * many : 4 + 4 * many + 48 * sum(counts)]
    )
    out = []
    for count in counts:
        parts = [next(slices) for _ in range(count)]
        out.append(
            [b"".join(data[at : at + size] for at, size in zip(p[::2], p[1::2], strict=True)) for p in parts]
        )
    return out


def make_work(case: Case, folder: Path, *, slow: bool, part: int = 0) -> tuple[Path | None, Path]:
    """The work files of a case: what is sent before counting starts, if anything, and what is counted.
    Parts hold different conversations.
    """
    kind = case.kind
    before: list[Turns] = []
    counted: list[Turns] = []
    held = case.conversations(slow=slow)
    for connection in range(case.connections):
        conversations = [
            converse(_name(case, connection, part * held + number), kind.shape, kind.last)
            for number in range(held)
        ]
        before.append([(one, kind.first - 1) for one in conversations])
        counted.append([(one, turn) for one in conversations for turn in range(kind.first, kind.last + 1)])
    stem = "-".join([*case.key.replace(",", "").split(), *(["slow"] if slow else []), f"part{part}"])
    path = folder / f"{stem}.work"
    write_work(path, counted)
    if kind.first == 1 or not kind.known:
        return None, path
    earlier = folder / f"{stem}-before.work"
    write_work(earlier, before)
    return earlier, path


def _name(case: Case, connection: int, number: int) -> str:
    """A conversation's name, unique in a run. The upstream paces streams of those that begin with `paced`."""
    pace = "paced" if case.kind.paced else "agent"
    kind = case.kind.name.partition(",")[0].replace(" ", "")
    return f"{pace}-{kind}-{case.connections:03d}-{connection:03d}-{number:04d}"
