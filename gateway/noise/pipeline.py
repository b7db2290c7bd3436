"""Noise on the way in: decide it, record it in the session, and take it back where it can't be shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
import structlog
from msgspec.structs import replace

from crosswind.gateway.noise.decide import Circumstances, Decided, decide, prompt_of
from crosswind.gateway.noise.events import EventBuilder
from crosswind.gateway.noise.fault_runner import NO_FAULTS, Faults
from crosswind.gateway.noise.tool_view import TurnTools, show_declared
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.hidden_tools import HistoryEdits
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.ledger import clean_hash
from crosswind.gateway.sessions.profiles import FAULT_SITES
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.record import Event, Row, SessionMarked
from crosswind.injectors.conversation import Ref
from crosswind.injectors.engine.decision import Injection, NewText
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.guard.tool_classes import permit
from crosswind.injectors.targets import Effect
from crosswind.injectors.text.languages import UNABLE
from crosswind.injectors.wording import Texts

_log = structlog.get_logger("crosswind.noise")

_TAKEN_BACK = "Withheld: it couldn't be written into the request."


class Noise(msgspec.Struct, eq=False):
    """The noise of one request: texts to replace, faults on the link, and the rows that record it."""

    replacements: Mapping[Ref, str] = {}
    faults: Faults = NO_FAULTS
    rows: list[Row] = []
    events: list[Event] = []
    tools: TurnTools | None = None
    """How the tools are shown, where that is not as the client declared them."""
    spared: bool = False
    """Whether the request was spared new decisions."""
    unfit: Fitness | None = None
    """Why the turn may not train, where noise is the reason."""
    texts: Texts | None = None
    """The model-written texts that were at hand."""
    clean: set[Ref] = set()
    """Texts that are shown otherwise for the first time, and hold no secret: their messages were searched."""
    new: Sequence[NewText] = ()
    """The texts that this request was the first to show."""
    withheld: list[Injection] = []
    """What was drawn and not injected."""
    acted: set[str] = set()
    """The operators of the faults that have done something, or will as the answer is passed on."""
    may_replace: Callable[[str], bool] = lambda _: False
    """Whether results of a tool may be lost: its class allows that here."""

    @property
    def members(self) -> Mapping[str, bytes | None]:
        return {} if self.tools is None else self.tools.members

    @property
    def forward(self) -> HistoryEdits | None:
        """What the history needs besides texts."""
        return None if self.tools is None else self.tools.forward

    def withhold_faults(self, why: str) -> None:
        """Inject none of the faults; their events say why."""
        self.faults = NO_FAULTS
        self.events[:] = [
            replace(one, after=None, note=why) if one.site in FAULT_SITES else one for one in self.events
        ]

    def withhold(self, operator: str, reason: str, *, unable: bool = False) -> None:
        """Inject none of an operator's noise; if it is a fault, it doesn't act any more, either.

        `unable`: the exchange had no place for it, which was unknown when it was drawn. Its draw says so.
        """
        self.faults = Faults(tuple(one for one in self.faults.injected if one.operator != operator))
        drawn = {UNABLE: reason} if unable else {}
        self.events[:] = [
            replace(one, after=None, note=f"Withheld: {reason}.", draw={**one.draw, **drawn})
            if one.operator == operator
            else one
            for one in self.events
        ]

    def withhold_rest(self, reason: str, *, unable: bool = False) -> None:
        """Withhold the faults that have not acted."""
        for one in self.faults.injected:
            if one.operator not in self.acted:
                self.withhold(one.operator, reason, unable=unable)


def add_noise(
    session: LiveSession,
    codec: Codec,
    request: Request,
    place: TurnPosition,
    now: Circumstances,
    redactor: Redactor,
) -> Noise:
    """Decide the noise of a request, and record it in the session. Never raises: where noise fails, the
    request stays clean.
    """
    if not session.plan.rules:
        return Noise()
    if session.record.noise_stopped or not now.enabled:
        return _stop(session, codec, request)
    if not session.ledger.complete:
        return Noise(unfit=Fitness.LEDGER_UNAVAILABLE)
    noise = Noise()
    try:
        if session.behind or not request.certain:
            # Another worker may have decided otherwise: show what is known, and decide nothing.
            known = decide(session, codec, request, place, replace(now, allow_new=False))
            known.write_prompt(request)
            return Noise(known.texts.replacements, tools=known.tools, unfit=Fitness.LEDGER_UNAVAILABLE)
        decided = decide(session, codec, request, place, now)
        events = EventBuilder(session.record.id, place, now.now_us, redactor)
        _record(noise, decided, session, request, place, events)
        noise.spared = request.in_background or not now.allow_new
        noise.texts = now.texts
    except Exception:
        # Noise must never break traffic: the clean payload goes through, the turn says why it can't train.
        _log.exception(
            "noise failed; the clean request goes through", session=session.record.id, turn=place.index
        )
        return roll_back(noise, session, codec, request, place)
    return noise


def _stop(session: LiveSession, codec: Codec, request: Request) -> Noise:
    """History reverts to clean and stays so: a session whose noise was stopped never gets any again. The
    upstream's own copy of the history must still be completed.
    """
    noise = Noise(unfit=Fitness.NOISE_STOPPED, tools=show_declared(codec, session.ledger, request))
    if not session.record.noise_stopped:
        session.mark(noise_stopped=True)
        noise.rows.append(SessionMarked(session.record.id, noise_stopped=True))
    return noise


def _record(
    noise: Noise,
    decided: Decided,
    session: LiveSession,
    request: Request,
    place: TurnPosition,
    events: EventBuilder,
) -> None:
    """Enter what was decided into the ledger, and build its rows and events.

    Whatever is entered stands in `noise` first, so that a failure can be rolled back.
    """
    noise.new, noise.tools = decided.texts.new, decided.tools
    session.walks.keep(decided.texts.walked)
    decided.write_prompt(request)
    noise.replacements = decided.texts.replacements
    if decided.tools is not None:
        _record_tools(noise, decided.tools, session, place, events)
    searched = events.knows_secrets
    for new in noise.new:
        shown = session.ledger.add(new, session.record.id, place)
        clean = searched and events.is_clean(new, request.history.steps)
        if clean or events.storable(shown):
            noise.rows.append(shown)
        if clean and new.text is not None:
            noise.clean.add(new.item.ref)
        if new.injections:
            _record_injections(noise, new.injections, events, shown if clean else None)
    if request.in_background:
        noise.events.append(events.no_operator("No noise: the response runs in the background."))
    _record_faults(noise, decided, session, place, events)
    noise.may_replace = partial(_may_replace, decided, session, request)


def _record_tools(
    noise: Noise, tools: TurnTools, session: LiveSession, place: TurnPosition, events: EventBuilder
) -> None:
    ledger, known, session_id = session.ledger, session.ledger.tools, session.record.id
    if tools.shown.anchor and (known is None or tools.lasting.decided != known.decided):
        row = ledger.add_tools(tools.lasting, session_id, place)
        if events.storable(row):
            noise.rows.append(row)
        noise.rows += [
            NameMap(session_id, declared, shown, place.index)
            for shown, declared in tools.shown.declared_of.items()
            if events.redactor.is_clean_name(declared) and events.redactor.is_clean_name(shown)
        ]
    _record_injections(noise, tools.shown.injections, events)


def _record_injections(
    noise: Noise, injections: Sequence[Injection], events: EventBuilder, clean: Shown | None = None
) -> None:
    """Build the events of what was done to a text. `clean` is its row where none of it holds a secret."""
    for one in injections:
        if one.withheld is not None:
            noise.withheld.append(one)
        if clean is None:
            event = events.build(one)
        elif one is injections[0]:
            event = events.build_clean(one, clean.clean_hash)
        else:
            event = events.build_clean(one, clean_hash(one.before))
        noise.events.append(event)


def _record_faults(
    noise: Noise, decided: Decided, session: LiveSession, place: TurnPosition, events: EventBuilder
) -> None:
    for decision, fault, note in decided.faults:
        after = None if fault is None else encode(fault.settings()).decode()
        noise.events.append(events.build(Injection(decision, "", after, note)))
    if decided.faults:
        noise.faults = Faults.of(decided.faults)
        session.turns.add_injections(place, len(noise.faults.injected))


def _may_replace(decided: Decided, session: LiveSession, request: Request, tool: str) -> bool:
    """Whether the tool's class, as its calls so far leave it, allows that a result is replaced."""
    known = session.plan if decided.texts.walked is None else decided.texts.walked.counters
    tool_class = known.class_of(tool, request.conversation.tools)
    return permit(Effect.REPLACES, tool_class, session.plan.assume_tools).allowed


