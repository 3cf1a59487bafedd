"""What is seen of the door from outside: figures, spans and one line for each visit, none with content."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.types import Scope

from memorywire.model.clock import Clock

if TYPE_CHECKING:  # the caller is named, never asked
    from memorywire.servers.callers import Caller

Log: TypeAlias = Callable[[str], None]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_HITS = (0, 1, 2, 3, 5, 10, 20, 50, 100)

SPANS: Mapping[str, str] = {
    "remember": "create_memory",
    "recall": "search_memory",
    "forget": "delete_memory",
    "merge": "update_memory",
    "expire": "delete_memory",
    "undo": "update_memory",
    "get": "search_memory",
}
"""Our verbs as the OpenTelemetry conventions for generative AI call operations on memory."""


def to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@dataclass(slots=True)
class Visit:
    """One request, while it lasts."""

    state: dict[str, Any]
    began: float
    status: int = 500
    code: str | None = None
    caller: str | None = None
    counted: bool = False

    @property
    def operation(self) -> str:
        return str(self.state.get("operation", "other"))


class Watch:
    """Counts, times and logs every visit. The registry is of this server alone."""

    def __init__(self, clock: Clock, log: Log | None = to_stderr) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = CollectorRegistry()
        self._clock = clock
        self._log = log
        self._visits = Counter(
            "memorywire_requests",
            "Requests by operation and status.",
            ("operation", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "memorywire_request_seconds",
            "Time to answer.",
            ("operation",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._receipts = Counter(
            "memorywire_receipts",
            "Writes by operation and how they ended.",
            ("operation", "status"),
            registry=self.registry,
        )
        self._verdicts = Counter(
            "memorywire_recall_verdicts", "Recalls by verdict.", ("verdict",), registry=self.registry
        )
        self._hits = Histogram(
            "memorywire_recall_hits", "Memories per recall.", buckets=_HITS, registry=self.registry
        )
        self._stores = Counter(
            "memorywire_store_failures",
            "Stores that did not do their part.",
            ("store",),
            registry=self.registry,
        )
        self._now = Gauge("memorywire_requests_now", "Requests being answered.", registry=self.registry)
        self._books: dict[str, Gauge] = {}

    @contextmanager
    def visit(self, scope: Scope) -> Iterator[Visit]:
        visit = Visit(state=scope.setdefault("state", {}), began=time.perf_counter())
        scope["state"]["visit"] = visit
        self._now.inc()
        try:
            with _span(visit):
                yield visit
        finally:
            self._now.dec()
            self._count(visit)
            if self._log is not None:
                self._log(self._line(visit, scope["method"]))

    def named(self, scope: Scope, caller: "Caller") -> None:
        scope["state"]["visit"].caller = caller.name

    def text(self, books: Mapping[str, float]) -> bytes:
        """Everything as Prometheus reads it, with the figures of the books as they are now."""
        from prometheus_client import Gauge, generate_latest

        for name, value in books.items():
            if name not in self._books:
                words = name.replace("_", " ")
                self._books[name] = Gauge(f"memorywire_{name}", words, registry=self.registry)
            self._books[name].set(value)
        return generate_latest(self.registry)

    def _count(self, visit: Visit) -> None:
        operation = visit.operation
        self._visits.labels(operation, str(visit.status)).inc()
        self._seconds.labels(operation).observe(time.perf_counter() - visit.began)
        answer = visit.state.get("answer", {})
        if operation == "recall" and "verdict" in answer:
            self._verdicts.labels(answer["verdict"]).inc()
            self._hits.observe(len(answer["results"]))
        elif "status" in answer:
            self._receipts.labels(operation, answer["status"]).inc()
        for outcome in answer.get("outcomes", ()):
            if outcome.get("error") is not None:
                self._stores.labels(outcome["store"]).inc()

    def _line(self, visit: Visit, method: str) -> str:
        answer = visit.state.get("answer", {})
        said = {
            "at": self._clock(),
            "method": method,
            "operation": visit.operation,
            "status": visit.status,
            "ms": round((time.perf_counter() - visit.began) * 1000, 2),
            "caller": visit.caller,
            "code": visit.code,
            "recall_id": answer.get("recall_id"),
            "change_id": answer.get("change_id"),
            "proposal_id": answer.get("proposal_id"),
        }
        return json.dumps({name: value for name, value in said.items() if value is not None})


def _span(visit: Visit) -> AbstractContextManager[object]:
    """A span around the visit where OpenTelemetry is installed; it costs nothing where it is not."""
    trace = _tracing()
    return nullcontext() if trace is None else _spanned(trace, visit)


def _tracing() -> Any:
    """The OpenTelemetry interface, if the program that serves us brought it along."""
    return sys.modules.get("opentelemetry.trace")


@contextmanager
def _spanned(trace: Any, visit: Visit) -> Iterator[None]:
    tracer = trace.get_tracer("memorywire")
    with tracer.start_as_current_span("memory", kind=trace.SpanKind.SERVER) as span:
        yield
        operation = visit.operation
        if operation in SPANS:
            span.update_name(f"{SPANS[operation]} memorywire")
            span.set_attribute("gen_ai.operation.name", SPANS[operation])
            span.set_attribute("gen_ai.provider.name", "memorywire")
        span.set_attribute("http.response.status_code", visit.status)
        results = visit.state.get("answer", {}).get("results")
        if results is not None:
            span.set_attribute("gen_ai.memory.search.result.count", len(results))
