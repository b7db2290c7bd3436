"""Requests out of a store, read as the gateway read them."""

from __future__ import annotations

from crosswind.gateway.protocols.codec import Codec, codec_named
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.sessions.restore import apply_answer
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.trajectory.record import Turn


def read_stored_request(live: LiveSession, turn: Turn) -> tuple[Codec, Request] | None:
    """A turn's request as its agent sent it, unmasked further; None where there is none that can be read."""
    codec = codec_named(turn.protocol)
    split = codec.split(turn.received.bytes()) if codec and turn.received else None
    if codec is None or split is None:
        return None
    request = codec.read(split, live.reader(codec), lambda segment: segment)
    apply_answer(request, turn)
    return codec, request
