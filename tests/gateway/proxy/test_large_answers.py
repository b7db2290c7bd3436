"""Plain answers that are too large to be held: relayed as they come, in bounded memory, and labelled."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crosswind.testing.replies import CUT, JSON, Part, ReceivedRequest, plain
from tests.gateway.closed_world import ABBREVIATED, profile, tool
from tests.gateway.dialogue import PROFILE, body, history, user
from tests.gateway.servers import Running, answer, gateway, peak_memory, upstream

LIMIT = 64 << 10
PIECE = b'"' + b"x" * (32 << 10) + b'",'
SMALL: dict[str, Any] = {"limits": {"answer": LIMIT}}


class Large:
    """An upstream's answer in many pieces; from `held_at` on it waits until it is told to go on."""

    def __init__(self, pieces: int, *, held_at: int | None = None) -> None:
        self.pieces, self.held_at = pieces, held_at
        self.go_on = asyncio.Event()
        self.sent = hashlib.sha256()

    async def __call__(self, _: ReceivedRequest) -> AsyncIterator[Part]:
        length = len(b'{"choices":[') + self.pieces * len(PIECE) + len(b"0]}")
        yield 200, [JSON, (b"content-length", str(length).encode()), (b"x-of-the-upstream", b"1")]
        for number, piece in enumerate(self._all()):
            if number == self.held_at:
                await self.go_on.wait()
            self.sent.update(piece)
            yield piece

    def _all(self) -> Iterator[bytes]:
        yield b'{"choices":['
        for _ in range(self.pieces):
            yield PIECE
        yield b"0]}"


async def turns(running: Running, session: str = "s") -> list[dict[str, Any]]:
    return list((await running.trajectory(session))["turns"])


@pytest.mark.parametrize("capture", ["off", "on"])
async def test_it_is_relayed_whole_and_its_turn_says_why_it_is_not_recorded(
    tmp_path: Path, capture: str
) -> None:
    large = Large(20)
    async with upstream(large) as app, gateway(tmp_path, app, capture=capture, **SMALL) as running:
        came = await running.chat(body(user("hello")), "s")
        assert came.status_code == 200 and came.headers["x-of-the-upstream"] == "1"
        assert hashlib.sha256(came.content).digest() == large.sent.digest()
        (turn,) = await turns(running)
        assert (turn["fitness"], turn["produced"]) == ("answer_too_large", None)
        assert (turn["upstream_status"], turn["error"], turn["delivered"]) == (200, None, "yes")
        assert json.loads(turn["received"]) == body(user("hello"))


async def test_one_that_fits_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    exact = json.dumps(answer("y" * 1000)).encode()
    for limit, fitness in ((len(exact), "no_token_ids"), (len(exact) - 1, "answer_too_large")):
        given: dict[str, Any] = {"limits": {"answer": limit}, "store": f"sqlite:///{tmp_path}/{limit}.db"}
        async with upstream(plain(exact)) as app, gateway(tmp_path, app, **given) as running:
            assert (await running.chat(body(user("hello")), "s")).content == exact
            assert [turn["fitness"] for turn in await turns(running)] == [fitness]


async def test_it_goes_on_before_the_upstream_is_done_and_never_stands_in_memory(tmp_path: Path) -> None:
    large = Large(1000, held_at=10)
    async with upstream(large) as app, gateway(tmp_path, app, **SMALL) as running:
        url = f"{running.data}/s/s/v1/chat/completions"
        with peak_memory() as measure:
            async with running.http.stream("POST", url, json=body(user("hello"))) as came:
                got = hashlib.sha256()
                async for piece in came.aiter_raw():
                    large.go_on.set()
                    got.update(piece)
            peak = measure()
        assert got.digest() == large.sent.digest()
        assert peak < 1000 * len(PIECE) // 4, (
            "all sides together: the upstream's, the gateway's, the client's"
        )
        assert [turn["fitness"] for turn in await turns(running)] == ["answer_too_large"]


async def test_noise_that_acts_on_a_whole_answer_is_withheld_and_the_rest_stays(tmp_path: Path) -> None:
    rules = "".join(
        f"  - operator: {name}\n    severity: 1.0\n    when: {{probability: 1.0}}\n"
        for name in ("model.length_cut", "transport.truncated_body")
    )
    large = Large(20)
    async with upstream(large) as app, gateway(tmp_path, app, noise=PROFILE + rules, **SMALL) as running:
        came = await running.chat(body(*history(1)), "s")
        assert hashlib.sha256(came.content).digest() == large.sent.digest()
        stored = await running.trajectory("s")
        said = {one["operator"]: one for one in stored["events"]}
        for name in ("model.length_cut", "transport.truncated_body"):
            assert said[name]["after"] is None and "limits.answer" in said[name]["note"]
        assert said["user.redundant"]["after"] == app.requests[0].texts()[0]
        assert stored["turns"][0]["fitness"] == "answer_too_large"


@pytest.mark.parametrize(
    ("operator", "refused"), [(ABBREVIATED, True), ("schema.paraphrase_tool", False)], ids=["names", "words"]
)
async def test_only_what_must_be_mapped_back_is_refused(tmp_path: Path, operator: str, refused: bool) -> None:
    async with (
        upstream(Large(20)) as app,
        gateway(tmp_path, app, noise=profile(operator), **SMALL) as running,
    ):
        came = await running.chat({**body(user("hello")), "tools": [tool()]}, "s")
        assert app.requests[0].json["tools"] != [tool()], "the tools were shown otherwise"
        (turn,) = await turns(running)
    assert turn["produced"] is None
    if refused:
        assert (came.status_code, came.json()["error"]["code"]) == (502, "upstream_too_large")
        assert (turn["fitness"], turn["error"]["source"]) == ("upstream_error", "upstream")
    else:
        assert (came.status_code, turn["fitness"]) == (200, "answer_too_large")


async def test_one_that_breaks_off_breaks_off_for_the_client(tmp_path: Path) -> None:
    large = Large(20)

    async def broken(seen: ReceivedRequest) -> AsyncIterator[Part]:
        number = 0
        async for part in large(seen):
            number += 1
            yield CUT if number == large.pieces else part

    async with upstream(broken) as app, gateway(tmp_path, app, **SMALL) as running:
        with pytest.raises(httpx.RemoteProtocolError):
            await running.chat(body(user("hello")), "s")
        (turn,) = await turns(running)
        assert (turn["fitness"], turn["delivered"]) == ("upstream_error", "no")


async def test_a_call_that_a_retry_could_join_passes_it_on_to_one_client(tmp_path: Path) -> None:
    large = Large(20)
    async with upstream(large, plain(answer("anew"))) as app, gateway(tmp_path, app, **SMALL) as running:
        opened = await running.api("POST", "/api/sessions", {"task_id": "t", "group_id": "g"})
        url = str(opened.json()["base_url"]) + "/chat/completions"
        came = await running.http.post(url, json=body(user("hello")))
        assert hashlib.sha256(came.content).digest() == large.sent.digest()
        again = await running.http.post(
            url, json=body(user("hello")), headers={"x-stainless-retry-count": "1"}
        )
        assert again.json()["choices"][0]["message"]["content"] == "anew"
        found = await turns(running, url.split("/")[4])
        assert [(turn["attempt"], turn["fitness"] == "answer_too_large") for turn in found] == [
            (0, True),
            (1, False),
        ]
