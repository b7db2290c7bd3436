"""Record exchanges: the turn before it is released to the client, the delivery after."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from crosswind.gateway.clock import steady_us
from crosswind.gateway.config.sections import Durability
from crosswind.gateway.noise.limits import AbortWatch
from crosswind.gateway.protocols.json_values import as_mapping, as_mappings, decode, decode_or_none
from crosswind.gateway.recorder.queue import Submission
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sessions.drills import DRILLED, Drills
from crosswind.gateway.sessions.inference import Inference, find_delivered_ids
from crosswind.gateway.sessions.profiles import FAULT_SITES
from crosswind.gateway.telemetry.logs import shows_debug
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.ledger_rows import DeliveredId
from crosswind.gateway.trajectory.record import Delivered, Delivery, Durable, ProviderObject, Row, Turn
from crosswind.gateway.trajectory.trust import Trust
from crosswind.gateway.turn.exchange import Exchange
from crosswind.gateway.turn.inner_rounds import ledger_rows, with_rounds
from crosswind.gateway.turn.tracing import Tracing

_log = structlog.get_logger("crosswind.recording")


@dataclass(frozen=True, slots=True)
class Recording:
    """Records turns. A failing store delays a turn for a bounded time, and stops none."""

    durability: Durability
    recorder: Recorder
    metrics: Metrics
    inference: Inference
    watch: AbortWatch
    tracing: Tracing | None
    trust: Trust
    drills: Drills
    shared_account: bool = False
    """Tenants share a provider's account: whose answers are whose is recorded."""

    @property
    def reads_turns(self) -> bool:
        """Whether turns are read for others than the store: for traces, for whose a provider's objects are,
        or for what may switch noise off.
        """
        return self.tracing is not None or self.shared_account or self.watch.active

    async def settle(self, exchange: Exchange) -> Durable:
        """Record the turn, and wait until it is on disk, as long as the configuration allows. Then it may be
        released.
        """
        submission = self._submit(exchange)
        error = None if exchange.turn is None else exchange.turn.error
        failed = error is not None and error.source in (Source.UPSTREAM, Source.OURS)
        if DRILLED in exchange.session.record.labels:
            await self.drills.note_turn(exchange.session.record, failed=failed)
        if exchange.beginning is not None:
            await exchange.beginning.share()
        if self.durability is Durability.RELAXED:
            return Durable.YES
        durable = await self.recorder.wait_durable(submission)
        if durable is Durable.YES:
            exchange.session.seen.stored = True
        return durable

    def _submit(self, exchange: Exchange) -> Submission:
        """Submit the turn with its events and ledger rows, and the session's row with its first turn."""
        relaxed = self.durability is Durability.RELAXED
        session, noise = exchange.session, exchange.noise
        turn = exchange.build_turn(Durable.LATE if relaxed else Durable.YES)
        rows: list[Row] = [*noise.rows]
        if noise.tools is not None or exchange.shown is not None:
            turn = with_rounds(turn, exchange)
            rows += ledger_rows(exchange)
        if turn.fitness is Fitness.FIT:
            turn = self.trust.assess(turn, steady_us() - exchange.elapsed_us(), exchange.replicas)
        rows += [turn, *noise.events]
        if session.record.identity == "inferred":
            rows += self._record_delivered_ids(exchange, turn)
        rows += session.pending
        if exchange.beginning is not None and exchange.beginning.lost is not None:
            rows.append(exchange.beginning.lost)
        session.pending.clear()
        if session.unwritten:
            session.unwritten, exchange.opens = False, True
            rows.insert(0, session.record)
        if self.shared_account:
            rows += _list_objects(exchange, turn)
        exchange.turn = turn
        if turn.response_id is not None:
            session.turns.add_response(turn.index, turn.response_id)
        if noise.events:
            # Faults that were withheld don't count against the bounds, here as in the store.
            met = sum(one.after is not None and one.site in FAULT_SITES for one in noise.events)
            session.turns.add_injections(exchange.place, met)
        self.metrics.count_turn(turn, noise.events)
        if shows_debug():
            _log.debug("turn", turn=turn.index, status=turn.upstream_status, fitness=turn.fitness.value)
        submission = session.rows = self.recorder.submit(rows, awaited=not relaxed)
        return submission

    def _record_delivered_ids(self, exchange: Exchange, turn: Turn) -> list[DeliveredId]:
        """The ids by which later requests of an inferred session will be recognised."""
        session, mapping = exchange.session, exchange.codec.tool_mapping
        view = turn.delivered_view or turn.produced
        if mapping is None or view is None or not exchange.answer.finished:
            return []
        messages = [
            exchange.codec.message_format.parse(decode(raw)) for raw in mapping.history_messages(view.bytes())
        ]
        ids = find_delivered_ids(messages, session.first_user_turn)
        self.inference.remember(session.record.id, ids)
        clean = exchange.redactor.is_clean_name
        return [DeliveredId(name, session.record.id) for name in ids if clean(name)]

    def record_delivery(self, exchange: Exchange, durable: Durable, *, delivered: bool) -> None:
        """The turn's second row: what became of it after its release. `delivered`: to its last byte."""
        turn = exchange.turn
        assert turn is not None, "it was settled"
        if self.tracing is not None:
            self.tracing.record(exchange, turn)
        source = None if turn.error is None else turn.error.source
        elapsed_us = exchange.elapsed_us()
        if self.watch.active and source is not Source.INJECTED:
            seconds = None if exchange.noise.faults else elapsed_us / 1e6
            self.watch.note(failed=source in (Source.UPSTREAM, Source.OURS), seconds=seconds)
        self.metrics.count_release(durable, elapsed_us / 1e6)
        if durable is not Durable.YES:
            # A turn of a deleted session is lost, too: only a session that this turn opened is written again.
            exchange.session.unwritten |= durable is Durable.LOST and exchange.opens
            _log.warning("released before it was durable", turn=turn.index, durable=durable.value)
        changed = None if durable is Durable.YES else durable
        outcome = Delivered.YES if delivered else Delivered.NO
        self._offer_delivery(exchange, outcome, changed, elapsed_us)

    def record_late_delivery(self, exchange: Exchange) -> None:
        """A retry got the answer after the first client had left."""
        self._offer_delivery(exchange, Delivered.YES)

    async def record_abandoned(self, exchange: Exchange, *, gone: bool) -> None:
        """The client left (`gone`), or the gateway is shutting down, before the answer was complete."""
        if exchange.turn is None:
            if gone:
                exchange.fail(Source.CLIENT, "disconnected", "the client closed the connection")
                exchange.noise.withhold_rest("the client left before it could act")
            else:
                exchange.fail(Source.OURS, "shutdown", "shutting down")
                exchange.noise.withhold_rest("the gateway stopped before it could act")
            self._submit(exchange)
        self._offer_delivery(exchange, Delivered.NO)
        if exchange.beginning is not None:
            await exchange.beginning.share()

    def record_defect(self, exchange: Exchange) -> None:
        """A defect of the gateway ended the exchange. The policy saw its noise, so that this is recorded."""
        if exchange.turn is None:
            exchange.fail(Source.OURS, "internal", "the gateway failed; see its log")
            exchange.noise.withhold_rest("the gateway failed before it could act")
            try:
                self._submit(exchange)
            except Exception:
                _log.exception("an answer can't be recorded", turn=exchange.place.index)
                exchange.forget_answer()
                self._submit(exchange)
        self._offer_delivery(exchange, Delivered.NO)

    def _offer_delivery(
        self,
        exchange: Exchange,
        delivered: Delivered,
        durable: Durable | None = None,
        total_us: int | None = None,
    ) -> None:
        place, session_id = exchange.place, exchange.session.record.id
        self.recorder.offer([Delivery(session_id, place.index, place.attempt, delivered, durable, total_us)])


