"""Noise on a request's instructions, where the plan has any: for sessions of simulated users."""

from __future__ import annotations

from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.system_prompt import Instructions, instructions
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import Place
from crosswind.injectors.engine.decision import NewlyShown
from crosswind.injectors.engine.resume import Perturbed
from crosswind.injectors.engine.system_prompt import acts_on_instructions, perturb_instructions
from crosswind.injectors.wording import Texts


def instruct(
    perturbed: Perturbed,
    session: LiveSession,
    codec: Codec,
    request: Request,
    place: Place,
    *,
    allow_new: bool,
    texts: Texts | None = None,
) -> None:
    """Show the instructions as before, or decide how, beside what became of the request's other texts."""
    found, text, new = decided(session, codec, request, place, allow_new=allow_new, texts=texts)
    if new is not None:
        perturbed.new.insert(0, new)
    if found is not None and text is not None:
        found.put(request, text, perturbed.replacements)


def decided(
    session: LiveSession,
    codec: Codec,
    request: Request,
    place: Place,
    *,
    allow_new: bool,
    texts: Texts | None,
) -> tuple[Instructions | None, str | None, NewlyShown | None]:
    """The request's instructions, the text to show in their place, and what the ledger didn't know."""
    found = instructions(request, codec.instructions) if acts_on_instructions(session.plan) else None
    if found is None:
        return None, None, None
    known = session.ledger.known
    shown = perturb_instructions(
        session.plan, found.item, known, turn=place.index, allow_new=allow_new, texts=texts
    )
    return found, *shown
