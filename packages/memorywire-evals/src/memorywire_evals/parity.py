"""One shared memory with a filter must answer exactly as memories of their own do."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager

from msgspec import Struct
from msgspec.structs import asdict, replace

from memorywire import __version__
from memorywire.model.record import Json
from memorywire_evals.asking import Sitting, sitting
from memorywire_evals.cases import Case
from memorywire_evals.datasets import load
from memorywire_evals.examine import Bench
from memorywire_evals.results import machine, record
from memorywire_evals.rows import PUBLISHED
from memorywire_evals.run import Plan, Told, context

MARK = "haystack"


class Parity(Struct, frozen=True, kw_only=True):
    """What the comparison found; `leaks` counts hits that belong to another case."""

    cases: int
    questions: int
    memories: int
    leaks: int
    differences: tuple[str, ...]


async def recorded(plan: Plan, *, date: str, command: str, tell: Told) -> dict[str, Json]:
    """The document of the comparison, written beside those of the runs and entered in their ledger."""
    found = await parity(plan, tell=tell)
    dataset = await asyncio.to_thread(load, plan.kind, plan.data, split=plan.split, roles=plan.roles)
    conditions = await asyncio.to_thread(plan.conditions, dataset)
    document = {
        **asdict(found),
        "differences": list(found.differences),
        "run": {name: value for name, value in conditions.items() if name != "baselines"},
        "machine": machine(),
        "date": date,
    }
    place = plan.out / __version__ / f"{dataset.name}-{dataset.split}-parity.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, sort_keys=True, indent=1) + "\n"
    await asyncio.to_thread(place.write_text, text, encoding="utf-8")
    await asyncio.to_thread(record, plan.out, {**document, "command": command})
    return document


async def parity(plan: Plan, *, tell: Told) -> Parity:
    """Fill both kinds of memory with the same items under ids of the same order, then ask both the same."""
    dataset = load(plan.kind, plan.data, split=plan.split, roles=plan.roles)
    wanted = dataset.case_ids[: plan.limit]
    differences: list[str] = []
    leaks = questions = memories = 0
    async with context(plan, dataset) as given:
        # A run of the same set keeps the same memories without the mark.
        bench = replace(given, set_name=f"{given.set_name}-parity")
        for place, id in enumerate(wanted):
            tell(place, 2 * len(wanted), f"fill {id}")
            case = dataset.build(id)
            memories += len(case.items)
            differences += await _fill(case, bench)
        for place, id in enumerate(wanted, start=len(wanted)):
            tell(place, 2 * len(wanted), f"ask {id}")
            case = dataset.build(id)
            questions += len(case.questions)
            found, leaked = await _compare(case, bench)
            differences += found
            leaks += leaked
    return Parity(
        cases=len(wanted),
        questions=questions,
        memories=memories,
        leaks=leaks,
        differences=tuple(differences),
    )


async def _fill(case: Case, bench: Bench) -> list[str]:
    """Both memories; what either did not keep. Everything is marked alike, so that the texts are equal."""
    faults: list[str] = []
    marks = {MARK: case.id}
    for name, opened in (("alone", _alone), ("shared", _shared)):
        async with opened(case, bench) as seat:
            faults += [f"{case.id} {name} lacks {fault}" for fault in await seat.tell(case.items, marks)]
    return faults


async def _compare(case: Case, bench: Bench) -> tuple[list[str], int]:
    async with _alone(case, bench) as alone, _shared(case, bench) as shared:
        differences, leaks = [], 0
        known = {item.ref for item in case.items}
        for question in case.questions:
            own = await alone.ask(question, k=PUBLISHED, min_relevance="off")
            filtered = await shared.ask(
                question, k=PUBLISHED, min_relevance="off", filter={f"metadata.{MARK}": case.id}
            )
            leaks += sum(ref not in known for ref in filtered.refs)
            if own.refs != filtered.refs:
                differences.append(_difference(question.id, own.refs, filtered.refs))
            elif known and not own.refs:  # a store that forgot everything is no proof
                differences.append(f"{question.id}: nothing was recalled")
        return differences, leaks


def _alone(case: Case, bench: Bench) -> AbstractAsyncContextManager[Sitting]:
    return sitting(bench.set_name, case, stores=bench.stores, embedder=bench.embedder)


def _shared(case: Case, bench: Bench) -> AbstractAsyncContextManager[Sitting]:
    """Of the agent that all cases share; what another run left in the store is another's.

    It is of the same tenant: a token of a server may be good for no other.
    """
    name = f"{bench.set_name}-shared"
    return sitting(name, case, stores=bench.stores, embedder=bench.embedder, agent=f"eval:{name}")


def _difference(question: str, alone: tuple[str, ...], shared: tuple[str, ...]) -> str:
    for place, (own, other) in enumerate(zip(alone, shared, strict=False), start=1):
        if own != other:
            return f"{question}: at place {place} {own} alone, {other} shared"
    return f"{question}: {len(alone)} hits alone, {len(shared)} shared"
