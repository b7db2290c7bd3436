"""Decide the noise of one request: its texts, its system prompt, its tools and the faults on its way.

The proxy, the preparation of model-written texts and the replay all decide here. Nothing is recorded: the
same request under the same circumstances gives the same decision again.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from crosswind.gateway.noise.tool_view import TurnTools, show_declared, show_tools
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.system_prompt import Instructions, find_instructions
from crosswind.gateway.sessions.profiles import FAULT_SITES
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.tool_legs import LABEL, find_served
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.injectors.conversation import Site, ToolResult
from crosswind.injectors.engine.faults import LinkDecision, decide_faults
from crosswind.injectors.engine.messages import perturb_instructions, perturb_messages
from crosswind.injectors.engine.resume import MessageNoise
from crosswind.injectors.wording import Texts

_NONE: frozenset[str] = frozenset()


class Circumstances(msgspec.Struct, frozen=True, gc=False):
    """What a request's noise depends on besides its session. `enabled` is the kill switch."""

    enabled: bool
    allow_new: bool
    """False: no new decisions in this request; history stays as it was shown."""
    streaming: bool
    now_us: int
    duplicates: str = "allowed"
    """Whether the upstream accepts two tools of one name: `allowed`, or `suffixed`."""
    texts: Texts | None = None
    """A language model's, for operators that use them."""


class Decided(msgspec.Struct, gc=False):
    """The noise of one request, before anything of it is recorded or written."""

    texts: MessageNoise
    prompt: tuple[Instructions, str] | None
    """The system prompt, and the noisy text to put in its place."""
    tools: TurnTools | None
    """None: as the client declared them."""
    faults: Sequence[LinkDecision] = ()
    """Of the link, then of the provider behind it."""

    def write_prompt(self, request: Request) -> None:
        if self.prompt is not None:
            found, text = self.prompt
            found.replace_text(request, text, self.texts.replacements)


def may_decide(session: LiveSession, request: Request, now: Circumstances) -> bool:
    stopped = session.record.noise_stopped or not now.enabled
    known = session.ledger.complete and not session.behind and request.certain
    return bool(session.plan.rules) and now.allow_new and known and not (stopped or request.in_background)


def prompt_of(session: LiveSession, codec: Codec, request: Request) -> Instructions | None:
    """The request's system prompt, where the plan has a rule for it."""
    concerned = Site.INSTRUCTIONS in session.plan.rules_by_site
    return find_instructions(request, codec.system_member) if concerned else None


def _find_served(session: LiveSession, request: Request) -> frozenset[str]:
    """The tools of a request that a tool leg serves."""
    labels = session.record.labels
    if not labels or not any(label.startswith(LABEL) for label in labels):
        return _NONE
    conversation = request.conversation
    called = {item.call.name for item in conversation.items if isinstance(item, ToolResult)}
    return find_served(labels, called.union(tool.name for tool in conversation.tools))


def decide(
    session: LiveSession, codec: Codec, request: Request, place: TurnPosition, now: Circumstances
) -> Decided:
    """Show again what the ledger knows, and decide what is new.

    Nobody waits for the answer of an unattended request, so that nothing in it could be mapped back: its
    tools stay as declared, and its new texts clean.
    """
    plan, ledger = session.plan, session.ledger
    allow_new = now.allow_new and not request.in_background
    elsewhere = _find_served(session, request)
    conversation = plan, request.conversation, ledger.known
    walked = session.walks.before(*conversation)
    texts = perturb_messages(
        *conversation, allow_new=allow_new, texts=now.texts, walked=walked, elsewhere=elsewhere
    )
    prompt = None
    if (found := prompt_of(session, codec, request)) is not None:
        text, new = perturb_instructions(
            plan, found.item, ledger.known, turn=place.index, allow_new=allow_new, texts=now.texts
        )
        if new is not None:
            texts.new.insert(0, new)
        prompt = None if text is None else (found, text)
    if request.in_background:
        return Decided(texts, prompt, show_declared(codec, ledger, request))
    if ledger.tools is None and Site.TOOL_SCHEMA not in plan.rules_by_site:
        tools = show_declared(codec, ledger, request)
    else:
        tools = show_tools(
            codec,
            plan,
            ledger,
            request,
            turn=place.index,
            allow_new=allow_new,
            duplicates=now.duplicates,
            texts=now.texts,
            elsewhere=elsewhere,
        )
    if not allow_new or plan.rules_by_site.keys().isdisjoint(FAULT_SITES):
        return Decided(texts, prompt, tools)
    faults = decide_faults(
        plan,
        turn=place.index,
        attempt=place.attempt,
        streaming=now.streaming,
        spent=session.turns.spent,
        met=session.turns.met,
        memory=session.fault_memory,
        of_provider=codec.provider_errors is not None,
    )
    return Decided(texts, prompt, tools, faults)
