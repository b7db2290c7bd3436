"""Noise on the way in: what the ledger knows is shown again, what is new is decided and recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from msgspec.structs import replace

from crosswind.gateway.noise.events import Scribe
from crosswind.gateway.noise.rollback import take_back
from crosswind.gateway.noise.system_prompt import instruct
from crosswind.gateway.noise.tool_view import ClosedWorld, owing, world_in
from crosswind.gateway.protocols.codec import Codec
from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.faults import NO_FAULTS, Fault, Faults
from crosswind.gateway.protocols.hidden_tools import Forward
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.sessions.session import LiveSession
from crosswind.gateway.sessions.turns import Place
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.ledger_rows import NameMap
from crosswind.gateway.trajectory.record import Event, Row, SessionMarked
from crosswind.injectors.conversation import Ref, Site
from crosswind.injectors.engine.decide import NewlyShown, perturb
from crosswind.injectors.engine.link import MODEL_LINK, decide_transport
from crosswind.injectors.engine.model_link import decide_model
from crosswind.injectors.engine.rule import Outcome
from crosswind.injectors.wording import Texts

_log = structlog.get_logger("crosswind.noise")

_TAKEN_BACK = "Not injected: it couldn't be written into the request."


@dataclass(slots=True)
class Noise:
    """The noise of one request: texts to replace, faults on the link, and the rows that record it."""

    replacements: Mapping[Ref, str] = field(default_factory=dict)
    faults: Faults = NO_FAULTS
    rows: list[Row] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    world: ClosedWorld | None = None
    """How the tools are shown, where that is not as the client declared them."""
    spared: bool = False
    """Whether the request was spared new decisions."""
    unfit: Fitness | None = None
    """Why the turn may not train, where noise is the reason."""
    texts: Texts | None = None
    """What a model wrote for it."""
    new: Sequence[NewlyShown] = ()
    """What was decided in this request, of texts."""

    def withhold_faults(self, why: str) -> None:
        """Carry none of the faults out; their events say why."""
        self.faults = NO_FAULTS
        for at, event in enumerate(self.events):
            if event.site in (Site.TRANSPORT, Site.MODEL_RESPONSE):
                self.events[at] = replace(event, after=None, note=why)

    @property
    def members(self) -> Mapping[str, bytes | None]:
        """The body's members that noise changed."""
        return {} if self.world is None else self.world.members

    def withdraw(self, operator: str, reason: str) -> None:
        """An operator's events didn't come about."""
        self.events[:] = [
            replace(one, after=None, note=f"Not injected: {reason}.") if one.operator == operator else one
            for one in self.events
        ]

    def spared_by(self, operator: str) -> None:
        """The answer had nothing that an operator could act on: no event tells of what didn't happen."""
        self.events[:] = [one for one in self.events if one.operator != operator]

    @property
    def forward(self) -> Forward | None:
        """What the history needs besides texts."""
        return None if self.world is None else self.world.forward


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What bears on a request's noise besides its session. `enabled` is the kill switch."""

    enabled: bool
    allow_new: bool
    """False: no new decisions in this request; history stays as it was."""
    streaming: bool
    now_us: int
    duplicates: str = "allowed"
    """Whether the upstream takes two tools of one name: `allowed`, or `suffixed`."""
    texts: Texts | None = None
    """A model's, for operators that may have one write."""


def decides_anew(session: LiveSession, request: Request, now: Circumstances) -> bool:
    """Whether anything new may be decided in this request."""
    stopped = session.record.noise_stopped or not now.enabled
    known = session.ledger.complete and not session.behind and request.certain
    return bool(session.plan.rules) and now.allow_new and known and not (stopped or request.unattended)


def noise_in(
    session: LiveSession,
    codec: Codec,
    request: Request,
    place: Place,
    now: Circumstances,
    redactor: Redactor,
) -> Noise:
    """Decide the noise of a request. Never raises: where noise fails, the request stays clean."""
    if not session.plan.rules:
        return Noise()
    if session.record.noise_stopped or not now.enabled:
        return _stopped(session, codec, request)
    if not session.ledger.complete:
        return Noise(unfit=Fitness.LEDGER_UNAVAILABLE)
    noise = Noise()
    try:
        if session.behind or not request.certain:
            return _as_known(session, codec, request, place, now)
        return _decided(noise, session, codec, request, place, now, redactor)
    except Exception:
        # Noise must never break traffic: the clean payload goes through, the turn says why it can't train.
        _log.exception(
            "noise failed; the clean request goes through", session=session.record.id, turn=place.index
        )
        return taken_back(noise, session, request, place)


def taken_back(noise: Noise, session: LiveSession, request: Request, place: Place) -> Noise:
    """What stands in the place of noise that couldn't be shown: nothing of it, now or later, and the events
    say so."""
    shown = noise.world.shown if noise.world is not None else None
    rows = take_back(session, request, place, noise.new, shown)
    events = [replace(one, after=None, note=_TAKEN_BACK) for one in noise.events]
    return Noise(rows=rows, events=events, unfit=Fitness.NOISE_FAILED)


def _stopped(session: LiveSession, codec: Codec, request: Request) -> Noise:
    """History reverts to clean and stays so: a session whose noise was stopped never gets any again. What the
    upstream holds must still be made whole.
    """
    noise = Noise(unfit=Fitness.NOISE_STOPPED, world=owing(codec, session.ledger, request))
    if not session.record.noise_stopped:
        session.mark(noise_stopped=True)
        noise.rows.append(SessionMarked(session.record.id, noise_stopped=True))
    return noise


