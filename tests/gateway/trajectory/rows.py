"""Rows to store: small builders for the examples, strategies for the properties."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from crosswind.gateway.errors import UpstreamAttempt
from crosswind.gateway.trajectory.content import Chain, View, pack
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import (
    AnsweredCall,
    Arm,
    Completion,
    Delivered,
    Durable,
    Event,
    InnerRound,
    Reward,
    RewardState,
    Row,
    Session,
    SessionClosed,
    SessionStatus,
    Turn,
    TurnFailure,
    VersionSpan,
)
from crosswind.gateway.trajectory.sqlite.store import SqliteStore


def session(session_id: str = "s", **fields: Any) -> Session:
    given: dict[str, Any] = {"created_us": 1_700_000_000_000_000, "plan": {"profile": "off"}} | fields
    return Session(session_id, **given)


def turn(session_id: str = "s", index: int = 0, **fields: Any) -> Turn:
    return Turn(session_id, index, **({"created_us": 1_700_000_000_000_000 + index} | fields))


def event(session_id: str = "s", turn_index: int = 0, ordinal: int = 0, **fields: Any) -> Event:
    given: dict[str, Any] = {
        "operator": "tool.timeout",
        "site": "tool_result",
        "slot": "7\x1fsession\x1fk",
        "anchor": "call:c1#0",
        "logical_call": "logical:ab",
        "severity": 0.5,
        "draw": {"after_ms": 3000},
        "clean_hash": "h",
        "before": '{"status": "shipped"}',
        "after": '{"error": "timed out"}',
        "recovery": "retry",
        "note": "the next identical call is answered",
        "tool": "get_order",
        "tool_class": "read",
    }
    return Event(session_id, turn_index, ordinal, **(given | fields))


def shown(session_id: str, anchor: str, **fields: Any) -> Shown:
    given: dict[str, Any] = {"site": "user_text", "ordinal": 0, "turn_index": 0, "clean_hash": "h"}
    return Shown(session_id, anchor, **(given | fields))


def rollout(session_id: str, group_id: str, index: int | None, size: int, *, at: int) -> list[Any]:
    """A session of a group that was closed and rewarded at the time `at`."""
    return [
        session(session_id, group_id=group_id, group_size=size, rollout_index=index, created_us=1),
        SessionClosed(session_id, at),
        Reward(session_id, at, 1.0),
    ]


TOOLS = b"],tools:[" + b"t" * 500


def talk(session_id: str, turns: int, *, secret: str = "") -> list[Row]:
    """A session of several turns. It shares its first message and its frame with others like it."""
    own = Chain(None, b"system prompt ")
    written: list[Row] = [session(session_id)]
    for index in range(turns):
        own = Chain(own, f"<{session_id}{secret}:{index}>".encode())
        body = View((b"messages:[", None, TOOLS), own)
        answer = View.plain(f"answer {session_id}{secret} {index}".encode())
        ids = Chain(None, f"{session_id}{index}____".encode()[:8])
        given = turn(session_id, index, received=body, sent=body, produced=answer, prompt_ids=ids)
        written += [given, event(session_id, index), Reward(session_id, index, 1.0)]
    return written


def turns_of(written: Iterable[Row]) -> list[Turn]:
    return [row for row in written if isinstance(row, Turn)]


def forget_arrival(path: Path) -> None:
    """Let rows be as old as their clock says."""
    as_told = "UPDATE session SET arrival = created_us, closed_arrival = closed_us;"
    execute(path, f"{as_told} UPDATE turn SET arrival = created_us; UPDATE reward SET arrival = created_us;")


def sweep_all(store: SqliteStore, at_once: int = 500) -> int:
    """Delete the turns that are left of deleted sessions; return how many."""
    return sum(iter(lambda: store.sweep(at_once), 0))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the write lock of a store as another process would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def query(path: Path, statement: str, *values: object) -> list[Any]:
    """The rows that a query gives, read as plain `sqlite3` does."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement, values).fetchall()


