"""Figures for Prometheus: of requests, operations, stores, the embedder and the books. They name nobody."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from memorywire.journal.standing import Queue, Standing
from memorywire.model.record import Json

_REQUEST_SECONDS = "memorywire_request_seconds"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_HITS = (0, 1, 2, 3, 5, 10, 20, 50, 100)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Figures:
    """Everything that is counted, in a registry of this server alone."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests by operation and status.", "operation", "status")
        self._seconds = self._histogram("request_seconds", "Time to answer.", _SECONDS, "operation")
        self._now = self._gauge("requests_now", "Requests being answered.")
        self._connections = self._gauge("connections", "Open connections.")
        self._refused = self._counter("connections_refused", "Connections beyond the limits.")
        self._receipts = self._counter(
            "receipts", "Writes by operation and how they ended.", "operation", "status"
        )
        self._verdicts = self._counter("recall_verdicts", "Recalls by verdict.", "verdict")
        self._hits = self._histogram("recall_hits", "Memories per recall.", _HITS)
        self._stores = self._histogram(
            "store_seconds", "Time a store took to search or write.", _SECONDS, "operation", "store"
        )
        self._failures = self._counter("store_failures", "Stores that did not do their part.", "store")
        self._embed_seconds = self._histogram("embed_seconds", "Time of a batch in the embedder.", _SECONDS)
        self._embed_texts = self._histogram("embed_batch_texts", "Texts in a batch.", _TEXTS)
        self._books = {name: self._gauge(name, said) for name, said in _BOOKS.items()}
        self._owed = {name: self._gauge(name, said, "store") for name, said in _OWED.items()}
        # Looking a labelled figure up costs more than counting in it, and there are few.
        self._of_request = cache(self._requests.labels)
        self._time_of = cache(self._seconds.labels)
        self._time_in = cache(self._stores.labels)

    def count_connections(self, count: Callable[[], int]) -> None:
        """Ask `count` for the number of open connections whenever the figures are read."""
        self._connections.set_function(count)

    def connection_refused(self) -> None:
        self._refused.inc()

    def begun(self) -> None:
        self._now.inc()

    def answered(self, operation: str, status: int, seconds: float) -> None:
        self._now.dec()
        self._of_request(operation, str(status)).inc()
        self._time_of(operation).observe(seconds)

    def said(self, operation: str, answer: Mapping[str, Json]) -> None:
        """Count what an operation gave: a verdict and hits, or a receipt; and the stores that failed."""
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

    def embedded(self, texts: int, seconds: float) -> None:
        self._embed_texts.observe(texts)
        self._embed_seconds.observe(seconds)

    def latencies(self) -> dict[str, tuple[int, float]]:
        """For each operation so far how often it was asked, and how many milliseconds it took on average."""
        counts: dict[str, float] = {}
        sums: dict[str, float] = {}
        for sample in next(iter(self._seconds.collect())).samples:
            into = {"_count": counts, "_sum": sums}.get(sample.name.removeprefix(_REQUEST_SECONDS))
            if into is not None:
                into[sample.labels["operation"]] = sample.value
        return {name: (int(count), 1000 * sums[name] / count) for name, count in counts.items() if count}

    def text(self, books: Standing, stores: Sequence[str], now: int) -> bytes:
        """Everything as Prometheus reads it, with the books as they stand and what `stores` are owed."""
        said = {
            "ledger_entries": books.entries,
            "ledger_unsigned": books.unsigned.count,
            "oldest_unsigned_seconds": books.unsigned.age(now),
            "proposals": books.proposals.count,
            "oldest_proposal_seconds": books.proposals.age(now),
            "webhooks_failing": books.webhooks_failing,
            "dead_letters": books.dead_letters,
        }
        for name, gauge in self._books.items():
            gauge.set(said[name])
        for gauge in self._owed.values():
            gauge.clear()
        for store in {*stores, *books.debts}:
            owed = books.debts.get(store, Queue())
            self._owed["debts"].labels(store).set(owed.count)
            self._owed["oldest_debt_seconds"].labels(store).set(owed.age(now))
        return generate_latest(self.registry)

    def _counter(self, name: str, said: str, *labels: str) -> Counter:
        return Counter(f"memorywire_{name}", said, labels, registry=self.registry)

    def _gauge(self, name: str, said: str, *labels: str) -> Gauge:
        return Gauge(f"memorywire_{name}", said, labels, registry=self.registry)

    def _histogram(self, name: str, said: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"memorywire_{name}", said, labels, buckets=buckets, registry=self.registry)


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
