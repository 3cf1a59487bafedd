"""Look-alikes: contradictory memories must stay two, copies may become one."""

from collections.abc import Sequence

from memorywire.model.errors import CapabilityUnsupported
from memorywire.search.embed import Embedder
from memorywire_evals.asking import Sitting, sitting
from memorywire_evals.cases import Case, Item, Pair, Question
from memorywire_evals.rows import OURS, Row


async def compare_pairs(case: Case, *, set_name: str, stores: Sequence[str], embedder: Embedder) -> list[Row]:
    """Each pair in a memory of its own, with nothing else to be confused with."""
    rows = []
    for pair in case.pairs:
        agent = f"eval:{set_name}:{case.id}:{pair.id}"
        alone = Case(id=f"{case.id}:{pair.id}", items=(), questions=())
        async with sitting(set_name, alone, stores=stores, embedder=embedder, agent=agent) as seat:
            figures = await _merged(pair, seat)
        rows.append(
            Row(
                case=case.id,
                question=pair.id,
                category="contradiction" if pair.contradict else "copy",
                asked="pair",
                answerable=False,
                figures={OURS: figures},
            )
        )
    return rows


async def _merged(pair: Pair, seat: Sitting) -> dict[str, float]:
    """Whether the second was taken for the first, on the way in or when recalled without repetitions."""
    told = await seat.tell([Item(ref="first", content=pair.first, type="semantic")])
    told += await seat.tell([Item(ref="second", content=pair.second, type="semantic")])
    if told:
        return {"merged": 1.0, "merged.on-write": 1.0}
    figures = {"merged": 0.0, "merged.on-write": 0.0}
    question = Question(id=pair.id, text=pair.first, category="pair")
    try:
        heard = await seat.ask(question, k=2, min_relevance="off", dedup={"mode": "drop"})
    except CapabilityUnsupported:
        return figures
    merged = float(len(heard.refs) < 2)
    return figures | {"merged.on-recall": merged, "merged": merged}
