"""What a cell of the matrix holds a client to."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

from tests.clients.job import Row
from tests.clients.kinds import Kind
from tests.clients.stage import Played, Stage
from tests.clients.texts import texts_of

SEEDS = range(7, 12)
"""Of a kind that draws one operator, the first may be one that can do nothing for a client."""


async def transparent(stage: Stage, row: Row, mode: str) -> None:
    """With noise off client and provider see what they would without the gateway, bar its own headers."""
    direct = await stage.direct(row, mode)
    _complete(row, direct)
    through = await stage.through(row, mode)
    _complete(row, through)
    assert through.requests() == direct.requests(), "the provider saw other requests than without the gateway"
    assert through.outcome == direct.outcome, "the client had another outcome than without the gateway"


async def noisy(stage: Stage, row: Row, mode: str, kind: Kind) -> None:
    """Under noise the client gets its task done in a world of its own; the policy sees the noise, and sees it
    again at the same places.
    """
    for seed in SEEDS:
        played, stored = await stage.noisy(row, mode, kind, seed)
        told = tuple(played.outcome.answers)
        assert told == row.answers, f"the client was told {told}"
        injected = [
            one for one in stored["events"] if one["operator"].startswith(kind.sites) and one["after"]
        ]
        if injected:
            break
    assert injected, f"nothing was injected: {[event['note'] for event in stored['events']]}"
    if kind.failing:
        return
    _well_met(played)
    views = [(json.loads(turn["received"]), json.loads(turn["sent"])) for turn in stored["turns"]]
    _reached(played, views)
    _the_same_again(views, kind)
    if not row.rewrites:
        _grown(played)


def _reached(played: Played, views: list[Any]) -> None:
    """What is recorded as sent is what the provider saw."""
    sent = [one for _, one in views]
    seen = [one.json for one in played.seen if one.method == "POST" and "count_tokens" not in one.path]
    # What was answered inside the gateway is seen besides, in between.
    assert [one for one in seen if one in sent] == sent, "the provider saw other bodies than were recorded"


def _the_same_again(views: list[Any], kind: Kind) -> None:
    """A text that the client sends again is shown as it was shown before, wherever it stands by now."""
    known: dict[Any, str] = {}
    for received, sent in views:
        clean, shown = texts_of(received), texts_of(sent)
        own = {where for where, _ in clean}
        shown = [one for one in shown if one[0] in own]
        assert len(shown) == len(clean), "the policy was shown more or fewer texts than there are"
        count: Counter[Any] = Counter()
        for before, after in zip(clean, shown, strict=True):
            count[before] += 1
            first = known.setdefault((before, count[before]), after[1])
            assert first == after[1], f"{before} was shown as {first!r} first, and as {after[1]!r} now"
    if kind.in_texts:
        assert any(text != clean for ((_, clean), _), text in known.items()), "no text was changed"


def _grown(played: Played) -> None:
    """Each request begins with all that the one before had."""
    for before, after in pairwise(played.dialogues):
        assert after.tools == before.tools, "the tools that the policy was shown changed"
        assert after.items[: len(before.items)] == before.items, (
            "what the policy was shown before reads otherwise now"
        )


def _complete(row: Row, played: Played) -> None:
    _well_met(played)
    assert tuple(played.outcome.answers) == row.answers, f"the client was told {played.outcome.answers}"


def _well_met(played: Played) -> None:
    assert not played.refusals, f"the provider refused: {played.refusals}"
    assert not played.complaints, f"the provider noticed: {played.complaints}"