def _as_known(
    session: LiveSession, codec: Codec, request: Request, place: Place, now: Circumstances
) -> Noise:
    """History as far as it is known, and nothing new: another worker may have decided it otherwise."""
    ledger = session.ledger
    known = perturb(session.plan, request.conversation, ledger.known, allow_new=False)
    instruct(known, session, codec, request, place, allow_new=False)
    world = world_in(
        codec, session.plan, ledger, request, turn=place.index, allow_new=False, duplicates=now.duplicates
    )
    return Noise(known.replacements, world=world, unfit=Fitness.LEDGER_UNAVAILABLE)


def _unattended(session: LiveSession, codec: Codec, request: Request, place: Place, scribe: Scribe) -> Noise:
    """History as it was shown, and what is new clean, now and later: an answer that nobody waits for can't be
    mapped back.
    """
    ledger = session.ledger
    known = perturb(session.plan, request.conversation, ledger.known, allow_new=False)
    instruct(known, session, codec, request, place, allow_new=False)
    noise = Noise(known.replacements, world=owing(codec, ledger, request), spared=True)
    for new in known.new:
        noise.rows.append(
            ledger.add(new, session_id=session.record.id, turn=place.index, branch=place.branch)
        )
    noise.events.append(scribe.not_asked("Not injected: the response runs in the background."))
    return noise


def _decided(
    noise: Noise,
    session: LiveSession,
    codec: Codec,
    request: Request,
    place: Place,
    now: Circumstances,
    redactor: Redactor,
) -> Noise:
    scribe = Scribe(session.record.id, place, now.now_us, redactor)
    if request.unattended:
        return _unattended(session, codec, request, place, scribe)
    where, walks = (session.plan, request.conversation, session.ledger.known), session.walks
    perturbed = perturb(*where, allow_new=now.allow_new, texts=now.texts, walked=walks.before(*where))
    walks.keep(perturbed.walked)
    instruct(perturbed, session, codec, request, place, allow_new=now.allow_new, texts=now.texts)
    noise.replacements, noise.new = perturbed.replacements, perturbed.new
    noise.spared, noise.texts = not now.allow_new, now.texts
    _show_tools(noise, session, codec, request, place, now, scribe)
    for new in perturbed.new:
        shown = session.ledger.add(new, session_id=session.record.id, turn=place.index, branch=place.branch)
        if scribe.storable(shown):
            noise.rows.append(shown)
        for one in new.injections:
            noise.events.append(
                scribe.event(
                    one.decision, one.before, one.after, one.note, tool=one.tool, tool_class=one.tool_class
                )
            )
    if now.allow_new:
        noise.faults = _faults(session, codec, place, now, scribe, noise.events)
    return noise


def _faults(
    session: LiveSession,
    codec: Codec,
    place: Place,
    now: Circumstances,
    scribe: Scribe,
    events: list[Event],
) -> Faults:
    """Decide what befalls the link and the provider in this exchange."""
    plan, spent, met = session.plan, session.turns.spent, session.turns.met
    transport = decide_transport(
        plan,
        link=MODEL_LINK,
        turn=place.index,
        attempt=place.attempt,
        streaming=now.streaming,
        spent=spent,
        met=met,
    )
    model = []
    if codec.forms is not None:
        model = decide_model(
            plan,
            turn=place.index,
            attempt=place.attempt,
            streaming=now.streaming,
            spent=spent,
            met=met + len(_carried_out(transport)),
        )
    if not transport and not model:
        return NO_FAULTS
    for decision, settings, note in (*transport, *model):
        after = None if settings is None else encode(settings).decode()
        events.append(scribe.event(decision, "", after, note))
    befalling, answering = _carried_out(transport), _carried_out(model)
    session.turns.befell(place, len(befalling) + len(answering))
    return Faults(befalling, next(iter(answering), None))


def _carried_out(decided: Sequence[Outcome]) -> list[Fault]:
    return [Fault(decision.operator, settings) for decision, settings, _ in decided if settings is not None]


def _show_tools(
    noise: Noise,
    session: LiveSession,
    codec: Codec,
    request: Request,
    place: Place,
    now: Circumstances,
    scribe: Scribe,
) -> None:
    """Show the declared tools as before, or decide how; put back what the client never saw."""
    ledger, known, session_id = session.ledger, session.ledger.tools, session.record.id
    world = world_in(
        codec,
        session.plan,
        ledger,
        request,
        turn=place.index,
        allow_new=now.allow_new,
        duplicates=now.duplicates,
        texts=now.texts,
    )
    if world is None:
        return
    noise.world = world
    if world.shown.anchor and (known is None or world.lasting.decided != known.decided):
        row = ledger.add_tools(world.lasting, session_id=session_id, turn=place.index, branch=place.branch)
        if scribe.storable(row):
            noise.rows.append(row)
        noise.rows += [
            NameMap(session_id, declared, shown, place.index)
            for shown, declared in world.shown.declared_of.items()
        ]
    for one in world.shown.injections:
        noise.events.append(
            scribe.event(
                one.decision, one.before, one.after, one.note, tool=one.tool, tool_class=one.tool_class
            )
        )
