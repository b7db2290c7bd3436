"""Streams of a fixed length, asked for in closed loops by the compiled load generator."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from benchmarks.engine.stack import MODEL, Server
from benchmarks.gateway.compiled import send
from benchmarks.gateway.conversations import Conversation
from benchmarks.gateway.work import write_work as write_turns
from crosswind.simulators.retail.tools import TOOLS

CAPTURED = {"logprobs": True, "return_token_ids": True}
_asked = count()


@dataclass(frozen=True, slots=True)
class Shape:
    """So many connections, each with so many streams one after the other, of `tokens` tokens each."""

    connections: int
    streams: int
    tokens: int

    @property
    def all_tokens(self) -> int:
        return self.connections * self.streams * self.tokens


@dataclass(frozen=True, slots=True)
class Round:
    """One run of a shape's streams. Times in milliseconds."""

    tokens: int
    wall_s: float
    first_ms: float
    """The median over the streams, from the request's first byte to that of the answer's body."""
    failed: int
    cpu_s: tuple[float, ...]
    """Of each server that was watched."""

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.wall_s


@dataclass(frozen=True, slots=True)
class Generator:
    """Sends the streams of a shape and waits for them all."""

    program: Path
    folder: Path

    def run(self, shape: Shape, to: Server, *watched: Server, captured: bool = False) -> Round:
        """Each stream is of another prompt. `captured`: ask for tokens as the gateway does."""
        work = self.folder / "streams.work"
        write_work(work, shape, captured=captured)
        before = [server.process.cpu_s() for server in watched]
        load = send(self.program, to.port, work)
        spent = tuple(server.process.cpu_s() - was for server, was in zip(watched, before, strict=True))
        firsts = [record.first_ns / 1e6 for record in load.records if record.good]
        return Round(shape.all_tokens, load.wall_s, statistics.median(firsts or [0.0]), load.failed, spent)


def write_work(path: Path, shape: Shape, *, captured: bool) -> None:
    """A work file of a shape's streams, each a conversation of one turn."""
    write_turns(
        path,
        [
            [(_converse(shape.tokens, captured=captured), 1) for _ in range(shape.streams)]
            for _ in range(shape.connections)
        ],
    )


def _converse(tokens: int, *, captured: bool) -> Conversation:
    number = next(_asked)
    message = {"role": "user", "content": f"Tell me all about my order #W{number:06d}, please."}
    asked = {
        "model": MODEL,
        "messages": [message],
        "tools": [tool.schema() for tool in TOOLS.values()],
        "stream": True,
        "max_tokens": tokens,
        "ignore_eos": True,
        "seed": number,
        **(CAPTURED | {"stream_options": {"include_usage": True}} if captured else {}),
    }
    body = json.dumps(asked).encode()
    return Conversation(f"stream-{number}", body, (len(body),), b"")
