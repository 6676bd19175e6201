"""Spans from records."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from thinkwire.gateway.record import Record
from thinkwire.gateway.tracing import Tracing, start_tracing
from thinkwire.model import Usage


def spans_of(*records: Record) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider, clock=lambda: 10_000_000_000)
    for record in records:
        tracing.observe(record)
    tracing.close()
    return exporter


def record(**fields: object) -> Record:
    values = {"request_id": "r", "face": "anthropic", "asked": "a", "stream": True, "began": 0.0, "seconds": 2.0}
    return Record(**(values | {"backend": "glm", "model": "m", "status": 200, "end": "ok"} | fields))  # type: ignore[arg-type]


def test_a_span_has_the_requests_times_and_names() -> None:
    (span,) = spans_of(record(usage=Usage(input=1, output=2), stop="end_turn")).get_finished_spans()
    assert span.name == "chat m"
    assert (span.start_time, span.end_time) == (8_000_000_000, 10_000_000_000)
    attributes = dict(span.attributes or {})
    assert attributes["gen_ai.request.model"] == "a"
    assert attributes["gen_ai.response.model"] == "m"
    assert attributes["gen_ai.usage.output_tokens"] == 2
    assert attributes["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert "thinkwire.usage.reasoning_tokens" not in attributes


def test_a_failure_is_an_error() -> None:
    (span,) = spans_of(record(end="upstream.stream.cut")).get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})["error.type"] == "upstream.stream.cut"


def test_nothing_is_loaded_unless_somebody_wants_spans() -> None:
    assert start_tracing({}) is None


def test_spans_are_sent_where_the_usual_variable_says() -> None:
    tracing = start_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    assert tracing is not None
    tracing.close()