def execute(path: Path, script: str) -> None:
    """Change a store behind its back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(script)


texts = st.text(st.characters(exclude_categories=())) | st.text()
"""Any text that Python can hold, lone surrogates and NUL among it."""
words = st.text(st.characters(codec="utf-8"))
"""Of a version's own vocabulary: an earlier or a later one may have others."""
ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
numbers = st.integers(0, 2**62)
floats = st.floats(allow_nan=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def chains(draw: Callable[[Any], Any], body: st.SearchStrategy[bytes]) -> Chain:
    node: Chain | None = None
    for segment in draw(st.lists(body, min_size=1, max_size=5)):
        node = Chain(node, segment)
    assert node is not None
    return node


@st.composite
def views(draw: Callable[[Any], Any]) -> View:
    pieces: list[bytes | None] = draw(st.lists(st.binary(max_size=40), max_size=3))
    if not draw(st.booleans()):
        return View(tuple(pieces))
    pieces.insert(draw(st.integers(0, len(pieces))), None)
    return View(tuple(pieces), draw(chains(st.binary(max_size=40))))


token_ids = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=6).map(tuple)
token_chains = chains(token_ids.map(lambda values: pack("i", values)))
completions = st.builds(
    Completion,
    index=st.just(0),
    token_ids=token_ids,
    logprobs=st.lists(floats, max_size=6).map(tuple),
    finish_reason=optional(texts),
    versions=st.lists(st.builds(VersionSpan, texts, numbers, numbers), max_size=2).map(tuple),
)


def numbered(rows: list[Completion]) -> tuple[Completion, ...]:
    return tuple(dataclasses.replace(row, index=index) for index, row in enumerate(rows))


sessions = st.builds(
    Session,
    id=ids,
    created_us=numbers,
    plan=json_objects,
    arm=st.sampled_from(Arm),
    task_id=optional(texts),
    group_id=optional(texts),
    group_size=optional(numbers),
    rollout_index=optional(numbers),
    labels=json_objects,
    policy=optional(texts),
    tenant=optional(texts),
    identity=texts,
    confidence=floats,
    quarantine=optional(texts),
    noise_stopped=st.booleans(),
    status=st.sampled_from(SessionStatus),
    closed_us=optional(numbers),
    reward_state=st.sampled_from(RewardState),
    reward=optional(floats),
    reward_components=json_objects,
    reward_source=optional(texts),
)
failures = st.builds(TurnFailure, source=words.map(Source), kind=texts, message=optional(texts))
attempts = st.builds(UpstreamAttempt, replica=texts, outcome=texts, took_us=numbers)
rounds = st.builds(
    InnerRound,
    produced=texts,
    calls=st.lists(st.builds(AnsweredCall, id=texts, name=texts, arguments=texts, result=texts)).map(tuple),
    fitness=words.map(Fitness),
    usage=json_objects,
    prompt_ids=optional(st.lists(numbers, max_size=2)),
    token_ids=optional(st.lists(st.lists(numbers, max_size=2), max_size=2)),
    logprobs=optional(st.lists(st.lists(floats, max_size=2), max_size=2)),
    versions=optional(st.lists(st.lists(st.builds(VersionSpan, texts, numbers, numbers), max_size=2))),
)
turns = st.builds(
    Turn,
    session_id=st.just("s"),
    index=st.integers(0, 1000),
    created_us=numbers,
    attempt=st.integers(0, 5),
    parent=optional(numbers),
    branch=texts,
    fitness=words.map(Fitness),
    durable=st.sampled_from(Durable),
    delivered=st.sampled_from(Delivered),
    protocol=texts,
    stream=st.booleans(),
    model=optional(texts),
    response_id=optional(texts),
    kept=st.booleans(),
    policy_first=optional(texts),
    policy_last=optional(texts),
    received=optional(views()),
    sent=optional(views()),
    produced=optional(views()),
    delivered_view=optional(views()),
    prompt_ids=optional(token_chains),
    completions=st.lists(completions, max_size=3).map(numbered),
    finish_reason=optional(texts),
    usage=json_objects,
    usage_injected=json_objects,
    queue_us=optional(numbers),
    first_token_us=optional(numbers),
    total_us=optional(numbers),
    upstream_status=optional(numbers),
    error=optional(failures),
    inner=st.lists(st.one_of(rounds, attempts), max_size=2).map(tuple),
)
events = st.builds(
    Event,
    session_id=st.just("s"),
    turn_index=numbers,
    ordinal=numbers,
    operator=texts,
    site=texts,
    slot=texts,
    anchor=texts,
    logical_call=optional(texts),
    severity=floats,
    draw=json_objects,
    clean_hash=texts,
    before=texts,
    after=optional(texts),
    recovery=texts,
    note=texts,
    tool=optional(texts),
    tool_class=optional(texts),
    attempt=numbers,
    created_us=numbers,
)
ledger_rows = st.builds(
    Shown,
    session_id=st.just("s"),
    anchor=texts,
    site=texts,
    ordinal=numbers,
    turn_index=numbers,
    clean_hash=texts,
    decisions=st.lists(json_objects, max_size=2).map(tuple),
    text=optional(texts),
    branch=texts,
)
