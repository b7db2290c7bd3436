"""Faults of an author's own act at each point of an exchange; one that fails is left out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind import (
    AnswerContent,
    AnswerEdit,
    Close,
    Fault,
    Recovery,
    Reply,
    Result,
    Send,
    Site,
    StreamEvent,
)
from crosswind.injectors import operator, registry
from crosswind.injectors.faults import fault_from
from tests.gateway.proxy.faulty import CHAT, TEXT, serving, turns

HTML = b"<html>Bad gateway</html>"


class HtmlFault(Fault):
    kind = "test_html"
    where = "request"

    def before_request(self) -> list[Reply]:
        return [Reply(502, HTML, "text/html")]


class LongerFault(Fault):
    kind = "test_longer"
    where = "response"

    def change_headers(self, headers: Any) -> Any:
        return [*headers, (b"x-more", b"1")]

    def pass_body(self, body: bytes) -> list[Send]:
        return [Send(body), Send(b"  ")]


class RedialFault(Fault):
    kind = "test_redial"
    where = "stream"

    def pass_event(self, event: StreamEvent) -> list[Send | Close]:
        return [Send(event.raw)] if event.number < 3 else [Close("end")]


class ShoutedFault(AnswerEdit):
    kind = "test_shouted"

    def edit(self, answer: AnswerContent) -> AnswerContent:
        return replace(answer, text=answer.text.upper())


class FailingFault(Fault):
    kind = "test_failing"
    where: str

    def before_request(self) -> Any:
        raise KeyError("before the request")

    def before_answer(self) -> Any:
        raise KeyError("before the answer")

    def change_headers(self, headers: Any) -> Any:
        raise KeyError("headers")

    def pass_body(self, body: bytes) -> Any:
        return [Send("text")]  # type: ignore[arg-type]

    def pass_event(self, event: StreamEvent) -> Any:
        while True:
            yield Send(event.raw)


Inject = Callable[..., Awaitable[tuple[httpx.Response, dict[str, Any]]]]


@pytest.fixture
def inject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inject:
    """Has an operator give this payload in an exchange; gives the client's answer and the turn."""
    monkeypatch.setattr(operator, "_registered", dict(registry.operators()))

    async def ask(payload: Any, *, fault: bool = True, **more: Any) -> tuple[httpx.Response, dict[str, Any]]:
        class Own:
            def draw(self, *_: Any) -> dict[str, Any]:
                return {}

            def apply(self, *_: Any) -> Result:
                return Result(payload, "It acted.")

        name, site = "transport.own", Site.TRANSPORT
        operator._registered[name] = operator.Registered(name, site, Recovery.RETRY, Own(), fault=fault)
        async with serving(tmp_path, name) as (_, running):
            answer = await running.http.post(**CHAT.request(running, **more))
            [turn] = await turns(running)
        return answer, turn

    return ask


def text_of(answer: httpx.Response) -> str:
    return "".join(re.findall(r'"content": ?"([^"]*)"', answer.text))


async def test_a_page_in_place_of_the_answer(inject: Inject) -> None:
    answer, turn = await inject(HtmlFault())
    assert (answer.status_code, answer.content) == (502, HTML)
    assert answer.headers["content-type"] == "text/html"
    assert (turn["error"]["source"], turn["error"]["type"]) == ("injected", "transport.own")


async def test_a_body_and_headers_that_are_changed(inject: Inject) -> None:
    answer, turn = await inject(LongerFault())
    assert answer.content.endswith(b"}  ") and answer.headers["x-more"] == "1"
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert turn["error"]["type"] == "transport.own"


async def test_a_stream_that_ends_early(inject: Inject) -> None:
    answer, turn = await inject(RedialFault(), stream=True)
    assert answer.content.count(b"\n\n") == 3 and TEXT.startswith(text_of(answer))
    assert turn["error"]["message"] == "the stream ended in its middle" and TEXT in turn["produced"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_an_answer_that_is_edited(inject: Inject, stream: bool) -> None:
    answer, turn = await inject(ShoutedFault(), stream=stream)
    assert text_of(answer) == TEXT.upper() and TEXT in turn["produced"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("where", ["request", "response", "stream"])
async def test_one_that_fails_is_left_out(inject: Inject, where: str, stream: bool) -> None:
    answer, turn = await inject(FailingFault(where), fault=False, stream=stream)
    assert text_of(answer) == TEXT and turn["error"] is None


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("hang", "str in place of a fault"),
        ({"kind": "explode", "where": "request"}, "a fault of kind 'explode': use one of"),
        (
            {"kind": "hang", "where": "stream", "hang_ms": 1},
            "`where` 'stream' for a fault of kind 'hang': use 'request'",
        ),
        ({"kind": "hang", "where": "request"}, "missing required field `hang_ms`"),
        ({"kind": "status", "where": "request", "status": 99}, "Expected `int` >= 200 - at `$.status`"),
        ({"kind": "delay", "where": "response", "delay_ms": 1e9}, "<= 600000"),
    ],
)
def test_settings_that_are_no_faults_are_refused(settings: Any, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        fault_from(settings)


async def test_settings_in_place_of_a_fault_act_as_it_would(inject: Inject) -> None:
    settings = {"kind": "status", "where": "request", "status": 503}
    answer, turn = await inject(settings)
    assert answer.status_code == 503 and turn["error"]["type"] == "transport.own"
