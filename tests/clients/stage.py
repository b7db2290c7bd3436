"""A provider and a gateway before it, and how a client's dialogue is led against either."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import certifi

from crosswind.testing import Dialogue, ReceivedRequest, ScriptedProvider
from tests.clients.job import STREAM, Job, Outcome, Row
from tests.clients.kinds import KINDS, Kind
from tests.gateway.servers import Running, gateway

HOP = frozenset(
    {"host", "connection", "accept-encoding", "transfer-encoding", "content-length", "x-crosswind-via"}
)
"""Headers that belong to one connection, encodings that the gateway can't look into, and its own mark."""


@dataclass(frozen=True, slots=True)
class Played:
    """A dialogue that was led: what the client had of it, and what the provider."""

    outcome: Outcome
    seen: list[ReceivedRequest]
    dialogues: list[Dialogue]
    refusals: list[str]
    complaints: list[str]

    def requests(self) -> list[Any]:
        """The requests, without what belongs to one connection only."""
        return [
            (
                one.method,
                one.path,
                {name: value for name, value in one.headers.items() if name not in HOP},
                one.body,
            )
            for one in self.seen
        ]


@dataclass(slots=True)
class Stage:
    """A provider, and a gateway before it."""

    app: ScriptedProvider
    running: Running

    async def direct(self, row: Row, mode: str) -> Played:
        """The dialogue with the provider itself."""
        return await self._play(row, Job(f"{self.app.url}/v1", self.app.url, "sk-client", mode == STREAM))

    async def through(self, row: Row, mode: str) -> Played:
        """The dialogue through the gateway, with noise off and no session named."""
        url = self.running.data
        return await self._play(row, Job(f"{url}/v1", url, "sk-client", mode == STREAM))

    async def noisy(self, row: Row, mode: str, kind: Kind, seed: int = 7) -> tuple[Played, dict[str, Any]]:
        """The dialogue in a session with noise, and the session as it is stored."""
        asked = {"profile": kind.profile, "task_id": f"{row.name} {mode}", "seed": kind.seed}
        answer = await self.running.api("POST", "/api/sessions", asked)
        assert answer.status_code == 201, answer.text
        session = answer.json()
        job = Job(
            session["base_url"],
            session["anthropic_base_url"],
            session["api_key"],
            mode == STREAM,
            kind.failing,
        )
        played = await self._play(row, job)
        return played, await self.running.trajectory(session["id"])

    async def _play(self, row: Row, job: Job) -> Played:
        self.app.restart(row.policy)
        outcome = await row.converse(job)
        app = self.app
        return Played(outcome, app.requests, app.dialogues, app.refusals, app.complaints)


@contextlib.contextmanager
def few_certificates(folder: Path) -> Iterator[None]:
    """Within the block clients read one certificate in place of some hundred: each of them reads them all,
    every time that one is made, though nothing here is encrypted.
    """
    file, end = folder / "certificate.pem", "-----END CERTIFICATE-----\n"
    file.write_text(Path(certifi.where()).read_text("ascii").split(end)[0] + end, "ascii")
    before = os.environ.get("SSL_CERT_FILE")
    os.environ["SSL_CERT_FILE"] = str(file)
    try:
        yield
    finally:
        del os.environ["SSL_CERT_FILE"]
        if before is not None:
            os.environ["SSL_CERT_FILE"] = before


@contextlib.asynccontextmanager
async def stage(tmp: Path, **given: Any) -> AsyncIterator[Stage]:
    """A stage that stands within the block."""
    async with (
        ScriptedProvider(_nobody) as app,
        gateway(tmp, app.url, upstream_key="sk-upstream", assume_replayable=True, **given) as running,
    ):
        for kind in KINDS:
            put = await running.api("PUT", f"/api/profiles/{kind.profile}", {"yaml": kind.yaml})
            assert put.status_code == 200, put.text
        yield Stage(app, running)


def _nobody(_: Dialogue) -> Any:
    raise AssertionError("no dialogue was begun")