def find_answer_ids(body: bytes) -> set[str]:
    """The ids that a provider gave in its answer to a turn, or in an event of one: of the response, its
    items, its conversation and its containers.

    Only where the provider writes them. An answer also repeats what the client sent (metadata, tools,
    Realtime's items), where an id would make somebody else's object the client's.
    """
    answer = as_mapping(decode_or_none(body))
    kind = answer.get("type")
    if isinstance(kind, str) and kind.startswith("response."):
        holders = [as_mapping(answer.get("response")), as_mapping(answer.get("item"))]
    else:
        holders = [answer]
    items = [item for holder in holders for item in as_mappings(holder.get("output"))]
    made = [as_mapping(holder.get(name)) for holder in holders for name in ("conversation", "container")]
    ids = [one.get("id") for one in (*holders, *items, *made)]
    ids += [one.get("container_id") for one in (*holders, *items)]
    return {one for one in ids if isinstance(one, str)}


def _list_objects(exchange: Exchange, turn: Turn) -> list[ProviderObject]:
    """What the provider may keep of a turn, by the ids of either side: the response, its items and
    containers.
    """
    linked = exchange.codec.name in ("responses", "messages")
    views = [view for view in (turn.produced, turn.delivered_view) if linked and view is not None]
    ids = set[str]().union(*(find_answer_ids(view.bytes()) for view in views))
    if turn.response_id is not None:
        ids.add(turn.response_id)
    tenant = exchange.session.record.tenant or ""
    return [ProviderObject(one, tenant, turn.created_us) for one in sorted(ids)]
