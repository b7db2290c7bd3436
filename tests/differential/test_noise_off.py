"""A thousand conversations, straight and through the gateway with noise off: nothing differs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.differential.traffic import Request, conversation, echoing
from tests.gateway.servers import gateway, upstream

CONVERSATIONS = 1000
AT_ONCE = 8
OWN = {"date", "server", "connection", "transfer-encoding", "content-length"}
"""Headers of an answer that each hop sets for itself: how long a body is shows in the body."""


@dataclass(frozen=True)
class Got:
    """What a client got. `whole`: the answer came to its end."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    whole: bool


async def ask(http: httpx.AsyncClient, base: str, request: Request) -> Got:
    got, whole = b"", True
    headers = {"content-type": "application/json", "accept-encoding": "identity", **request.headers}
    async with http.stream("POST", base + request.path, content=request.body, headers=headers) as answer:
        try:
            async for chunk in answer.aiter_raw():
                got += chunk
                if request.leave_after is not None and len(got) >= request.leave_after:
                    got, whole = got[: request.leave_after], False
                    break
        except httpx.RemoteProtocolError:
            whole = False
    kept = tuple(sorted((name, value) for name, value in answer.headers.multi_items() if name not in OWN))
    return Got(answer.status_code, kept, got, whole)


def like(through: Got, direct: Got, request: Request) -> bool:
    """Whether nothing differs. An answer that the upstream cuts off may end in an error of ours: a plain one
    is that error then, a stream ends, after its last whole event, with the protocol's error event.
    """
    if through == direct or direct.whole:
        return through == direct
    if dict(direct.headers)["content-type"] != "text/event-stream":
        return through.status == 502 and (b"error" in through.body or request.leave_after is not None)
    mark = b"event: err" if b"event: err" in through.body else b"data: "
    kept, _, error = through.body.rpartition(mark)
    left = request.leave_after is not None and len(through.body) == request.leave_after
    return not through.whole and (b"error" in error or left) and direct.body.startswith(kept)


async def test_nothing_differs(tmp_path: Path) -> None:
    differing: list[tuple[int, int, Got, Got]] = []
    kinds: set[tuple[int, bool, str]] = set()
    seeds = iter(range(CONVERSATIONS))
    async with upstream(echoing()) as app, gateway(tmp_path, app) as running:
        limits = httpx.Limits(max_connections=AT_ONCE * 2)

        async def converse() -> None:
            async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as http:
                for seed in seeds:
                    for number, request in enumerate(conversation(seed)):
                        direct = await ask(http, app.url, request)
                        through = await ask(http, running.data, request)
                        kinds.add((direct.status, direct.whole, request.path))
                        if not like(through, direct, request):
                            differing.append((seed, number, direct, through))
                    app.requests.clear()

        await asyncio.gather(*(converse() for _ in range(AT_ONCE)))
    assert not differing, f"{len(differing)}, the first: {differing[0]}"
    assert len({status for status, _, _ in kinds}) >= 6 and {whole for _, whole, _ in kinds} == {True, False}
    assert len({path for _, _, path in kinds}) == 5
