"""Fitting the threshold of dedup: from which similarity on two memories that say the same may be one."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from memorywire.cli.context import Answer, CliContext
from memorywire.cli.inputs import json_lines
from memorywire.cli.terminal import table, terminal_width
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

if TYPE_CHECKING:
    from memorywire.search.embed import Embedder

SHIPPED = "-shipped-"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, and whether they say the same."""

    first: str
    second: str
    same: bool


def show(cli: CliContext, named: str) -> None:
    """Measure the pairs of a file, or those that come along, in the space of the embedder."""
    source = files("memorywire.cli") / "lookalikes.jsonl" if named == SHIPPED else Path(named)
    try:
        lines = source.read_bytes().splitlines()
    except OSError as error:
        raise InvalidRequest(f"cannot read {named}: {error.strerror}", field="lookalikes") from error
    pairs = [_pair(number, document) for number, document in json_lines(lines)]
    if len({pair.same for pair in pairs}) < len((True, False)):
        raise InvalidRequest(
            "a threshold separates two kinds of pair, and there is only one kind here", field="lookalikes"
        )
    import asyncio

    cli.show(asyncio.run(_measured(cli, pairs)), _sentences)


def _pair(number: int, document: Json) -> Pair:
    match document:
        case {"first": str(first), "second": str(second), "same": bool(same), **rest} if not rest:
            return Pair(first, second, same)
    raise InvalidRequest(
        f"line {number} is no pair",
        field="lookalikes",
        fix='write lines such as {"first": "Ana likes tea", "second": "Ana likes tea!", "same": true}',
    )


async def _measured(cli: CliContext, pairs: Sequence[Pair]) -> Answer:
    from memorywire.search import calibrate
    from memorywire.search.embed import open_embedder

    embedder = open_embedder(cli.settings.embedder, api_key=cli.settings.embedder_key)
    try:
        alike = [await _alike(pair, embedder) for pair in pairs]
    finally:
        await embedder.close()
    same = [score if agrees else 0.0 for pair, (score, agrees) in zip(pairs, alike, strict=True) if pair.same]
    others = [(score, agrees) for pair, (score, agrees) in zip(pairs, alike, strict=True) if not pair.same]
    taken = [score if agrees else 0.0 for score, agrees in others]
    threshold = calibrate.strictest(same)
    return {
        "space": str(embedder.space),
        "same": len(same),
        "different": len(others),
        "threshold": threshold,
        "least_alike_same": round(min(same), 4),
        "most_alike_different": round(max(score for score, _ in others), 4),
        "table": [asdict(cut) for cut in calibrate.table(threshold, same, taken) if cut.floor >= _LEAST],
    }


_LEAST = 0.8


async def _alike(pair: Pair, embedder: "Embedder") -> tuple[float, bool]:
    """How near two statements are, and whether they agree in everything a vector does not see."""
    from memorywire.model.record import MemoryType, Record, Scope
    from memorywire.search.dedup import cosine, statement
    from memorywire.search.slots import agree, slots

    scope = Scope(agent="a")
    one, other = (
        Record(id=text, scope=scope, type=MemoryType.SEMANTIC, content=text, created_at=0, updated_at=0)
        for text in (pair.first, pair.second)
    )
    vectors = await embedder.embed([statement(one), statement(other)])
    return cosine(*vectors), agree(slots(one), slots(other))


def _sentences(answer: Answer) -> Iterator[str]:
    best = answer["threshold"]
    rows = [
        [
            f"{cut['floor']:.3f}",
            f"{cut['kept']:.1%}",
            f"{1 - cut['cut']:.1%}",
            "<- fits" if cut["floor"] == best else "",
        ]
        for cut in answer["table"]
    ]
    headers = ["THRESHOLD", "SAME MERGED", "DIFFERENT MERGED", "NOTE"]
    yield from table(headers, rows, elastic="NOTE", width=terminal_width())
    same, others = answer["same"], answer["different"]
    yield f"{same} pairs that say the same and {others} that do not, in {answer['space']}"
    near, far = answer["most_alike_different"], answer["least_alike_same"]
    yield f"by vectors alone two that differ are up to {near:.4f} alike, two that agree only {far:.4f}:"
    yield "so words are compared first, and vectors only where those agree"
    yield f'use it as dedup: {{"mode": "drop", "threshold": {best:g}}}'
