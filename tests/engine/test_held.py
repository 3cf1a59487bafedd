"""A held change is invisible: a memory in which changes wait reads like one that never heard of them."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorywire import Memory
from memorywire.model.errors import MemorywireError
from tests.engine.quick import Quick
from tests.engine.stage import STORES, HandClock

IDS = [f"m{number}" for number in range(4)]
WORDS = ["Ana likes tea", "Ben likes tea", "the kettle is blue", "tea time", "blue paint"]
HOLD_ALL = [{"name": "all", "verdict": "hold", "everything": True}]

ids = st.sampled_from(IDS)
words = st.sampled_from(WORDS)
CHANGES = st.one_of(
    st.tuples(st.just("remember"), st.fixed_dictionaries({"id": ids, "content": words})),
    st.tuples(
        st.just("remember"),
        st.fixed_dictionaries({"id": ids, "content": words, "if_version": st.integers(1, 3)}),
    ),
    st.tuples(
        st.just("remember"),
        st.fixed_dictionaries(
            {"id": ids, "content": words, "supersedes": st.lists(ids, min_size=1, max_size=1)}
        ),
    ),
    st.tuples(
        st.just("forget"), st.fixed_dictionaries({"ids": st.just(IDS[:2]), "hard_delete": st.booleans()})
    ),
    st.tuples(st.just("forget"), st.fixed_dictionaries({"filter": st.just({"tags": {"exists": True}})})),
    st.tuples(
        st.just("merge"),
        st.fixed_dictionaries(
            {"canonical": ids, "duplicates": st.lists(ids, min_size=1, max_size=2, unique=True)}
        ),
    ),
    st.tuples(
        st.just("expire"),
        st.fixed_dictionaries(
            {
                "policy": st.just({"type": "semantic"}),
                "action": st.sampled_from(["archive", "demote", "forget"]),
            }
        ),
    ),
)
STORIES = st.lists(st.tuples(st.booleans(), CHANGES), min_size=3, max_size=9)


async def attempt(memory, operation, fields):
    kind = {"type": "semantic"} if operation == "remember" else {}
    try:
        return await memory.call(operation, {"agent_id": "agent", **kind, **fields})
    except MemorywireError as problem:
        return problem.problem()


async def attempt_held(memory, operation, fields):
    """The change under a policy that holds everything; how many wait afterwards."""
    await memory.set_rules(HOLD_ALL)
    await attempt(memory, operation, fields)
    await memory.set_rules([])
    return (await memory.proposals(states=["pending"])).total


def without_names(answer, names):
    """The answer without what is minted anew for every memory."""
    if isinstance(answer, dict):
        return {key: without_names(value, names) for key, value in answer.items() if key not in names}
    return [without_names(item, names) for item in answer] if isinstance(answer, list) else answer


MINTED = {"recall_id", "latency_ms", "began_by", "ended_by"}


async def all_reads(memory):
    """Everything there is to read, by every path."""
    reads = [
        await attempt(memory, "recall", {"query": query, "min_relevance": floor, "explain": True, "k": 2})
        for query in (*WORDS, "tea")
        for floor in ("off", "auto", 0.9)
    ]
    reads += [await attempt(memory, "recall", {"query": "tea", "as_of": memory._clock(), "k": 9})]
    reads += [await attempt(memory, operation, {"id": id}) for operation in ("get", "history") for id in IDS]
    reads += [await attempt(memory, "list", {"include": ["archived"]})]
    reads += [await attempt(memory, "forget", {"filter": {"type": "semantic"}, "dry_run": True})]
    log = (await attempt(memory, "changes", {"limit": 1000}))["changes"]
    counts = (await memory.health())["stores"][0]
    kept = counts["records"], counts["versions"]
    return without_names(reads, MINTED), [change["operation"] for change in log], kept


async def two_lives(url, story):
    """The same changes in two memories, of which one also holds others; what each of them reads."""
    clock = HandClock()
    options = {"policy": "open", "embedder": Quick(), "clock": clock}
    async with Memory("agent", [url], **options) as plain, Memory("agent", [url], **options) as governed:
        waiting = 0
        for is_held, change in story:
            clock.now += 1000
            if is_held:
                waiting = await attempt_held(governed, *change)
            else:
                await attempt(plain, *change)
                await attempt(governed, *change)
        live = {record.id for record in await plain.list(include=["archived"])}
        for one in (await governed.proposals()).items:
            similar = (await governed.proposal(one.id)).similar
            assert {record.id for record in similar} <= live
        return await all_reads(plain), await all_reads(governed), waiting


@pytest.mark.parametrize("url", STORES)
def test_what_is_held_is_on_no_read_path(url):
    """Proves GV-1."""
    seen = []

    @settings(max_examples=20, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(STORIES)
    def tell(story):
        plain, governed, waiting = asyncio.run(two_lives(url, story))
        assert governed == plain
        seen.append(waiting)

    tell()
    assert max(seen) > 0  # something was held, or nothing was shown


@pytest.mark.parametrize("url", STORES)
def test_an_approved_change_would_be_noticed(url):
    async def story():
        clock = HandClock()
        options = {"policy": "open", "embedder": Quick(), "clock": clock}
        async with Memory("agent", [url], **options) as plain, Memory("agent", [url], **options) as governed:
            await attempt_held(governed, "remember", {"id": "m0", "content": WORDS[0]})
            before = await all_reads(governed)
            (one,) = (await governed.proposals()).items
            await governed.decide(one.id, "approve")
            return await all_reads(plain), before, await all_reads(governed)

    plain, before, after = asyncio.run(story())
    assert before == plain
    assert after != plain
