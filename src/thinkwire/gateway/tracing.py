"""OpenTelemetry spans: one per request, made from its record when it is over. Needs the extra `otel`.

The names are those of the GenAI semantic conventions as far as they go. Where spans are sent is said by the usual
variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, …); without one nothing is loaded. No content, as in the log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from thinkwire.gateway.log import fields_of
from thinkwire.gateway.record import Record

_WANTED = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

_NAMES = {
    "id": "thinkwire.request.id",
    "face": "thinkwire.face",
    "backend": "thinkwire.backend",
    "asked": "gen_ai.request.model",
    "model": "gen_ai.response.model",
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "reasoning": "thinkwire.usage.reasoning_tokens",
    "status": "http.response.status_code",
    "first": "thinkwire.first_event.seconds",
    "gap": "thinkwire.longest_gap.seconds",
    "attempts": "thinkwire.attempts",
    "end": "thinkwire.end",
    "notices": "thinkwire.notices",
}


class Tracing:
    """`observe` is an observer of the gateway."""

    def __init__(self, provider: Any, clock: Callable[[], int] = time.time_ns) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("thinkwire")
        self._clock = clock

    def observe(self, record: Record) -> None:
        from opentelemetry.trace import SpanKind, StatusCode  # noqa: PLC0415  # an extra

        end = self._clock()
        span = self._tracer.start_span(
            f"chat {record.model or record.asked}"[:200],
            kind=SpanKind.SERVER,
            start_time=end - int(record.seconds * 1e9),
            attributes=attributes_of(record),
        )
        if record.end != "ok":
            span.set_status(StatusCode.ERROR)
        span.end(end_time=end)

    def close(self) -> None:
        """Sends what is still to be sent."""
        self._provider.shutdown()


def attributes_of(record: Record) -> dict[str, Any]:
    fields = fields_of(record)
    attributes = {
        _NAMES[name]: value for name, value in fields.items() if name in _NAMES and value not in (None, "", [])
    }
    attributes["gen_ai.operation.name"] = "chat"
    if record.stop:
        attributes["gen_ai.response.finish_reasons"] = [record.stop]
    if record.end != "ok":
        attributes["error.type"] = record.end
    return attributes


def start_tracing(environ: Mapping[str, str] | None = None) -> Tracing | None:
    """None if nobody wants spans, or the extra is not installed."""
    environ = os.environ if environ is None else environ
    if not any(environ.get(name) for name in _WANTED):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        return None
    provider = TracerProvider(resource=Resource.create({"service.name": environ.get("OTEL_SERVICE_NAME", "thinkwire")}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
