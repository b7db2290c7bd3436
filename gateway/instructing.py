"""Noise on a request's instructions, where the plan has any: for sessions of simulated users."""

from __future__ import annotations

from gateway.opening import LiveSession
from gateway.protocols.codec import Codec
from gateway.protocols.instructions import Instructions, instructions
from gateway.protocols.request import Request
from gateway.turns import Place
from injectors.decision import NewlyShown
from injectors.generation import Texts
from injectors.instructions import acts_on_instructions, perturb_instructions
from injectors.walked import Perturbed


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
