"""Runs the benchmark: memorywire and the reference design, side by side, at each size."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from memorywire.model.clock import Clock
from memorywire.search.embed.embedder import MiniLmEmbedder
from memorywire_evals.bench import ledger, measures
from memorywire_evals.bench.reference_design import ReferenceEmbedder
from memorywire_evals.bench.report import Latency, Rate, Report, Resident, describe
from memorywire_evals.bench.resident import resident
from memorywire_evals.bench.stage import Known, Stage, open_stage

SIZES = (100, 10_000, 100_000, 1_000_000)
ROUNDS = 100


class Plan(Struct, frozen=True, kw_only=True):
    """What to measure, and the folder of its files: on the disk to be measured."""

    folder: Path
    sizes: Sequence[int] = SIZES
    rounds: int = ROUNDS


async def bench(
    plan: Plan,
    reference: ReferenceEmbedder | None,
    *,
    clock: Clock,
    watch: Callable[[str], None],
    keep: Callable[[Report], None],
) -> None:
    """Run the plan; `watch` gets the next step, `keep` the results so far after each size.

    The files are removed afterwards.
    """
    machine, at = describe(), clock()
    embedder = MiniLmEmbedder()
    vectors = Known(embedder)
    latencies: list[Latency] = []
    rates: list[Rate] = []
    held: list[Resident] = []
    for size in plan.sizes:
        with TemporaryDirectory(prefix="memorywire-bench-", dir=plan.folder) as folder:
            async with open_stage(
                size,
                rounds=plan.rounds,
                folder=Path(folder),
                vectors=vectors,
                reference=reference,
                watch=watch,
            ) as (stage, filling):
                rates += filling
                held += await resident(stage)
                await _measure(stage, latencies, rates, watch)
        keep(
            Report(
                at=at,
                machine=machine,
                reference=_name_step(reference),
                rounds=plan.rounds,
                latencies=tuple(latencies),
                rates=tuple(rates),
                resident=tuple(held),
            )
        )
    await embedder.close()


async def _measure(
    stage: Stage, latencies: list[Latency], rates: list[Rate], watch: Callable[[str], None]
) -> None:
    """Measure reads before writes, so that the reads see the stated size."""
    for measure in (
        measures.recall,
        measures.filtered_recall,
        measures.cold_open,
        measures.remember,
        ledger.measure_ledger,
        measures.recall_after_remember,
    ):
        watch(f"{stage.size:,} memories: {measure.__name__.replace('_', ' ')}")
        latencies += await measure(stage)
    watch(f"{stage.size:,} memories: several clients")
    waited, done = await measures.clients(stage)
    latencies += waited
    rates += done


def _name_step(reference: ReferenceEmbedder | None) -> str:
    embedder = "none, so only measures without embedding are compared; `make bench` of a clone brings one"
    if reference is not None:
        embedder = reference.name
    return f"linear scan of float32 vectors in SQLite; embedder: {embedder}"
