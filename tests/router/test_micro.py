"""The microbenchmark on several stores: one more store never makes an answer worse."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.app import Several
from memorywire.model.query import Query, Scored
from memorywire.pipeline.context import Routing
from memorywire.stores.contract import Store
from memorywire.stores.memory import MemoryStore
from memorywire.stores.wrappers import with_name
from memorywire_evals.datasets.own import read_micro
from tests.router.desk import SPACE


class _WordsOnly(MemoryStore):
    """Knows no meanings: a poorer judge than the others."""

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return await super().search(replace(query, vector=None), limit)


def _stores(*more: str) -> list[str | Store]:
    kinds = {"equal": MemoryStore, "poor": _WordsOnly}
    return [
        "sqlite://",
        *(with_name(kinds[kind](SPACE), f"{kind} {place}") for place, kind in enumerate(more)),
    ]


def _recall_at_5(*more: str, **routing: bool) -> float:
    dataset = read_micro(Path(), split="all", roles="all")
    case = dataset.build(dataset.case_ids[0])

    async def run() -> float:
        several = Several(routing=Routing(**routing), deadline=60)
        async with Memory("agent", _stores(*more), policy="open", several=several) as memory:
            receipts = await memory.remember_many(
                {"content": item.content, "type": item.type} for item in case.items
            )
            ids = {item.ref: receipt.id for item, receipt in zip(case.items, receipts, strict=True)}
            shares = []
            for question in case.questions:
                if question.gold:
                    gold = {ids[ref] for ref in question.gold}
                    found = {hit.id for hit in await memory.recall(question.text, min_relevance="off")}
                    shares.append(len(gold & found) / len(gold))
            return sum(shares) / len(shares)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def alone() -> float:
    return _recall_at_5()


def test_a_store_as_good_as_the_first_costs_no_recall(alone: float) -> None:
    assert _recall_at_5("equal") >= alone > 0.9


def test_poorer_stores_cost_no_recall_when_the_order_is_decided_here(alone: float) -> None:
    assert _recall_at_5("poor", "poor") >= alone
