"""Prometheus metrics of requests, operations, stores, the embedder and the journal, and the request log."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers
from starlette.types import Scope

from memorywire.app.container import Container
from memorywire.journal.journal import Queue, Status
from memorywire.model.clock import Clock
from memorywire.model.record import Json
from memorywire.model.space import Space
from memorywire.search.embed import Embedder
from memorywire_server.telemetry import continue_trace, current_trace

_REQUEST_SECONDS = "memorywire_request_seconds"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_HITS = (0, 1, 2, 3, 5, 10, 20, 50, 100)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """All metrics, in a registry of this server only."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests by operation and status.", "operation", "status")
        self._seconds = self._histogram("request_seconds", "Time to answer.", _SECONDS, "operation")
        self._now = self._gauge("requests_now", "Requests being answered.")
        self.connections = self._gauge("connections", "Open connections.")
        self.refused = self._counter("connections_refused", "Connections beyond the limits.")
        self._receipts = self._counter(
            "receipts", "Writes by operation and how they ended.", "operation", "status"
        )
        self._verdicts = self._counter("recall_verdicts", "Recalls by verdict.", "verdict")
        self._hits = self._histogram("recall_hits", "Memories per recall.", _HITS)
        self._stores = self._histogram(
            "store_seconds", "Time a store took to search or write.", _SECONDS, "operation", "store"
        )
        self._failures = self._counter("store_failures", "Stores that did not do their part.", "store")
        self.embed_seconds = self._histogram("embed_seconds", "Time of a batch in the embedder.", _SECONDS)
        self.embed_texts = self._histogram("embed_batch_texts", "Texts in a batch.", _TEXTS)
        self._books = {name: self._gauge(name, text) for name, text in _BOOKS.items()}
        self._owed = {name: self._gauge(name, text, "store") for name, text in _OWED.items()}
        # Looking up a labelled metric costs more than incrementing it, and there are few, so cache them.
        self._of_request = cache(self._requests.labels)
        self._time_of = cache(self._seconds.labels)
        self._time_in = cache(self._stores.labels)

    def count_start(self) -> None:
        self._now.inc()

    def count_answer(self, operation: str, status: int, seconds: float, answer: Mapping[str, Json]) -> None:
        """Count a request, its verdict and hits or its receipt, and the stores that failed."""
        self._now.dec()
        self._of_request(operation, str(status)).inc()
        self._time_of(operation).observe(seconds)
        if operation == "recall" and "verdict" in answer:
            self._verdicts.labels(answer["verdict"]).inc()
            self._hits.observe(len(answer["results"]))
        elif "status" in answer:
            self._receipts.labels(operation, answer["status"]).inc()
        for outcome in answer.get("outcomes", ()):
            if outcome.get("error") is not None:
                self._failures.labels(outcome["store"]).inc()

    def took(self, operation: str, store: str, seconds: float) -> None:
        self._time_in(operation, store).observe(seconds)

    def latencies(self) -> dict[str, tuple[int, float]]:
        """Return for each operation the number of requests and the mean latency in milliseconds."""
        counts: dict[str, float] = {}
        sums: dict[str, float] = {}
        for sample in next(iter(self._seconds.collect())).samples:
            into = {"_count": counts, "_sum": sums}.get(sample.name.removeprefix(_REQUEST_SECONDS))
            if into is not None:
                into[sample.labels["operation"]] = sample.value
        return {name: (int(count), 1000 * sums[name] / count) for name, count in counts.items() if count}

    def text(self, books: Status, stores: Sequence[str], now: int) -> bytes:
        """Return all metrics in the Prometheus format; also sets the gauges of the journal and of the pending
        writes of `stores`.
        """
        values = {
            "ledger_entries": books.entries,
            "ledger_unsigned": books.unsigned.count,
            "oldest_unsigned_seconds": books.unsigned.age(now),
            "proposals": books.proposals.count,
            "oldest_proposal_seconds": books.proposals.age(now),
            "webhooks_failing": books.webhooks_failing,
            "dead_letters": books.dead_letters,
        }
        for name, gauge in self._books.items():
            gauge.set(values[name])
        for gauge in self._owed.values():
            gauge.clear()
        for store in {*stores, *books.outbox}:
            queue = books.outbox.get(store, Queue())
            self._owed["debts"].labels(store).set(queue.count)
            self._owed["oldest_debt_seconds"].labels(store).set(queue.age(now))
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"memorywire_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"memorywire_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"memorywire_{name}", text, labels, buckets=buckets, registry=self.registry)


