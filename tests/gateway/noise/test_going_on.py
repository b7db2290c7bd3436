"""A session that goes on from what it read and decided before shows what one that remembers nothing shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.gateway.noise.decide import Circumstances
from crosswind.gateway.noise.pipeline import add_noise
from crosswind.gateway.protocols.codec import Codec, SessionReader, codecs
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.ledger import Ledger
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Session
from crosswind.injectors.engine.plan import Plan, Seed, make_plan
from crosswind.injectors.profiles.load import parse
from tests.gateway.protocols.test_documents import same
from tests.injectors.dialogues import TOOLS, conversations

PROFILE = parse(
    """
name: all
bounds: {faults_per_session: 4, events_per_session: 30}
rules:
  - {operator: tool.timeout, severity: 0.4, when: {min_interval: 2}}
  - {operator: tool.incomplete, severity: 0.4}
  - {operator: tool.misleading, severity: 0.7, when: {at_most: 4}, where: {tools: ["get_*"]}}
  - {operator: user.inconsistent, severity: 0.6}
  - {operator: user.redundant, severity: 0.8, when: {every: 2}}
  - {operator: user.typos, severity: 0.5, when: {probability: 0.7}}
  - {operator: schema.paraphrase_tool, severity: 0.5}
  - {operator: model.rate_limited, severity: 0.5}
""",
    "all",
)
CHAT: Codec = codecs()["chat"]
MESSAGES: Codec = codecs()["messages"]
REDACTOR = Redactor("redact")
Spelling = Callable[[Any], bytes]

SPELLINGS: list[Spelling] = [
    lambda body: json.dumps(body).encode(),
    lambda body: json.dumps(body, separators=(",", ":")).encode(),
    lambda body: json.dumps(body, indent=1).encode(),
    lambda body: json.dumps(dict(reversed(body.items()))).encode(),
    lambda body: json.dumps({"user": "a longer head", **body}, ensure_ascii=True).encode(),
]


@dataclass
class Told:
    """One worker's copy of a session, and the rows that it stored."""

    plan: Plan
    rows: list[Shown] = field(default_factory=list)
    session: LiveSession = field(init=False)

    def __post_init__(self) -> None:
        record = Session("s", 0, self.plan.to_json())
        self.session = LiveSession(record, self.plan, Ledger(self.rows))

    def shows(self, body: bytes, turn: int) -> tuple[bytes, list[Any]]:
        """What is sent in place of a body, and the events."""
        reader = self.session.reader(CHAT)
        split = CHAT.split(body, reader)
        assert split is not None
        request = CHAT.read(split, reader, REDACTOR.mask)
        now = Circumstances(enabled=True, allow_new=turn % 7 != 6, streaming=False, now_us=0)
        noise = add_noise(self.session, CHAT, request, TurnPosition(turn), now, REDACTOR)
        assert noise.unfit is None
        self.rows += [row for row in noise.rows if isinstance(row, Shown)]
        sent, view = request.write(noise.replacements, noise.members, REDACTOR.mask, noise.forward)
        assert view.bytes() == sent
        return sent, noise.events


def in_blocks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**message, "content": [{"type": "text", "text": message["content"], "cache_control": {}}]}
        if isinstance(message.get("content"), str)
        else message
        for message in messages
    ]


def edited(messages: list[dict[str, Any]], at: int) -> list[dict[str, Any]]:
    out = [dict(message) for message in messages]
    if out and isinstance(out[at % len(out)].get("content"), str):
        out[at % len(out)]["content"] += " One more word."
    return out


WAYS: list[Callable[[list[dict[str, Any]], int], list[dict[str, Any]]]] = [
    lambda said, _: said,
    lambda said, _: said,
    lambda said, _: in_blocks(said),
    lambda said, at: [*said[:1], *said[1 + at :]],
    edited,
    lambda said, at: [*said, {"role": "user", "content": f"A reminder: {at}"}],
]


