"""The Vercel AI SDK, in Node."""

from __future__ import annotations

from tests.clients.job import Row
from tests.clients.worker import HERE, Worker

WORKER = Worker(lambda: ("node", str(HERE / "node" / "worker.mjs")), {})
PACKAGE, NEEDS = "npm:ai", "node"
ROWS = (
    Row("Vercel AI SDK", "Chat Completions", WORKER.client("chat"), PACKAGE, needs=NEEDS),
    Row("Vercel AI SDK", "Responses", WORKER.client("responses"), PACKAGE, needs=NEEDS),
    Row("Vercel AI SDK", "Messages", WORKER.client("messages"), PACKAGE, needs=NEEDS),
)
