"""Noise that was decided and couldn't be shown: it is withheld, and its places stay clean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.protocols.request import Request
from crosswind.gateway.turn.exchange import Exchange
from tests.gateway.dialogue import PROFILE, history, lead
from tests.gateway.servers import gateway, raising, upstream
from tests.studies.audit.stores import audited, broken

NOISY = f"""{PROFILE}\
  - operator: schema.misleading_description
    severity: 1.0
    when: {{probability: 1.0}}
"""
"""Every text and the tool are touched."""


def clean(turns: int) -> list[Any]:
    return [message["content"] for message in history(turns)]


DEFECT = raising(RuntimeError("a defect"))


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    "fails",
    [
        "crosswind.gateway.protocols.chat.codec.ChatMessages.write",
        "crosswind.gateway.noise.pipeline._record_faults",
        "crosswind.gateway.proxy.request_builder.Exchange",
    ],
    ids=["written", "decided", "made"],
)
async def test_noise_that_could_not_be_shown_is_withheld_and_stays_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarted: bool, fails: str
) -> None:
    failing = DEFECT
    if fails == "crosswind.gateway.proxy.request_builder.Exchange":
        made = Exchange

        def failing(*given: Any, **named: Any) -> Any:
            # Only what carries noise fails, as a defect of a writer of noise would.
            return DEFECT() if given[4].replacements else made(*given, **named)

    async with upstream() as app:
        async with gateway(tmp_path, app, capture="on", noise=NOISY) as running:
            await lead(running, "s", range(1))
            with monkeypatch.context() as defect:
                defect.setattr(fails, failing)
                await lead(running, "s", range(1, 2))
            if not restarted:
                await lead(running, "s", range(2, 5))
            await running.flush()
        if restarted:
            async with gateway(tmp_path, app, noise=NOISY) as running:
                await lead(running, "s", range(2, 5))
                await running.flush()
        async with gateway(tmp_path, app, noise=NOISY) as running:
            stored = await running.trajectory("s")
    assert app.requests[1].texts() == clean(2), "the clean request went through"
    assert ["return_token_ids" in seen.json for seen in app.requests[:2]] == [True, "_record_faults" in fails]
    assert stored["turns"][1]["fitness"] == "noise_failed"
    said = [event for event in stored["events"] if event["turn_index"] == 1]
    assert [(one["operator"], one["after"]) for one in said] == [("tool.timeout", None)]
    assert "couldn't be written" in said[0]["note"]
    last = app.requests[4].texts()
    assert last[0] == app.requests[0].texts()[0] != clean(5)[0], "what was shown before is shown again"
    assert last[2] == clean(5)[2], "the result of the turn that failed stays clean"
    assert last[8] != clean(5)[8], "later results are touched as ever"
    assert broken(tmp_path) == []
    assert "couldn't be written" in audited(tmp_path).stdout


async def test_tools_that_could_not_be_shown_otherwise_stay_as_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app:
        async with gateway(tmp_path, app, noise=NOISY) as running:
            with monkeypatch.context() as defect:
                defect.setattr(Request, "_write_steps", DEFECT)
                await lead(running, "s", range(1))
            await lead(running, "s", range(1, 2))
        async with gateway(tmp_path, app, noise=NOISY) as running:
            await lead(running, "s", range(2, 3))
            stored = await running.trajectory("s")
    assert [seen.json["tools"] == app.requests[0].json["tools"] for seen in app.requests] == [True] * 3
    assert [seen.texts()[0] for seen in app.requests] == [clean(1)[0]] * 3
    withheld = {one["operator"] for one in stored["events"] if one["turn_index"] == 0}
    assert withheld == {"user.redundant", "schema.misleading_description"}
    assert broken(tmp_path) == []


async def test_a_defect_on_the_way_back_leaves_what_was_shown_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=NOISY) as running:
        with monkeypatch.context() as defect:
            defect.setattr("crosswind.gateway.protocols.chat.answer.read_plain", DEFECT)
            answered = await running.chat({"model": "tiny", "messages": history(1)}, "s")
            assert answered.status_code == 500
        stored = await running.trajectory("s")
        assert [(one["operator"], one["after"] is None) for one in stored["events"]] == [
            ("user.redundant", False)
        ]
        assert stored["turns"][0]["error"]["source"] == "ours"
        assert stored["turns"][0]["sent"].encode() == app.requests[0].body
    assert broken(tmp_path) == []