@settings(max_examples=50, deadline=None)
@given(
    messages=conversations(),
    seed=st.integers(0, 1000),
    requests=st.lists(
        st.tuples(st.integers(1, 20), st.sampled_from(WAYS), st.integers(0, 9), st.sampled_from(SPELLINGS)),
        max_size=8,
    ),
)
def test_the_noisy_view_is_that_of_a_worker_that_starts_anew(
    messages: list[dict[str, Any]], seed: int, requests: list[Any]
) -> None:
    """Re-serialised, compacted, edited, forked and repeated, in any order: byte for byte. The other worker
    has nothing but the ledger's rows, and reads each body as the first one."""
    plan = make_plan(PROFILE, Seed(seed, "s"))
    staying = Told(plan)
    for turn, (length, way, at, spelled) in enumerate(requests):
        body = spelled({"model": "m", "messages": way(messages[:length], at), "tools": TOOLS})
        anew = Told(Plan.from_json(plan.to_json()), list(staying.rows))
        shown = staying.shows(body, turn)
        assert anew.shows(body, turn) == shown
        assert staying.shows(body, turn)[0] == shown[0]


MEMBERS = st.sampled_from([{}, {"stream": True}, {"tools": TOOLS}, {"messages_": []}, {"stop": None, "n": 1}])


@settings(max_examples=80, deadline=None)
@given(
    messages=conversations(),
    requests=st.lists(
        st.tuples(st.integers(0, 20), st.sampled_from(WAYS), st.integers(0, 9), MEMBERS, MEMBERS),
        max_size=6,
    ),
    spelled=st.sampled_from(SPELLINGS),
    codec=st.sampled_from([CHAT, MESSAGES]),
)
def test_a_body_is_split_and_read_as_if_it_were_the_first(
    messages: list[dict[str, Any]], requests: list[Any], spelled: Spelling, codec: Codec
) -> None:
    reader = SessionReader(codec)
    for length, way, at, before, after in requests:
        body = spelled({**before, "model": "mn"[at % 2], "messages": way(messages[:length], at), **after})
        split, fresh = codec.split(body, reader), codec.split(body)
        assert split is not None and fresh is not None
        assert split.document == fresh.document
        assert list(split.document.members) == list(fresh.document.members)
        assert split.spans == fresh.spans
        request, alone = codec.read(split, reader, same), codec.read(fresh, SessionReader(codec), same)
        assert request.conversation == alone.conversation
        assert request.digest() == alone.digest()
        assert request.write({}, {}, same)[0] == body


@settings(max_examples=150, deadline=None)
@given(messages=conversations(max_steps=3), data=st.data())
def test_what_is_no_request_is_none_whatever_came_before(messages: list[dict[str, Any]], data: Any) -> None:
    """Cut, or broken by another byte."""
    reader = SessionReader(CHAT)
    body = json.dumps({"model": "m", "messages": messages}).encode()
    split = CHAT.split(body, reader)
    assert split is not None
    CHAT.read(split, reader, same)
    at = data.draw(st.integers(0, len(body) - 1))
    byte = data.draw(st.sampled_from([b"", b"]", b"}", b"{", b",", b'"', b"0", b".", b" ", b"\xff", b"\x00"]))
    for broken in (body[:at], body[:at] + byte + body[at:], body[:at] + byte + body[at + 1 :]):
        found, fresh = CHAT.split(broken, reader), CHAT.split(broken)
        assert (found is None) == (fresh is None)
        if found is not None and fresh is not None:
            assert (found.document, found.spans) == (fresh.document, fresh.spans)


@pytest.mark.parametrize("codec", [CHAT, MESSAGES])
def test_only_what_is_new_is_split(codec: Codec) -> None:
    reader = SessionReader(codec)
    said = [{"role": "user", "content": f"Message {number}."} for number in range(9)]
    for length in (7, 9):
        body = json.dumps({"model": "m", "messages": said[:length]}).encode()
        split = codec.split(body, reader)
        assert split is not None
        assert (split.known.steps if split.known else 0) == (0 if length == 7 else 7)
        codec.read(split, reader, same)
