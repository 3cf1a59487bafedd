"""The whole of `memorywire bench fusion`."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from memorywire.model.clock import Clock
from memorywire.search.embed import open_embedder
from memorywire_evals.bench.fusion.overhead import overhead
from memorywire_evals.bench.fusion.paper import experiment
from memorywire_evals.bench.fusion.reading import compare
from memorywire_evals.bench.fusion.report import FusionReport
from memorywire_evals.bench.fusion.sweep import sweep
from memorywire_evals.bench.fusion.world import make_world
from memorywire_evals.bench.machine import describe


async def bench_fusion(
    *, queries: int, seed: int, rounds: int, folder: Path, clock: Clock, watch: Callable[[str], None]
) -> FusionReport:
    """The whole benchmark; the cost of the router is measured first, while nothing else runs."""
    with TemporaryDirectory(prefix="memorywire-fusion-", dir=folder) as place:
        watch("what the router costs")
        cost = await overhead(Path(place), rounds=rounds, clock=clock)
        reads = await compare(Path(place), clock=clock, watch=watch)
    embedder = open_embedder("minilm")
    world = await make_world(embedder)
    await embedder.close()
    return FusionReport(
        at=clock(),
        machine=describe(),
        seed=seed,
        queries=queries,
        cells=tuple(sweep(world, queries=queries, seed=seed, watch=watch)),
        paper=tuple(experiment(world)),
        overhead=cost,
        reads=tuple(reads),
    )
