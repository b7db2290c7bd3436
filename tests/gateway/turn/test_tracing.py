"""Spans of turns, at a real OTLP endpoint."""

from __future__ import annotations

import gzip
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from crosswind.gateway.config.sections import Telemetry
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.turn.tracing import open_tracing
from crosswind.testing.replies import plain
from tests.gateway.dialogue import PROFILE, body, user
from tests.gateway.servers import answer, gateway, upstream

TRACE = "0af7651916cd43dd8448eb211c80319c"


@contextmanager
def collector() -> Iterator[tuple[str, list[Any]]]:
    """An OTLP endpoint that keeps the spans that it is sent."""
    spans: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            raw = self.rfile.read(length)
            if self.headers.get("content-encoding") == "gzip":
                raw = gzip.decompress(raw)
            request = ExportTraceServiceRequest.FromString(raw)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", spans
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value"))
        for one in span.attributes
        if one.value.WhichOneof("value") != "array_value"
    }


async def test_a_span_per_turn_with_the_conventions_names_and_no_content(tmp_path: Path) -> None:
    with collector() as (endpoint, spans):
        failing = plain({"error": {"message": "no"}}, 500)
        async with (
            upstream(plain(answer()), failing) as app,
            gateway(tmp_path, app, noise=PROFILE, telemetry={"endpoint": endpoint}) as running,
        ):
            parent = f"00-{TRACE}-b7ad6b7169203331-01"
            asked = body(user("a word that no span may hold"))
            await running.chat(asked, "one", traceparent=parent)
            await running.chat(asked, "one")
            assert app.requests[0].headers["traceparent"] == parent
        first, second = sorted(spans, key=lambda span: span.start_time_unix_nano)
        assert (first.name, first.trace_id.hex()) == ("chat tiny", TRACE)
        named = attributes(first)
        assert named["gen_ai.operation.name"] == "chat" and named["gen_ai.response.id"] == "chatcmpl-1"
        assert (named["gen_ai.usage.input_tokens"], named["gen_ai.usage.output_tokens"]) == (3, 2)
        assert (named["gen_ai.conversation.id"], named["crosswind.turn"]) == ("one", 0)
        assert first.end_time_unix_nano > first.start_time_unix_nano
        assert attributes(second)["error.type"] == "status_500" and second.status.code == 2
        assert "no span may hold" not in repr(spans)


async def test_no_secret_is_in_a_span(tmp_path: Path) -> None:
    secret = "sk-proj-" + "a1B2c3D4" * 5
    with collector() as (endpoint, spans):
        async with (
            upstream(plain(answer(id=secret))) as app,
            gateway(tmp_path, app, telemetry={"endpoint": endpoint}) as running,
        ):
            asked = {**body(user(secret)), "model": f"tiny-{secret}", "user": secret}
            assert (await running.chat(asked, "s", authorization=f"Bearer {secret}")).is_success
        (span,) = spans
    assert secret not in str(span) and "[redacted]" in attributes(span)["gen_ai.request.model"]


def test_without_the_extra_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigurationError, match=r"opentelemetry.* is missing.*crosswind\[telemetry\]"):
        open_tracing(Telemetry(endpoint="http://127.0.0.1:1/v1/traces"))
