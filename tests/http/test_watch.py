"""Spans: where OpenTelemetry is set up, each request is one, named by convention, without content."""

import time

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.http.server import Client


def test_a_request_is_a_span_with_the_names_of_the_convention(client: Client):
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    client.remember("what no span should say", agent="unspoken-agent")
    client.post("/v0/recall", {"agent_id": "unspoken-agent", "query": "what no span should say"})
    client.get("/v0/memories/unspoken-id", agent_id="unspoken-agent")
    while len(kept.get_finished_spans()) < 3:  # a span ends a moment after the answer
        time.sleep(0.01)
    written, recalled, missing = kept.get_finished_spans()
    assert written.name == "create_memory memorywire"
    assert recalled.attributes is not None
    assert recalled.attributes["gen_ai.operation.name"] == "search_memory"
    assert recalled.attributes["gen_ai.memory.search.result.count"] == 1
    assert missing.attributes is not None
    assert missing.attributes["http.response.status_code"] == 404
    assert not [span for span in kept.get_finished_spans() if "nspoken" in span.to_json()]
    assert not [span for span in kept.get_finished_spans() if "no span" in span.to_json()]
