"""What a benchmark found, as values, as JSON and as lines of a table."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from memorywire.model.record import Json
from memorywire_evals.bench.timing import TURN, Spread

REFERENCE = "reference"
ALONE = "the same user alone"
TENANT_ALONE = "the same tenant alone"
BOUND = "reading what stands for its vectors"
BARE = "a bare durable insert"
PLAIN = "a bare durable insert, SQLite as it comes"
WHOLE = "a durable insert of one row with all of it"
FLUSH = "a flush of 4 KB"
LEDGER_OFF = "the same with the ledger off"
UNWATCHED = "the same without policy, redaction and ledger"


class Latency(Struct, frozen=True, kw_only=True):
    """How long we took for one thing, and how long what stands beside us took."""

    measure: str
    size: int
    ours: Spread
    other: Spread | None = None
    against: str = REFERENCE

    @property
    def ratio(self) -> float | None:
        """How many times faster our median is."""
        return None if self.other is None else self.other.p50 / self.ours.p50

    def cells(self) -> Sequence[str]:
        other = ("", "") if self.other is None else (_ms(self.other.p50), _ms(self.other.p95))
        against = "" if self.other is None else self.against
        ours = (_ms(self.ours.p50), _ms(self.ours.p95))
        return (self.measure, f"{self.size:,}", *ours, *other, _times(self.ratio), against)


class Rate(Struct, frozen=True, kw_only=True):
    """How many things a second we did, and how many what stands beside us did."""

    measure: str
    size: int
    ours: float
    other: float | None = None
    against: str = REFERENCE

    @property
    def ratio(self) -> float | None:
        return None if self.other is None else self.ours / self.other

    def cells(self) -> Sequence[str]:
        other = "" if self.other is None else f"{self.other:,.0f}"
        against = "" if self.other is None else self.against
        return (self.measure, f"{self.size:,}", f"{self.ours:,.0f}", other, _times(self.ratio), against)


class Resident(Struct, frozen=True, kw_only=True):
    """How many megabytes a process holds that opened the file and recalled from it."""

    size: int
    mb: float


LATENCY_HEADERS = ("milliseconds", "memories", "p50", "p95", "its p50", "its p95", "faster", "against")
RATE_HEADERS = ("each second", "memories", "ours", "its", "faster", "against")


class Report(Struct, frozen=True, kw_only=True):
    """Everything one run found, and on what."""

    at: int
    machine: Mapping[str, str | int]
    reference: str
    rounds: int
    latencies: tuple[Latency, ...]
    rates: tuple[Rate, ...]
    resident: tuple[Resident, ...] = ()

    def json(self) -> dict[str, Json]:
        return {
            "at": self.at,
            "machine": dict(self.machine),
            "reference": self.reference,
            "rounds": self.rounds,
            "latencies_ms": [to_builtins(row) | {"ratio": row.ratio} for row in self.latencies],
            "rates_per_second": [to_builtins(row) | {"ratio": row.ratio} for row in self.rates],
            "resident_mb": [asdict(held) for held in self.resident],
        }

    def heading(self) -> Iterator[str]:
        yield ", ".join(f"{name} {value}" for name, value in self.machine.items())
        yield f"reference: {self.reference}"
        yield (
            f"{self.rounds} rounds, at most {TURN} of a side in turn; fewer where a scan takes seconds;"
            " k = 5; files on disk, WAL, synchronous FULL"
        )

    def footing(self) -> Iterator[str]:
        """What a process holds; what a flush costs, which is the least of a durable write; what the ledger
        costs, as it is bounded: at most 1.35 times the time."""
        for held in self.resident:
            yield f"{held.size:,} memories: a process that opened them and recalled holds {held.mb:.0f} MB"
        for row in self.latencies:
            if row.measure == FLUSH:
                yield f"{row.size:,} memories: {FLUSH}, appended to a file, takes {_ms(row.ours.p50)} ms"
        for row in self.latencies:
            if row.against in (LEDGER_OFF, UNWATCHED) and row.other is not None:
                times = row.ours.p50 / row.other.p50
                yield f"{row.size:,} memories: a remember takes {times:.2f} times as long as {row.against}"

    def markdown(self) -> str:
        day = datetime.fromtimestamp(self.at / 1000, UTC).date()
        parts = [
            f"# Benchmark of {day}",
            "\n".join(f"- {line}" for line in self.heading()),
            markdown_table(LATENCY_HEADERS, [row.cells() for row in self.latencies]),
            markdown_table(RATE_HEADERS, [row.cells() for row in self.rates]),
            "\n".join(f"- {line}" for line in self.footing()),
        ]
        return "\n\n".join(parts) + "\n"


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in headers[1:-1]), "---"]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows))


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.2f}" if milliseconds < 100 else f"{milliseconds:.0f}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.1f} x" if ratio >= 1 else f"{ratio:.2f} x"
