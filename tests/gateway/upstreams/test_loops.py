"""An upstream that leads back to the gateway is found with its first request, whichever way it takes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.gateway.dialogue import body, user
from tests.gateway.servers import Running, gateway, upstream


@contextlib.asynccontextmanager
async def own_upstream(tmp_path: Path, **given: Any) -> Any:
    """A gateway whose upstream is itself."""
    async with gateway(tmp_path, "http://127.0.0.1:1", **given) as running:
        await running.gateway.apply_settings(
            running.gateway.settings.model_copy(update={"upstream": f"{running.data}/v1"})
        )
        yield running


async def count_requests(running: Running) -> int:
    """How many requests came in on the routes of the API."""
    text = (await running.http.get(f"{running.control}/metrics")).text
    lines = [line for line in text.splitlines() if line.startswith("crosswind_requests_total")]
    return sum(int(float(line.rpartition(" ")[2])) for line in lines)


async def test_one_request_comes_back_once_and_the_error_names_the_upstream(tmp_path: Path) -> None:
    async with own_upstream(tmp_path) as running:
        given = await running.chat(body(user("hi")), "s")
        assert given.status_code == 508 and given.json()["error"]["code"] == "upstream_loop"
        said = given.json()["error"]["message"]
        assert (
            "'default'" in said and f"{running.data}/v1" in said and "give the model server's own URL" in said
        )
        assert await count_requests(running) == 2
        [turn] = (await running.trajectory("s"))["turns"]
        assert "status_508" in turn["error"].values()
        listed = await running.http.get(f"{running.data}/v1/models")
        assert listed.status_code == 508 and await count_requests(running) == 4
        with pytest.raises(InvalidStatus, match="508"):
            await connect(f"{running.data.replace('http', 'ws', 1)}/v1/realtime?model=m")


async def test_sdks_get_it_as_their_own_error(tmp_path: Path) -> None:
    one: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with (
        own_upstream(tmp_path) as running,
        openai.AsyncOpenAI(base_url=f"{running.data}/v1", api_key="k", max_retries=0) as chat,
        anthropic.AsyncAnthropic(base_url=running.data, api_key="k", max_retries=0) as messages,
    ):
        with pytest.raises(openai.InternalServerError, match="leads back to this gateway"):
            await chat.chat.completions.create(**one)
        with pytest.raises(anthropic.APIStatusError, match="leads back to this gateway"):
            await messages.messages.create(**one, max_tokens=1)


async def test_gateways_in_a_row_are_no_loop_and_two_in_a_circle_are(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    async with (
        upstream() as app,
        gateway(tmp_path / "b", app) as second,
        gateway(tmp_path, second.data) as first,
    ):
        assert (await first.chat(body(user("hi")))).status_code == 200
        [mark, other] = app.requests[0].headers["x-crosswind-via"].split(", ")
        assert mark != other and str(tmp_path) not in mark + other
        back = second.gateway.settings.model_copy(update={"upstream": f"{first.data}/v1"})
        await second.gateway.apply_settings(back)
        given = await first.chat(body(user("hi")))
        assert given.status_code == 508 and second.data in json.dumps(given.json())


async def test_the_mark_passes_an_allow_list(tmp_path: Path) -> None:
    async with upstream() as app:
        one = {"name": "a", "base": f"{app.url}/v1", "headers": {"allow": []}}
        async with gateway(tmp_path, app, upstream=None, upstreams=[one]) as running:
            await running.chat(body(user("hi")))
    assert app.requests[0].headers["x-crosswind-via"]


async def test_a_dead_upstreams_error_has_an_id_that_the_log_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with gateway(tmp_path, "http://127.0.0.1:1") as running:
        given = await running.chat(body(user("hi")))
        assert given.status_code == 502 and given.headers["x-request-id"].startswith("req_")
        other = await running.http.post(f"{running.data}/v1/messages", json={"messages": []})
        assert other.headers["request-id"].startswith("req_")
    said = "".join(capfd.readouterr())
    assert given.headers["x-request-id"] in said and other.headers["request-id"] in said


async def test_headers_that_are_ignored_are_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        await running.chat(body(user("hi")), x_crosswind_profile="no-such-profile", x_crosswind_noise="off")
        said = "".join(capfd.readouterr())
        assert "headers that steer noise are ignored" in said and "x-crosswind-profile" in said
        assert "no-such-profile" not in said
    async with upstream() as app, gateway(tmp_path, app, steering=True) as running:
        given = await running.chat(body(user("hi")), x_crosswind_profile="no-such-profile")
        assert given.status_code == 403 and given.json()["error"]["code"] == "profile_not_allowed"
        assert "ignored" not in "".join(capfd.readouterr())
