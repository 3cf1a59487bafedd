"""Spans of an agent and of its memory in one trace, with the names of the conventions for generative AI.

    python examples/opentelemetry_agent.py serve --port 8377     the server, with spans on standard error
    python examples/opentelemetry_agent.py ask http://127.0.0.1:8377

Needs `memorywire-core[server]` and opentelemetry-sdk. To send the spans to a collector, put an
OTLPSpanExporter in place of the ConsoleSpanExporter.
"""

import json
import sys
from urllib.request import Request, urlopen

from opentelemetry import propagate, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor


def set_up(service: str) -> None:
    """Collect spans: a program that never does this pays nothing for them."""
    provider = TracerProvider(resource=Resource({"service.name": service}))
    exporter = ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: span.to_json(indent=None) + "\n")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)


def serve(arguments: list[str]) -> None:
    """Run `memorywire serve`; each operation is a span, such as `search_memory memorywire`."""
    from memorywire.cli import main

    set_up("memorywire")
    sys.argv = ["memorywire", "serve", *arguments]
    main()


def ask(server: str, question: str = "what does Ana like to drink?") -> str:
    """One turn of an agent: read memory, ask the model. The header `traceparent` joins the two services."""
    set_up("assistant")
    tracer = trace.get_tracer("assistant")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "assistant"}
    model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "example-model"}
    with tracer.start_as_current_span("invoke_agent assistant", attributes=agent):
        found = call(server, "recall", {"agent_id": "assistant", "query": question})
        with tracer.start_as_current_span("chat example-model", attributes=model):
            return f"(a model answers with {len(found['results'])} memories)"


def call(server: str, operation: str, payload: dict) -> dict:
    headers = {"Content-Type": "application/json"}
    propagate.inject(headers)
    request = Request(f"{server}/v0/{operation}", json.dumps(payload).encode(), headers)
    with urlopen(request) as answer:
        return json.load(answer)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2:])
    else:
        print(ask(sys.argv[2]))
