"""Inner rounds: the gateway itself answers calls of tools that only noise put there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from msgspec import structs

from crosswind.gateway.clock import now_us
from crosswind.gateway.noise.events import EventBuilder
from crosswind.gateway.noise.tool_view import MOST_ROUNDS, UNKNOWN_TOOL, find_delivered_anchor
from crosswind.gateway.protocols.answer import Round
from crosswind.gateway.protocols.call_ids import IdPairs
from crosswind.gateway.protocols.hidden_tools import HiddenCall
from crosswind.gateway.protocols.token_capture import without_tokens
from crosswind.gateway.protocols.tool_mapping import AnswerAnchor
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import AnsweredCall, InnerRound, Row, Turn
from crosswind.gateway.turn.exchange import Exchange
from crosswind.injectors.conversation import Site

Results = list[tuple[HiddenCall, str]]


def next_body(exchange: Exchange) -> bytes | None:
    """The body that continues after a round of inner calls only; None where the answer is for the client.

    After the third such round in a row the phantoms leave, and a further call of theirs gets an error once. A
    declared tool's call with a wrong type is answered in any round, once: the policy could not know better.
    """
    tools, reader = exchange.noise.tools, exchange.answer
    if tools is None or not reader.unanswered:
        return None
    results = _answers(exchange)
    if len(exchange.results) >= MOST_ROUNDS:
        called = {call.name for call, _ in results}
        phantoms = called & tools.shown.phantoms.keys()
        told = {call.name for earlier in exchange.results for call, _ in earlier}
        if (phantoms and exchange.left) or (not phantoms and called & told):
            return None
        if phantoms:
            results = [(call, UNKNOWN_TOOL if call.name in phantoms else said) for call, said in results]
            _leave(exchange, phantoms)
    results_of = tools.mapping.result_messages(results)
    if exchange.request.split.gathers:
        exchange.appended[:] = results_of
    else:
        exchange.appended += [*tools.mapping.history_messages(reader.produced_body()), *results_of]
    exchange.results.append(results)
    reader.start_next_round()
    noise = exchange.noise
    return exchange.request.write_round(noise.replacements, exchange.edits, tools.forward, exchange.appended)


def _answers(exchange: Exchange) -> Results:
    """The results of the round's calls, counted on from those answered earlier in this turn."""
    tools = exchange.noise.tools
    assert tools is not None, "only a changed view of the tools has inner calls"
    earlier = Counter(call.name for results in exchange.results for call, _ in results)
    out: Results = []
    for call in exchange.answer.hidden_calls():
        out.append((call, tools.answer(call, earlier[call.name])))
        earlier[call.name] += 1
    return out


def _leave(exchange: Exchange, names: set[str]) -> None:
    """Remove the phantoms of these names from the schema for good; their calls stay the gateway's. This
    turn's last request leaves out the other phantoms too, so that it can't end in a call of one.
    """
    tools = exchange.noise.tools
    raw = exchange.request.frame.raw("tools")
    assert tools is not None and raw is not None, "phantoms stand in a list of tools"
    gone = names & tools.shown.phantoms.keys()
    left = tuple(tool for tool in tools.shown.tools if tool.name not in gone)
    tools.shown = replace(tools.shown, tools=left, injections=())
    asked = tuple(tool for tool in left if tool.name not in tools.shown.phantoms)
    exchange.edits["tools"] = tools.mapping.write_tools(raw, asked)
    exchange.left |= gone
    _record_left(exchange, gone)


def _record_left(exchange: Exchange, gone: Iterable[str]) -> None:
    events = exchange.noise.events
    ordinal = max((one.ordinal for one in events), default=-1) + 1
    builder = EventBuilder(exchange.session.record.id, exchange.place, now_us(), exchange.redactor, ordinal)
    for name in sorted(gone):
        note = f"The added tool {name} left the list: it was called in {MOST_ROUNDS + 1} rounds in a row."
        events.append(structs.replace(builder.no_operator(note), site=Site.TOOL_SCHEMA.value, tool=name))


def ledger_rows(exchange: Exchange) -> list[Row]:
    """The ledger's rows of the turn's answer: what later turns put back, tools that left, and true ids."""
    ids = _find_changed_ids(exchange)
    rows = _rows_of_inner_calls(exchange, ids)
    anchor = find_delivered_anchor(exchange.request, (ids[0][0], None, 0)) if ids else None
    if anchor is not None:
        session, protocol = exchange.session, exchange.codec.name
        rows.append(session.ledger.add_ids(anchor, ids, protocol, session.record.id, exchange.place))
    return rows