_BOOKS: Mapping[str, str] = {
    "ledger_entries": "Entries of the ledger.",
    "ledger_unsigned": "Entries that are not signed yet.",
    "oldest_unsigned_seconds": "How long the first of them has waited.",
    "proposals": "Changes that wait for a person.",
    "oldest_proposal_seconds": "How long the first of them has waited.",
    "webhooks_failing": "Webhooks whose last try failed.",
    "dead_letters": "Events that were given up.",
}
_OWED: Mapping[str, str] = {
    "debts": "Changes that a store has still to write.",
    "oldest_debt_seconds": "How long the first of them has waited.",
}


Log: TypeAlias = Callable[[str], None]


def to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class RequestRecord(Struct):
    """A request in progress."""

    state: dict[str, Any]
    began: float
    status: int = 500
    code: str | None = None
    caller: str | None = None

    @property
    def operation(self) -> str:
        return str(self.state.get("operation", "other"))


class RequestObserver:
    """Counts, times and logs every request."""

    def __init__(self, clock: Clock, log: Log | None = to_stderr) -> None:
        self.metrics = Metrics()
        self._clock = clock
        self._log = log

    def alarm(self, text: str) -> None:
        """Log an error that an operator must look at."""
        if self._log is not None:
            self._log(json.dumps({"at": self._clock(), "level": "error", "message": text}))

    def over(self, container: Container) -> Container:
        """Return the container with its stores and embedder timed. The caller still closes the original."""
        embedder = _Timed(container.context.embedder, self.metrics)
        context = replace(container.context, watching=self.metrics.took, embedder=embedder)
        return replace(container, context=context)

    @contextmanager
    def visit(self, scope: Scope) -> Iterator[RequestRecord]:
        visit = RequestRecord(state=scope.setdefault("state", {}), began=time.perf_counter())
        scope["state"].update(visit=visit, metrics=self.metrics)
        self.metrics.count_start()
        try:
            with continue_trace(Headers(scope=scope)):
                yield visit
        finally:
            seconds, answer = time.perf_counter() - visit.began, visit.state.get("answer", {})
            self.metrics.count_answer(visit.operation, visit.status, seconds, answer)
            if self._log is not None:
                self._log(self._line(visit, scope["method"]))

    def _line(self, visit: RequestRecord, method: str) -> str:
        answer, trace = visit.state.get("answer", {}), current_trace.get()
        fields = {
            "at": self._clock(),
            "level": "error" if visit.status in (500, 503) else "info",
            "trace_id": None if trace is None else trace.id,
            "method": method,
            "operation": visit.operation,
            "status": visit.status,
            "ms": round((time.perf_counter() - visit.began) * 1000, 2),
            "caller": visit.caller,
            "code": visit.code or visit.state.get("code"),
            "recall_id": answer.get("recall_id"),
            "change_id": answer.get("change_id"),
            "proposal_id": answer.get("proposal_id"),
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None})


class _Timed:
    """An embedder that measures the time of each batch."""

    def __init__(self, inner: Embedder, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    @property
    def space(self) -> Space:
        return self._inner.space

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        start = time.perf_counter()
        try:
            return await self._inner.embed(texts)
        finally:
            self._metrics.embed_texts.observe(len(texts))
            self._metrics.embed_seconds.observe(time.perf_counter() - start)

    async def close(self) -> None:
        await self._inner.close()
