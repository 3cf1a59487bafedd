"""Trust never rises: whatever is merged, derived or decided, nothing is believed more than its origins."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorywire import Memory
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Trust
from tests.engine.quick import Quick
from tests.engine.stage import STORES, HandClock

POLICY = """
profile = "balanced"
disable = ["untrusted-source"]
[trust]
"boss" = "trusted"
"""
LEVELS = list(Trust)
SOURCES = ["boss", "crm", "web:page"]
NUMBERS = st.integers(0, 20)
STEPS = st.one_of(
    st.tuples(
        st.just("remember"),
        st.fixed_dictionaries(
            {
                "source": st.sampled_from(SOURCES),
                "trust": st.sampled_from([None, *(level.value for level in Trust)]),
                "derived_from": st.lists(NUMBERS, max_size=2),
                "supersedes": st.lists(NUMBERS, max_size=1),
                "replaces": st.none() | NUMBERS,
                "approval_required": st.booleans(),
            }
        ),
    ),
    st.tuples(
        st.just("merge"),
        st.fixed_dictionaries(
            {
                "canonical": NUMBERS,
                "duplicates": st.lists(NUMBERS, min_size=1, max_size=2),
                "strategy": st.sampled_from(["keep_canonical", "merge_content", "keep_highest_confidence"]),
            }
        ),
    ),
    st.tuples(
        st.just("decide"),
        st.fixed_dictionaries(
            {
                "which": NUMBERS,
                "verb": st.sampled_from(
                    ["approve", "edit", "merge", "supersede", "forget_similar", "reject"]
                ),
                "target": NUMBERS,
            }
        ),
    ),
)


class Life:
    """A memory to which things happen; what happened cannot always be done."""

    def __init__(self, memory):
        self.memory = memory
        self.count = 0
        self.done = []

    async def live(self):
        return list(await self.memory.list(limit=1000, include=["archived"]))

    async def take(self, step, fields):
        try:
            await getattr(self, step)(**fields)
            self.done.append(step)
        except (MemorywireError, ZeroDivisionError):  # a conflict, or nothing there to choose from
            return

    async def chosen(self, numbers):
        live = await self.live()
        return list(dict.fromkeys(live[number % len(live)].id for number in numbers))

    async def remember(self, derived_from, supersedes, replaces, **fields):
        self.count += 1
        named = {"derived_from": derived_from, "supersedes": supersedes}
        given = {name: await self.chosen(numbers) for name, numbers in named.items() if numbers}
        if replaces is not None:
            live = await self.live()
            old = live[replaces % len(live)]
            given |= {"id": old.id, "if_version": old.version}
        await self.memory.remember(f"fact number {self.count} is {self.count * 7}", **given, **fields)

    async def merge(self, canonical, duplicates, strategy):
        (survivor,) = await self.chosen([canonical])
        await self.memory.merge(survivor, await self.chosen(duplicates), strategy=strategy)

    async def decide(self, which, verb, target):
        waiting = (await self.memory.proposals()).items
        options = {"edit": {"edit": {"content": f"edited {self.count}", "trust": "trusted"}}}.get(verb, {})
        if verb in ("merge", "supersede", "forget_similar"):
            options = {"target": (await self.chosen([target]))[0]}
        await self.memory.decide(waiting[which % len(waiting)].id, verb, **options)


def at_most(level, *others):
    return all(LEVELS.index(level) <= LEVELS.index(other) for other in others)


async def rises(memory):
    """Every version that is believed more than the one before it, or than what was merged into it."""
    found = []
    for record in await memory.list(limit=1000, include=["archived"]):
        chain = [version.record for version in await memory.history(record.id)]
        found += [new for old, new in pairwise(chain) if not at_most(new.trust, old.trust)]
        merged = [(await memory.history(origin))[-1].record for origin in record.merged_from]
        found += [record] if not at_most(record.trust, *(origin.trust for origin in merged)) else []
    return found


async def a_life(url, policy, steps):
    async with Memory("agent", [url], policy=policy, embedder=Quick(), clock=HandClock()) as memory:
        life = Life(memory)
        for source in SOURCES:
            await memory.remember(f"what {source} says", source=source)
        derived = []
        for step, fields in steps:
            before = {record.id: record.trust for record in await life.live()}
            await life.take(step, fields)
            derived += [
                record
                for record in await life.live()
                if record.id not in before
                and not at_most(record.trust, *(before[id] for id in record.derived_from if id in before))
            ]
        return life.done, derived, await rises(memory)


@pytest.mark.parametrize("url", STORES)
def test_nothing_is_believed_more_than_what_it_came_from(url, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    done = []

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(STEPS, min_size=4, max_size=14))
    def live(steps):
        steps_done, derived, risen = asyncio.run(a_life(url, str(policy), steps))
        assert (derived, risen) == ([], [])
        done.extend(steps_done)

    live()
    assert set(done) == {"remember", "merge", "decide"}  # what never succeeds shows nothing


@pytest.mark.parametrize("url", STORES)
def test_a_trusted_source_is_trusted_and_a_derivation_of_less_is_not(url, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)

    async def story():
        async with Memory("agent", [url], policy=str(policy), embedder=Quick()) as memory:
            rumour = (await memory.remember("the moon is cheese", source="web:page")).id
            fact = (await memory.remember("the moon is rock", source="boss")).id
            mixed = (await memory.remember("moons vary", source="boss", derived_from=[rumour, fact])).id
            return [(await memory.get(id)).trust for id in (rumour, fact, mixed)]

    assert asyncio.run(story()) == [Trust.UNTRUSTED, Trust.TRUSTED, Trust.UNTRUSTED]


@pytest.mark.parametrize("url", STORES)
def test_an_origin_that_fell_while_a_derivation_waited_counts_at_its_approval(url, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)

    async def story():
        async with Memory("agent", [url], policy=str(policy), embedder=Quick()) as memory:
            fact = (await memory.remember("the moon is rock", source="boss")).id
            rumour = (await memory.remember("the moon is cheese", source="web:page")).id
            held = await memory.remember(
                "moons are hard", source="boss", derived_from=[fact], approval_required=True
            )
            await memory.merge(fact, [rumour])
            await memory.decide([held.proposal_id], "approve")
            return (await memory.get(held.id)).trust

    assert asyncio.run(story()) is Trust.UNTRUSTED