def _find_changed_ids(exchange: Exchange) -> IdPairs:
    """The ids of the delivered calls, as the client gets them and as the policy made them. Empty where they
    are the same.
    """
    reader, shown = exchange.answer, exchange.shown
    if shown is None or not reader.finished:
        return ()
    made = _read_call_ids(exchange, reader.delivered_body() or reader.produced_body())
    given = _read_call_ids(exchange, shown)
    return tuple(zip(given, made, strict=True)) if len(given) == len(made) and given != made else ()


def _read_call_ids(exchange: Exchange, body: bytes) -> list[str]:
    mapping, codec = exchange.codec.tool_mapping, exchange.codec
    messages = () if mapping is None else mapping.history_messages(body)
    read = map(codec.message_format.read, messages)
    return [call.call_id for message in read for call in message.calls]


def _rows_of_inner_calls(exchange: Exchange, ids: IdPairs) -> list[Row]:
    tools, reader = exchange.noise.tools, exchange.answer
    if tools is None:
        return []
    ledger, session_id = exchange.session.ledger, exchange.session.record.id
    rows: list[Row] = []
    if exchange.left:
        rows.append(ledger.add_tools(tools.shown, session_id, exchange.place))
    last = _answers(exchange)
    if not (exchange.results or last or reader.finished):
        return rows
    before = [
        (one.produced_body, results)
        for one, results in zip(reader.inner_rounds(), exchange.results, strict=True)
    ]
    given = _anchors_given(ids)
    for found, put in tools.mapping.find_reinsertions(reader, tools, before, (reader.produced_body(), last)):
        anchor = find_delivered_anchor(exchange.request, given.get(found[0], found))
        if anchor is not None:
            kept = replace(put, protocol=exchange.codec.name)
            row = ledger.add_reinsertion(anchor, kept, session_id, exchange.place)
            if exchange.redactor.is_clean_name(anchor) and exchange.redactor.is_clean(row.text or ""):
                rows.append(row)
    return rows


def _anchors_given(ids: IdPairs) -> dict[str, AnswerAnchor]:
    """How later histories find calls whose ids noise changed, by their true ids."""
    counted: Counter[str] = Counter()
    anchors: dict[str, AnswerAnchor] = {}
    for given, true in ids:
        anchors[true] = (given, None, counted[given])
        counted[given] += 1
    return anchors


def with_rounds(turn: Turn, exchange: Exchange) -> Turn:
    """The turn with its inner rounds, and with the delivered answer where that isn't the one produced."""
    reader, mask = exchange.answer, exchange.redactor
    delivered = exchange.shown
    came = exchange.upstream_status is not None and not exchange.too_large
    if delivered is None and exchange.noise.tools is not None and came:
        delivered = reader.delivered_body()
    rounds = reader.inner_rounds()
    if delivered is None and not rounds:
        return turn
    masked = turn.prompt_ids is None

    def hide(body: bytes) -> bytes:
        return mask.mask(without_tokens(body) if exchange.hides_tokens else body)

    return structs.replace(
        turn,
        delivered_view=None if delivered is None else View.plain(hide(delivered)),
        inner=(
            *turn.inner,
            *(
                _round(one, hide(one.produced_body), results, mask, masked=masked)
                for one, results in zip(rounds, exchange.results, strict=True)
            ),
        ),
        usage_injected=_sum_injected_usage(rounds),
    )


def _round(one: Round, produced: bytes, results: Results, redactor: Redactor, *, masked: bool) -> InnerRound:
    stored = InnerRound(
        produced=produced.decode("utf-8", "replace"),
        calls=tuple(
            AnsweredCall(
                redactor.mask_name(call.call_id),
                redactor.mask_name(call.name),
                redactor.mask_text(call.arguments),
                redactor.mask_text(result),
            )
            for call, result in results
        ),
        fitness=one.fitness,
        usage=dict(one.usage),
    )
    if masked:
        return stored
    return structs.replace(
        stored,
        prompt_ids=list(one.prompt_ids or ()),
        token_ids=[list(completion.token_ids) for completion in one.completions],
        logprobs=[list(completion.logprobs) for completion in one.completions],
        versions=[list(completion.versions) for completion in one.completions],
    )


def _sum_injected_usage(rounds: list[Round]) -> dict[str, Any]:
    """The exchanges and tokens that noise cost: rounds that the agent never asked for."""
    if not rounds:
        return {}
    counts: Counter[str] = Counter()
    for one in rounds:
        counts.update({name: value for name, value in one.usage.items() if isinstance(value, int)})
    return {"calls": len(rounds), **counts}
