"""Faults of an author's own act at each point of an exchange; one that fails is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind import AnswerEdit, Close, Fault, ModelAnswer, Recovery, Reply, Result, Send, Site, StreamEvent
from crosswind.injectors import operator, registry
from crosswind.injectors.faults import fault_from
from tests.gateway.proxy.test_faults import POLICY, TEXT, ask, profile, texts, turns
from tests.gateway.servers import gateway, upstream

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

    def edit(self, answer: ModelAnswer) -> ModelAnswer:
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


@pytest.fixture
def inject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Registers an operator that always gives this payload, and gives the profile that has it."""
    monkeypatch.setattr(operator, "_registered", dict(registry.operators()))

    def register(payload: Any, *, fault: bool = True) -> str:
        class Own:
            def draw(self, *_: Any) -> dict[str, Any]:
                return {}

            def apply(self, *_: Any) -> Result:
                return Result(payload, "It acted.")

        name, site = "transport.own", Site.TRANSPORT
        operator._registered[name] = operator.Registered(name, site, Recovery.RETRY, Own(), fault=fault)
        return profile(name, tmp_path)

    yield register


async def answered(tmp: Path, profile: str, *, stream: bool) -> tuple[httpx.Response, dict[str, Any]]:
    async with upstream(POLICY) as app, gateway(tmp, app, profile=profile) as running:
        response = await ask(running, stream=stream)
        [turn] = await turns(running)
        return response, turn


async def test_a_page_in_place_of_the_answer(tmp_path: Path, inject: Callable[..., str]) -> None:
    response, turn = await answered(tmp_path, inject(HtmlFault()), stream=False)
    assert (response.status_code, response.content) == (502, HTML)
    assert response.headers["content-type"] == "text/html"
    assert (turn["error"]["source"], turn["error"]["type"]) == ("injected", "transport.own")


async def test_a_body_and_headers_that_are_changed(tmp_path: Path, inject: Callable[..., str]) -> None:
    response, turn = await answered(tmp_path, inject(LongerFault()), stream=False)
    assert response.content.endswith(b"}  ") and response.headers["x-more"] == "1"
    assert int(response.headers["content-length"]) == len(response.content)
    assert turn["error"]["type"] == "transport.own"


async def test_a_stream_that_ends_early(tmp_path: Path, inject: Callable[..., str]) -> None:
    response, turn = await answered(tmp_path, inject(RedialFault()), stream=True)
    assert response.content.count(b"\n\n") == 3 and TEXT.startswith(texts(response.content).strip())
    assert turn["error"]["message"] == "the stream ended in its middle" and TEXT in turn["produced"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_an_answer_that_is_edited(tmp_path: Path, inject: Callable[..., str], stream: bool) -> None:
    response, turn = await answered(tmp_path, inject(ShoutedFault()), stream=stream)
    came = texts(response.content) if stream else response.json()["choices"][0]["message"]["content"]
    assert came.strip() == TEXT.upper() and TEXT in turn["produced"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("where", ["request", "response", "stream"])
async def test_one_that_fails_is_left_out(
    tmp_path: Path, inject: Callable[..., str], where: str, stream: bool
) -> None:
    response, turn = await answered(tmp_path, inject(FailingFault(where), fault=False), stream=stream)
    came = texts(response.content) if stream else response.json()["choices"][0]["message"]["content"]
    assert came.strip() == TEXT and turn["error"] is None


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


async def test_settings_in_place_of_a_fault_act_as_it_would(
    tmp_path: Path, inject: Callable[..., str]
) -> None:
    settings = {"kind": "status", "where": "request", "status": 503}
    response, turn = await answered(tmp_path, inject(settings), stream=False)
    assert response.status_code == 503 and turn["error"]["type"] == "transport.own"
