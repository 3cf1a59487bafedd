"""Reading by a route: the store of the right kind is asked, and the others only when it finds nothing."""

import asyncio
from collections.abc import Sequence

import pytest

from memorywire import Memory
from memorywire.app import Several
from memorywire.model.answers import Recalled
from memorywire.model.errors import InvalidRequest
from memorywire.stores.memory import MemoryStore
from memorywire.stores.router import Kind, Mount, Route, Router, by_rules, learned
from memorywire.stores.wrappers import with_name
from memorywire_testing.faults import Fault, Faults, with_faults
from memorywire_testing.samples import SPACE, a_query, a_record, a_scope, a_vector, keep
from tests.router.desk import LONG

QUESTIONS = {
    "how is the outage related to the deploy?": Kind.RELATIONSHIP,
    "which memory contradicts the plan?": Kind.RELATIONSHIP,
    "what connects Ana and the budget, what is between Ana and Ben?": Kind.RELATIONSHIP,
    'where did we write "spare key"?': Kind.LITERAL,
    "MAX_RETRY_COUNT": Kind.LITERAL,
    "config/app.toml": Kind.LITERAL,
    "zebra": Kind.LITERAL,
    "why does Ana prefer tea?": Kind.SEMANTIC,
    "what is the mood in the team like?": Kind.SEMANTIC,
    "the thing under a blue pot": Kind.SEMANTIC,
    "": Kind.SEMANTIC,
}


@pytest.mark.parametrize(("text", "kind"), QUESTIONS.items(), ids=[*map(str, range(len(QUESTIONS)))])
def test_the_rules_tell_what_a_question_is_after(text: str, kind: Kind) -> None:
    assert by_rules(a_query(a_scope(), text)) is kind


def test_a_learned_route_follows_its_examples_and_knows_the_rules_when_it_sees_nothing() -> None:
    route = learned(
        [(a_vector(1), Kind.LITERAL), (a_vector(1, 0.2), Kind.LITERAL), (a_vector(0, 1), Kind.SEMANTIC)]
    )
    assert route(a_query(a_scope(), "why?", a_vector(1, 0.1))) is Kind.LITERAL
    assert route(a_query(a_scope(), "x_y", a_vector(0.1, 1))) is Kind.SEMANTIC
    assert route(a_query(a_scope(), "x_y")) is Kind.LITERAL
    with pytest.raises(InvalidRequest, match="no examples"):
        learned([])


def _asked(text: str, *sick: str, route: Route = by_rules, empty: Sequence[str] = ()) -> list[str]:
    """The stores that a search asks, in their order; all hold the same memory, but those that are `empty`."""

    async def run() -> list[str]:
        record = a_record(a_scope())
        mounts = []
        for name in ("vectors", "markdown", "graph"):
            store = MemoryStore(SPACE)
            if name not in empty:
                await keep(store, record, vector=a_vector(1))
            faulty = with_faults(store, Faults(Fault.RAISES if name in sick else Fault.NONE))
            mounts.append(Mount(name=f"the {name}", store=with_name(faulty, name), backend=name))
        router = Router(mounts, route=route)
        founds = await router.search_each(a_query(record.scope, text, a_vector(1)), 5)
        return [found.store for found in founds]

    return asyncio.run(run())


def test_only_the_store_of_the_right_kind_is_asked() -> None:
    assert _asked("what contradicts the plan?") == ["the graph"]
    assert _asked("MAX_RETRY_COUNT") == ["the markdown"]
    assert _asked("why?") == ["the vectors"]
    assert _asked("why?", route=lambda query: Kind.LITERAL) == ["the markdown"]


def test_when_it_fails_or_finds_nothing_the_others_are_asked_in_turn() -> None:
    assert _asked("MAX_RETRY_COUNT", "markdown") == ["the markdown", "the vectors"]
    assert _asked("MAX_RETRY_COUNT", "markdown", empty=["vectors"]) == [
        "the markdown",
        "the vectors",
        "the graph",
    ]
    assert _asked("why?", "vectors", "markdown", "graph") == ["the vectors", "the markdown", "the graph"]


def test_a_recall_by_a_route_names_the_stores_it_asked_and_finds_the_answer() -> None:
    async def run() -> tuple[Recalled, Recalled]:
        stores = ["sqlite://", "graph://"]
        several = Several(route=by_rules, deadline=LONG)
        async with Memory("agent", stores, policy="open", several=several) as memory:
            await memory.remember("The deploy caused the outage of March")
            await memory.remember("Ana prefers green tea")
            return await memory.recall("what led to the outage?"), await memory.recall("why tea?")

    linked, meant = asyncio.run(run())
    assert (linked.stores_queried, meant.stores_queried) == (("graph",), ("sqlite",))
    assert linked.hits[0].content == "The deploy caused the outage of March"
    assert meant.hits[0].content == "Ana prefers green tea"
