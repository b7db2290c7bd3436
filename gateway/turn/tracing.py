"""OpenTelemetry traces: one span per turn, by the semantic conventions for generative AI; no content in them.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/. The client's `traceparent` goes on to the
upstream as it came, and the span is its child.
"""

from __future__ import annotations

from typing import Any

from crosswind.gateway.config.sections import Telemetry
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.trajectory.record import Turn
from crosswind.gateway.turn.exchange import Exchange


def open_tracing(telemetry: Telemetry) -> Tracing | None:
    """Tracing, where an endpoint is configured. ConfigurationError where the extra isn't installed."""
    if telemetry.endpoint is None:
        return None
    try:
        return Tracing(telemetry)
    except ImportError as error:
        raise ConfigurationError(
            f"telemetry.endpoint {telemetry.endpoint!r} needs OpenTelemetry ({error.name} is missing): "
            "pip install 'crosswind[telemetry]'"
        ) from None


class Tracing:
    """Spans to an OTLP endpoint over HTTP, sent in batches by a thread of the SDK."""

    def __init__(self, telemetry: Telemetry) -> None:
        # OpenTelemetry is an extra, and slow to import.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = TracerProvider(resource=Resource.create({"service.name": telemetry.service}))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=telemetry.endpoint)))
        self._tracer = self._provider.get_tracer("crosswind")
        self._propagator = TraceContextTextMapPropagator()

    def record(self, exchange: Exchange, turn: Turn) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode

        operation = exchange.codec.operation
        span = self._tracer.start_span(
            f"{operation} {_model_of(exchange) or ''}".strip(),
            context=self._propagator.extract(dict(exchange.trace)),
            kind=SpanKind.CLIENT,
            start_time=turn.created_us * 1000,
            attributes=_attributes(exchange, turn, operation),
        )
        if turn.error is not None:
            span.set_attribute("error.type", turn.error.kind)
            span.set_status(Status(StatusCode.ERROR))
        span.end((turn.created_us + exchange.elapsed_us()) * 1000)

    def close(self) -> None:
        self._provider.shutdown()


def _attributes(exchange: Exchange, turn: Turn, operation: str) -> dict[str, Any]:
    usage, finish = turn.usage, turn.finish_reason
    found = {
        "gen_ai.operation.name": operation,
        "gen_ai.request.model": _model_of(exchange),
        "gen_ai.request.stream": turn.stream,
        "gen_ai.response.model": turn.model,
        "gen_ai.response.id": turn.response_id,
        "gen_ai.response.finish_reasons": None if finish is None else (finish,),
        "gen_ai.usage.input_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "gen_ai.usage.output_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
        "gen_ai.conversation.id": turn.session_id,
        "http.response.status_code": turn.upstream_status,
        "crosswind.turn": turn.index,
        "crosswind.attempt": turn.attempt,
        "crosswind.arm": exchange.session.record.arm.value,
        "crosswind.fitness": turn.fitness.value,
        "crosswind.operators": tuple(
            event.operator for event in exchange.noise.events if event.after is not None
        ),
    }
    return {name: value for name, value in found.items() if value is not None}


def _model_of(exchange: Exchange) -> str | None:
    """The model by the client's name, masked: a client may put anything there, even a key."""
    model = exchange.request.model
    return None if model is None else exchange.redactor.mask_name(model)
