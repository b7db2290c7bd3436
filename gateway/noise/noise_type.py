"""Choose a session's noise type when its first request is known."""

from __future__ import annotations

import structlog

from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.system_prompt import find_instructions
from crosswind.gateway.sessions.session import LiveSession, settle_type
from crosswind.injectors.engine.noise_type import FirstRequest, find_allowed_types

_log = structlog.get_logger("crosswind.noise")


def choose_type(session: LiveSession, codec: Codec, request: Request) -> None:
    """Choose among the types that the request allows, if it is the session's first; once. Never raises."""
    choice, session.type_choice = session.type_choice, None
    if choice is None or not session.unwritten:
        return
    try:
        prompt = find_instructions(request, codec.system_member)
        first = FirstRequest(request.conversation, None if prompt is None else prompt.item)
        settle_type(session, choice, find_allowed_types(choice.profile, choice.make_plan, first))
    except Exception:
        _log.exception("the noise type can't be chosen: it stays as it was drawn", session=session.record.id)
