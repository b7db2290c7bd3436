"""How a store grows: `python -m benchmarks.store_growth`; prints a table.

Conversations as agents lead them: each turn resends everything so far and adds a user's or tool's message; 40
turns make a request of about 60 KB. Bodies go through the Chat codec, as the gateway's do. With noise every
fourth new message is shown otherwise than it came.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from crosswind.gateway.protocols.codec import SessionReader, codec_named
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Delivered, Delivery, Event, Row, Session, Turn
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.injectors.conversation import Ref

MESSAGE_BYTES = 700
TOOLS = [
    {"type": "function", "function": {"name": f"tool_{at}", "description": "Looks something up. " * 8}}
    for at in range(10)
]
_WORDS = [f"{letter}{at:02}" for letter in "abcdefghij" for at in range(100)]


@dataclass(frozen=True, slots=True)
class Growth:
    """What one length of conversation came to."""

    turns: int
    noise: bool
    requests: int
    """Bytes of all requests as they came."""
    new: int
    """Bytes that were new in them, and of the answers."""
    stored: int
    """Bytes of the file, less those of an empty store."""


def measure(turns: int, conversations: int, *, noise: bool) -> Growth:
    """Store conversations of a length, a turn a commit, as a lone client's come."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "growth.db")
        empty, requests, new = store.used_bytes(), 0, 0
        for number in range(conversations):
            session = f"session-{number:08}"
            store.write([Session(session, number, {"profile": "bench"})])
            for rows, body, added in _turns(session, turns, random.Random(number), noise=noise):
                store.write(rows)
                requests += body
                new += added
        stored = store.used_bytes() - empty
        store.close()
    return Growth(turns * conversations, noise, requests, new, stored)


def _turns(
    session: str, turns: int, draw: random.Random, *, noise: bool
) -> Iterator[tuple[list[Row], int, int]]:
    """Each turn's rows, its request's bytes, and how many of those and of the answer's are new."""
    codec = codec_named("chat")
    assert codec is not None
    reader, messages, known = SessionReader(codec), list[dict[str, Any]](), dict[Ref, str]()
    for index in range(turns):
        text = " ".join(draw.choices(_WORDS, k=MESSAGE_BYTES // 4))
        messages.append({"role": "user", "content": text})
        body = json.dumps({"model": "policy", "messages": messages, "tools": TOOLS}).encode()
        split = codec.split(body)
        assert split is not None
        request = codec.read(split, reader, bytes)
        sent = received = request.stored_view(bytes)
        rows: list[Row] = []
        if noise and index % 4 == 3:
            known[Ref(len(messages) - 1, None)] = text[::-1]
            rows.append(_event(session, index, text))
        if known:
            _, sent = request.write(known, {}, bytes)
        answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()
        shown = text[::-1] if rows else None
        rows.append(Shown(session, f"text:{index}", "user_text", index, index, "hash", (), shown))
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": len(answer) // 4}
        rows.append(Turn(session, index, index, received=received, sent=sent, usage=usage,
                         produced=View.plain(answer), response_id=f"{session}-{index}"))  # fmt: skip
        rows.append(Delivery(session, index, 0, Delivered.YES, None, 1000))
        messages.append({"role": "assistant", "content": text})
        yield rows, len(body), len(answer) + sum(len(json.dumps(one)) for one in messages[-2:])


def _event(session: str, index: int, text: str) -> Event:
    kind = ("user.typos", "user_text", "slot", f"text:{index}", None, 0.5, {"swaps": [1, 2]}, "hash")
    return Event(session, index, 0, *kind, text, text[::-1], "tolerate", "ids kept")


@click.command()
@click.option("--lengths", default=[1, 10, 40, 400], multiple=True, show_default=True, help="Turns.")
@click.option("--turns", default=800, show_default=True, help="Turns stored for each length, about.")
def main(lengths: tuple[int, ...], turns: int) -> None:
    """Print how a store grows with the length of conversations, as a Markdown table."""
    click.echo("| turns | noise | requests, MB per 1,000 turns | new text, MB | stored, MB | stored / new |")
    click.echo("|---:|---|---:|---:|---:|---:|")
    for length in lengths:
        for noise in (False, True):
            found = measure(length, max(1, turns // length), noise=noise)
            per = 1000 / found.turns / 1e6
            figures = (found.requests * per, found.new * per, found.stored * per, found.stored / found.new)
            cells = (str(length), "on" if noise else "off", *(f"{figure:.2f}" for figure in figures))
            click.echo(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