def roll_back(
    noise: Noise,
    session: LiveSession,
    codec: Codec,
    request: Request,
    place: TurnPosition,
    why: str = _TAKEN_BACK,
) -> Noise:
    """Take back noise that can't be shown: its places stay clean from now on, here and in the store, and its
    events say so. Gives the noise to go on with.
    """
    ledger, session_id = session.ledger, session.record.id
    session.turns.add_injections(place, 0)
    session.walks.forget()
    # What wasn't entered into the ledger yet must be, or a later turn would decide it.
    prompt, conversation = prompt_of(session, codec, request), request.conversation
    entered = {new.item.anchor: new.item for new in noise.new}
    known = entered.keys() | ledger.known.keys()
    brought = [item for item in conversation.items if item.ref.message >= conversation.held]
    items = [*([prompt.item] if prompt else ()), *brought]
    rows: list[Row] = [
        ledger.add(NewText(item, (), None, ()), session_id, place)
        for item in (*entered.values(), *(item for item in items if item.anchor not in known))
    ]
    if noise.tools is not None and noise.tools.shown.injections:
        rows.append(ledger.add_tools(_as_declared(noise.tools.shown, request), session_id, place))
    events = [replace(one, after=None, note=why) for one in noise.events]
    return Noise(rows=rows, events=events, unfit=Fitness.NOISE_FAILED)


def _as_declared(tools: ShownTools, request: Request) -> ShownTools:
    """The list without this request's decisions. It is `partial`: when it is shown next, it is arranged by
    the earlier ones.
    """
    now = {one.decision.slot for one in tools.injections}
    return dataclasses.replace(
        ShownTools.clean(request.conversation.tools),
        anchor=tools.anchor,
        decisions=tuple(decision for decision in tools.decisions if decision.slot not in now),
        decided=tools.decided,
        partial=True,
    )
