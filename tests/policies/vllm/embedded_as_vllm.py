"""The embedded engine with what else is looked for at a vLLM that somebody else started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import uvicorn

from crosswind.policies.embedded.app import EngineApp
from crosswind.policies.embedded.batch import BatchLimits
from tests.serving import serve_in_thread

_CHOICE = {
    "token_ids": [1],
    "prompt_token_ids": [0],
    "logprobs": {"token_logprobs": [0.0], "top_logprobs": [{"a": 0.0}]},
}
_ALSO = {"/version": {"version": "0.32.0"}, "/v1/completions": {"choices": [_CHOICE]}}
"""How vLLM answers what `crosswind policy serve --attach` asks before it takes it."""


@contextmanager
def serving_as_vllm(directory: Path) -> Iterator[int]:
    """It runs within the block; gives its port."""
    engine = EngineApp(directory, seed=0, default_tokens=16, limits=BatchLimits(rows=8))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if (also := _ALSO.get(scope.get("path"))) is None:
            await engine(scope, receive, send)
            return
        raw = orjson.dumps(also)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": raw})

    server = uvicorn.Server(uvicorn.Config(app, lifespan="on", log_level="warning"))
    with serve_in_thread(server) as url:
        yield int(url.rpartition(":")[2])
