"""What is seen from outside: spans named by convention, and figures of operations, stores and books."""

import time
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memorywire.journal.acts import Act
from memorywire.journal.webhooks import Letter, Webhook, Webhooks, build_row
from memorywire.model.change import Change
from memorywire.model.proposal import OutboxEntry
from memorywire.model.record import Scope
from memorywire_server.mcp.mount import mcp_mount
from tests.http.server import Client, Server, serving, written_line
from tests.spec.scenario import HandClock

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """Of the whole process, because a provider of spans can be set only once."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    return kept


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


def finished(spans: InMemorySpanExporter, count: int) -> tuple[ReadableSpan, ...]:
    while len(spans.get_finished_spans()) < count:  # a span may end a moment after the answer
        time.sleep(0.01)
    return tuple(sorted(spans.get_finished_spans(), key=lambda span: span.start_time or 0))


def said(span: ReadableSpan, name: str) -> object:
    return (span.attributes or {}).get(name)


def test_an_operation_is_a_span_with_the_names_of_the_convention(client: Client, spans: InMemorySpanExporter):
    receipt = client.remember("what no span should say", agent="unspoken-agent")
    client.post("/v0/recall", {"agent_id": "unspoken-agent", "query": "what no span should say"})
    client.get("/v0/memories/unspoken-id", agent_id="unspoken-agent")
    client.post("/v0/forget", {"agent_id": "unspoken-agent", "ids": [receipt["id"]]})
    written, recalled, missing, forgotten = finished(spans, 4)
    assert written.name == "create_memory memorywire"
    assert said(written, "gen_ai.memory.record.id") == receipt["id"]
    assert said(recalled, "gen_ai.operation.name") == "search_memory"
    assert said(recalled, "gen_ai.memory.record.count") == 1
    assert (said(missing, "error.type"), missing.status.status_code) == ("not_found", trace.StatusCode.ERROR)
    assert said(forgotten, "gen_ai.operation.name") == "delete_memory"
    told = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "nspoken" not in told
    assert "no span" not in told


def test_a_span_belongs_to_the_trace_that_the_sender_names(client: Client, spans: InMemorySpanExporter):
    fields = {"agent_id": "a", "query": "anything"}
    client.post("/v0/recall", fields, traceparent=f"00-{TRACE}-b7ad6b7169203331-01")
    client.post("/v0/recall", fields)
    named, other = finished(spans, 2)
    assert named.context is not None
    assert other.context is not None
    assert trace.format_trace_id(named.context.trace_id) == TRACE
    assert trace.format_trace_id(other.context.trace_id) != TRACE


def figures(client: Client) -> dict[str, float]:
    lines = client.get("/metrics").body.decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


@pytest.fixture
def clock() -> HandClock:
    return HandClock(1_700_000_000_000)


@pytest.fixture
def own(clock: HandClock) -> Iterator[Server]:
    """A server that nobody has asked anything yet."""
    with serving(policy="balanced", clock=clock, mounts=lambda container: [mcp_mount(container)]) as running:
        yield running


def test_times_are_kept_by_operation_and_store(own: Server):
    own.client.remember("Ana prefers green tea")
    own.client.remember("Ana prefers long walks")
    own.client.post("/v0/recall", {"agent_id": "a", "query": "what does Ana like?"})
    found = figures(own.client)
    assert found['memorywire_store_seconds_count{operation="remember",store="sqlite"}'] == 2
    assert found['memorywire_store_seconds_count{operation="recall",store="sqlite"}'] == 1
    assert found["memorywire_embed_batch_texts_count"] == found["memorywire_embed_seconds_count"] == 3
    assert found['memorywire_request_seconds_count{operation="remember"}'] == 2


def test_what_waits_is_counted_with_its_age(own: Server, clock: HandClock):
    own.client.remember("held until somebody looks", approval_required=True)
    change = Change(id="c", scope=Scope(agent="a"), operation="remember", at=clock())
    owed = Act(outbox=(OutboxEntry(store="elsewhere", change=change, at=clock()),))
    own.run(own.container.journal.write(owed))
    hook = Webhook(id="w", url="http://127.0.0.1:9/", secret="x", tenant="t", made_at=0, position=10**6)
    own.run(own.container.journal.backend.write(lambda db: db.execute("add_webhook", build_row(hook))))
    letter = Letter(event=1, at=0, error="HTTP 410")
    own.run(Webhooks(own.container.journal).bury("w", letter))
    clock.now += 30_000
    found = figures(own.client)
    assert found["memorywire_proposals"] == 1
    assert found["memorywire_oldest_proposal_seconds"] >= 30
    assert found['memorywire_debts{store="elsewhere"}'] == 1
    assert found['memorywire_oldest_debt_seconds{store="elsewhere"}'] >= 30
    assert found['memorywire_debts{store="sqlite"}'] == 0
    assert found["memorywire_dead_letters"] == 1
    own.run(own.container.journal.write(Act(acknowledged=(("elsewhere", "c"),))))
    assert 'memorywire_debts{store="elsewhere"}' not in figures(own.client)


def test_a_call_over_mcp_is_counted_and_logged_as_the_operation_it_is(own: Server):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    arguments = {"type": "semantic", "content": "Ana prefers green tea"}
    call = {"name": "remember", "arguments": arguments, "_meta": meta}
    reply = own.client.post(
        "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        MCP_Protocol_Version="2026-07-28",
        Mcp_Method="tools/call",
        Mcp_Name="remember",
        Accept="application/json, text/event-stream",
    )
    change = reply.json["result"]["structuredContent"]["change_id"]
    line = written_line(own, change)
    assert (line["operation"], line["status"]) == ("remember", 200)
    assert figures(own.client)['memorywire_receipts_total{operation="remember",status="committed"}'] == 1
