"""Rounds that are answered inside: calls of tools that only noise put there get their results from us."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec import structs

from crosswind.gateway.noise.tool_view import MOST_ROUNDS, UNKNOWN_TOOL, made_anchor
from crosswind.gateway.protocols.answer import Round
from crosswind.gateway.protocols.hidden_tools import InnerCall
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import InnerCall as Call
from crosswind.gateway.trajectory.record import InnerRound, Row, Turn
from crosswind.gateway.turn.exchange import Exchange

Results = list[tuple[InnerCall, str]]


def next_body(exchange: Exchange) -> bytes | None:
    """The body that goes on after a round whose calls are all inner ones; None where the answer is for the
    client.

    After the third such round in a row the tools are gone, and whoever calls them is told so once.
    """
    world, reader = exchange.world, exchange.answer
    if world is None or not reader.unanswered or len(exchange.results) > MOST_ROUNDS:
        return None
    results = _answers(exchange)
    if len(exchange.results) == MOST_ROUNDS:
        results = [(call, UNKNOWN_TOOL) for call, _ in results]
        _leave(exchange, {call.name for call, _ in results})
    results_of = world.closing.result_messages(results)
    if exchange.request.split.gathers:
        exchange.appended[:] = results_of
    else:
        exchange.appended += [*world.closing.made_message(reader.produced()), *results_of]
    exchange.results.append(results)
    reader.next_round()
    noise = exchange.noise
    return exchange.request.continued(noise.replacements, exchange.edits, world.forward, exchange.appended)


def _answers(exchange: Exchange) -> Results:
    """The results of the calls at hand, which count on from those that were answered in this turn."""
    world = exchange.world
    assert world is not None, "inner calls come from a closed world"
    earlier = Counter(call.name for results in exchange.results for call, _ in results)
    out: Results = []
    for call in exchange.answer.inner():
        out.append((call, world.answer(call, earlier[call.name])))
        earlier[call.name] += 1
    return out


def _leave(exchange: Exchange, names: set[str]) -> None:
    """The phantoms of these names leave the schema, for good. Their calls stay the gateway's. The others are
    left out of what this turn still asks: its last round must not end in one of them.
    """
    world = exchange.world
    raw = exchange.request.document.raw("tools")
    assert world is not None and raw is not None, "phantoms stand in a list of tools"
    gone = names & world.shown.phantoms.keys()
    tools = tuple(tool for tool in world.shown.tools if tool.name not in gone)
    world.shown = replace(world.shown, tools=tools, injections=())
    asked = tuple(tool for tool in tools if tool.name not in world.shown.phantoms)
    exchange.edits["tools"] = world.closing.written_tools(raw, asked)
    exchange.left |= gone


def closing_rows(exchange: Exchange) -> list[Row]:
    """What the ledger keeps of the turn's inner calls: what later turns put back, and tools that left."""
    world, reader = exchange.world, exchange.answer
    if world is None:
        return []
    session, place = exchange.session, exchange.place
    where: Mapping[str, Any] = {
        "session_id": session.record.id, "turn": place.index, "branch": place.branch,
    }  # fmt: skip
    rows: list[Row] = []
    if exchange.left:
        rows.append(session.ledger.add_tools(world.shown, **where))
    last = _answers(exchange)
    if not (exchange.results or last or reader.finished):
        return rows
    before = [(one.produced, results) for one, results in zip(reader.rounds(), exchange.results, strict=True)]
    for found, put in world.closing.put_backs(reader, world, before, (reader.produced(), last)):
        anchor = made_anchor(exchange.request, found)
        if anchor is not None:
            kept = replace(put, protocol=exchange.codec.name)
            rows.append(session.ledger.add_put_back(anchor, kept, **where))
    return rows


def with_rounds(turn: Turn, exchange: Exchange) -> Turn:
    """The turn with what was answered inside, and with what the client got where that is something else."""
    reader, mask = exchange.answer, exchange.redactor
    delivered = exchange.shown
    came = exchange.upstream_status is not None and exchange.unread != Fitness.ANSWER_TOO_LARGE
    if delivered is None and exchange.world is not None and came:
        delivered = reader.delivered()
    rounds = reader.rounds()
    if delivered is None and not rounds:
        return turn
    masked = turn.prompt_ids is None
    return structs.replace(
        turn,
        delivered_view=None if delivered is None else View.plain(mask.mask(delivered)),
        inner=(
            *turn.inner,
            *(
                _round(one, results, mask, masked=masked)
                for one, results in zip(rounds, exchange.results, strict=True)
            ),
        ),
        usage_injected=_injected(rounds),
    )


def _round(one: Round, results: Results, redactor: Redactor, *, masked: bool) -> InnerRound:
    stored = InnerRound(
        produced=redactor.mask(one.produced).decode("utf-8", "replace"),
        calls=tuple(
            Call(call.call_id, call.name, redactor.mask_text(call.arguments), redactor.mask_text(result))
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


def _injected(rounds: list[Round]) -> dict[str, Any]:
    """What noise cost in exchanges and tokens: rounds that the agent never asked for."""
    if not rounds:
        return {}
    counts: Counter[str] = Counter()
    for one in rounds:
        counts.update({name: value for name, value in one.usage.items() if isinstance(value, int)})
    return {"calls": len(rounds), **counts}
