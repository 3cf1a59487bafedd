"""Search is what the reference says: exactly in a scope of any usual size, nearly in a huge one."""

import asyncio
import random
import re
from collections.abc import Sequence

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memorywire.model.change import Base, Put
from memorywire.model.query import STANDING, And, Query, Scored, Where, owned_by
from memorywire.model.record import Json, MemoryType, Record, Scope, Standing
from memorywire.stores.memory import MemoryStore
from memorywire_postgres.database import fetch
from memorywire_postgres.location import locate
from memorywire_postgres.rows import QUERIES
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    beginning,
    compare,
    ids,
    keep,
)
from tests.engine.test_scopes import find_errors
from tests.postgres.desk import Server, opened, run

WORDS = [f"word{number}" for number in range(40)]
SPEAKERS = ["Ana Lima", "Ben", "Zoë"]


class Dice:
    """Records and queries that differ in everything a search looks at; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._numbers = np.random.default_rng(seed)

    def vector(self) -> bytes:
        values = self._numbers.normal(size=SPACE.dimension)
        return (values / np.linalg.norm(values)).astype("<f4").tobytes()

    def text(self, most: int) -> str:
        return " ".join(self._dice.choices(WORDS, k=self._dice.randint(0, most)))

    def record(self, scope: Scope) -> Record:
        roll = self._dice.choice
        label = {"kind": "identity", "subject": roll(["user", None]), "slot": roll(["home", "likes", 7])}
        said = roll([{"role": "assistant"}, {"speaker": roll(SPEAKERS)}])
        kept = {"layer": {"kind": roll(["turn", "fact"])}}
        metadata = roll([{}, {"n": roll(range(5))}, said, said, said | kept, kept, {"fact": label}])
        return a_record(
            replace(scope, user=roll([None, "u", "v"])),
            self.text(9),
            type=roll(list(MemoryType)),
            standing=roll([Standing.ACTIVE, Standing.ACTIVE, Standing.DEMOTED, Standing.ARCHIVED]),
            created_at=NOW - roll(range(50)),
            expires_at=roll([None, None, None, NOW, NOW + 1]),
            occurred_at=roll([None, NOW - roll(range(20))]),
            session_id=roll([None, "s1", "s2", "s3"]),
            metadata=metadata,
            confidence=self._dice.random(),
        )

    def puts(self, scope: Scope, count: int) -> list[Put]:
        return [
            beginning(self.record(scope), self.vector() if self._dice.random() < 0.9 else None)
            for _ in range(count)
        ]

    def queries(self, scope: Scope) -> list[Query]:
        text, vector = self.text(5) + " word1", self.vector()
        plain = a_query(scope, text, vector)
        spoken = replace(plain, names=("Ana", "Nobody"), nameless=self.vector())
        return [
            plain,
            a_query(scope, text),
            a_query(scope, "", vector),
            replace(plain, times=((NOW - 9, NOW - 3), (NOW - 2, NOW - 2))),
            spoken,
            replace(spoken, names=("Nobody",)),
            replace(spoken, nameless=None),
            a_query(replace(scope, user="u"), text, vector),
            a_query(scope, text, vector, types=frozenset({MemoryType.EPISODIC})),
            a_query(scope, text, vector, standings=frozenset(Standing), confidence_below=0.5),
            a_query(scope, text, vector, filter=compare("metadata.n", "in", [2, 3])),
            a_query(scope, text, vector, filter=compare("content", "eq", {"an": "object"})),
            a_query(scope, text, vector, filter=compare("metadata.n", "gt", 2**60)),
            a_query(scope, text, vector, as_of=NOW),
        ]


def _same(found: Sequence[Scored], wanted: Sequence[Scored]) -> None:
    assert ids(found) == ids(wanted)
    for hit, twin in zip(found, wanted, strict=True):
        assert hit.record == twin.record
        assert hit.score == pytest.approx(twin.score, abs=1e-6)
        assert hit.signals == pytest.approx(twin.signals, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_search_finds_what_looking_at_everything_finds(shared: str, seed: int) -> None:
    scope, dice, oracle = a_scope(), Dice(seed), MemoryStore(SPACE)

    async def main() -> None:
        async with opened(shared) as store:
            change = a_change(scope, *dice.puts(scope, 250))
            for one in (store, oracle):
                await one.write(change)
            for number, query in enumerate(dice.queries(scope)):
                limit = (5, 60, 1000)[number % 3]
                wanted = await oracle.search(query, limit)
                _same(await store.search(query, limit), wanted)

    run(main())


def test_a_large_scope_is_searched_by_index_and_nothing_in_it_is_lost(shared: str) -> None:
    """The answer is as long as asked for, all of it matches, and it is nearly the exact one."""
    scope, dice = a_scope(), Dice(7)

    async def main() -> tuple[int, int]:
        async with opened(shared) as exact, opened(shared, exact=500) as by_index:
            await exact.write(a_change(scope, *dice.puts(scope, 1500)))
            shared_hits = asked = 0
            for query in (query for _ in range(3) for query in dice.queries(scope)):
                wanted, found = await exact.search(query, 5), await by_index.search(query, 5)
                assert len(found) == len(wanted)
                assert all(query.where.matches(hit.record) for hit in found)
                assert found == sorted(found, key=lambda hit: (-hit.score, hit.record.id))
                shared_hits += len(set(ids(found)) & set(ids(wanted)))
                asked += len(wanted)
            return shared_hits, asked

    found, asked = run(main())
    assert asked > 150
    assert found / asked >= 0.95


def test_the_nearest_of_a_large_scope_come_from_the_vector_index(shared: str) -> None:
    """The planner would sort the scope, or lose most of it; we say which way it goes."""
    scope, dice = a_scope(), Dice(3)
    plans: list[str] = []

    async def main() -> None:
        async with opened(shared, exact=100) as store:
            await store.write(a_change(scope, *dice.puts(scope, 900)))

            async def watch(query: Query) -> None:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr("memorywire_postgres.search.fetch", _explained(plans))
                    await store.search(query, 5)

            await watch(a_query(scope, "word1", dice.vector()))

    run(main())
    [nearest] = [plan for plan in plans if "version_nearest" in plan]
    assert "Sort" not in nearest


def _standing(scope: Scope, number: int) -> Record:
    """A memory of which one in fifty holds whatever is asked, each for another reason."""
    metadata: dict[str, Json] = {"fact": {"kind": "identity"}}
    tags: tuple[str, ...] = ("note",)
    match number % 250:
        case 0:
            metadata = {"fact": {"kind": "constraint"}}
        case 50:
            metadata = {"fact": {"kind": "plan", "pinned": True}}
        case 100 | 150 | 200:
            tags = ({100: "do", 150: "blacklist", 200: "know"}[number % 250],)
    user = (None, "ana", "ben")[number % 3]
    return a_record(replace(scope, user=user), f"word{number}", metadata=metadata, tags=tags)


def test_what_every_context_reads_comes_from_an_index_of_its_own(schema: str) -> None:
    """Among 20,000 memories, the 400 that hold whatever is asked are found without looking at the others."""
    scope, plans = a_scope(), list[str]()
    where = Where(scope=scope, alive_at=NOW, filter=And((owned_by("ana", None), STANDING)))

    async def main() -> tuple[list[Record], list[Record], int]:
        async with opened(schema) as store:
            records = [_standing(scope, number) for number in range(20_000)]
            for start in range(0, len(records), 2_000):
                batch = records[start : start + 2_000]
                await store.write(a_change(scope, *map(beginning, batch)))
            await store.database.write("default", lambda db: db.execute("ANALYZE version"))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("memorywire_postgres.reads.fetch", _explained(plans, "ANALYZE, TIMING OFF"))
                hits = await store.find(where, None, 500)
            return records, hits, len(plans)

    records, hits, count = run(main())
    expected = [one for one in records if where.matches(one)]
    assert ids(hits) == sorted(one.id for one in expected)
    assert len(expected) == 267
    assert count == 1
    assert "version_standing" in plans[0]
    assert "Seq Scan" not in plans[0]
    looked_at = [int(rows) for rows in re.findall(r"Rows Removed by \w+: (\d+)", plans[0])]
    assert sum(looked_at) < 400, plans[0]  # those of the third user, and no other


def _explained(plans: list[str], options: str = "COSTS") -> object:
    async def look(db: object, query: str, bindings: object = None) -> object:
        rows = await fetch(db, f"EXPLAIN ({options}) {query}", bindings)
        plans.append("\n".join(line for (line,) in rows))
        return await fetch(db, query, bindings)

    return look


def test_a_filter_that_few_pass_loses_none_of_them_in_a_large_scope(shared: str) -> None:
    scope, dice = a_scope(), Dice(5)
    rare = compare("metadata.rare", "eq", True)

    async def main() -> None:
        async with opened(shared, exact=100) as by_index, opened(shared) as exact:
            await exact.write(a_change(scope, *dice.puts(scope, 1200)))
            kept = [a_record(scope, f"word1 {number}", metadata={"rare": True}) for number in range(8)]
            await keep(exact, *kept, vector=dice.vector())
            query = a_query(scope, "word1", dice.vector(), filter=rare)
            found = await by_index.search(query, 5)
            assert len(found) == 5
            assert found == await exact.search(query, 5)

    run(main())


def test_how_many_are_live_is_counted_through_every_kind_of_change(shared: str) -> None:
    """What decides between looking at everything and the index must not drift."""
    scope, dice = a_scope(), Dice(11)

    async def main() -> None:
        async with opened(shared) as store:
            puts = dice.puts(scope, 40)
            await store.write(a_change(scope, *puts))
            first, second, third = (put.record for put in puts[:3])
            revised = replace(first, version=2, content="more words than before")
            await store.write(a_change(first.scope, Put(record=revised, base=Base.LIVE, like=1)))
            await store.write(a_change(scope, erase=(second.id,)))
            await store.write(a_change(scope, erase=(third.id, "nothing")))
            bindings = {"tenant": scope.tenant, "agent": scope.agent}
            live = "SELECT count(*), sum(length) FROM version WHERE agent = %(agent)s AND ended IS NULL"
            [counted] = await store.database.read("default", lambda db: fetch(db, live, bindings))
            [kept] = await store.database.read(
                "default", lambda db: fetch(db, QUERIES["agent_now"], bindings)
            )
            assert counted == kept[:2]
            assert counted[0] == 38

    run(main())


def test_recalls_are_counted_as_the_reference_counts_them(shared: str) -> None:
    scopes = [a_scope(), a_scope(tenant="other")]
    kept = [a_record(scope, id=f"m{number}-{scope.agent}") for scope in scopes for number in range(2)]
    oracle = MemoryStore(SPACE)

    async def main() -> None:
        async with opened(shared) as store:
            for one in (store, oracle):
                for record in kept:
                    await one.write(
                        a_change(replace(record.scope, user=None), beginning(record), id=record.id)
                    )
                for scope in scopes:
                    await one.touch(scope, [kept[0].id, kept[2].id, kept[0].id, "nothing"], NOW)
                await one.touch(scopes[0], [kept[0].id], NOW + 1)
            counted = list(await store.recalls([*kept, kept[0]]))
            assert counted == list(await oracle.recalls([*kept, kept[0]])) == [3, 0, 1, 0, 3]

    run(main())


TEXTS = st.text(alphabet="\x00\x01\x02\x03a%_\\'é😀", max_size=5)
TESTS = st.tuples(
    st.sampled_from(["content", "metadata.k", "source", "session_id", "tags"]),
    st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "contains", "prefix"]),
    TEXTS,
)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(TEXTS, min_size=1, max_size=8), tests=st.lists(TESTS, min_size=4, max_size=8))
def test_a_text_of_any_characters_is_kept_and_compared_as_it_is(
    server: Server, texts: list[str], tests: list[tuple[str, str, str]]
) -> None:
    """The server cannot keep a NUL; nobody may notice."""
    scope = a_scope(user="u\x00\x01")
    kept = [
        a_record(
            scope, text, id=f"{text}{number}", metadata={"k": text, text: 1}, source=text,
            session_id=text, tags=(text,),
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip

    async def main() -> None:
        async with opened(server.url("texts")) as store:
            await keep(store, *[replace(record, id=f"{record.id}{scope.agent}") for record in kept])
            everywhere = a_query(scope, "").where
            found = await store.find(everywhere)
            assert [r.content for r in found] == [
                r.content for r in sorted(kept, key=lambda r: f"{r.id}{scope.agent}")
            ]
            for path, operator, value in tests:
                where = replace(everywhere, filter=compare(path, operator, value))
                assert await store.find(where) == [record for record in found if where.matches(record)]

    run(main())


def test_erased_words_leave_no_row_behind(schema: str) -> None:
    scope = a_scope()
    record = a_record(
        scope, "the password is xyzzy", metadata={"k": "plugh"}, session_id="s", source="plover"
    )
    location = locate(schema)

    async def main() -> None:
        async with opened(schema) as store:
            await keep(store, record, vector=Dice(1).vector())
            assert _holding(location.dsn, location.schema, "xyzzy", "plugh", "plover") == {"version"}
            await store.write(a_change(scope, erase=(record.id,)))
            assert _holding(location.dsn, location.schema, "xyzzy", "plugh", "plover") == set()
            left = await store.database.read("default", lambda db: fetch(db, "SELECT count(*) FROM posting"))
            assert left == [(0,)]

    run(main())


def _holding(dsn: str, schema: str, *words: str) -> set[str]:
    """The tables in which a row has one of the words in any column."""
    found = set()
    with psycopg.connect(dsn) as db:
        for table in ("agent", "change", "version", "posting", "recall"):
            for word in words:
                rows = db.execute(
                    f"SELECT count(*) FROM {schema}.{table} AS t WHERE t::text LIKE %s", (f"%{word}%",)
                )
                if rows.fetchone() != (0,):
                    found.add(table)
    return found


def test_random_scopes_see_exactly_what_they_cover(schema: str) -> None:
    assert asyncio.run(find_errors(schema)) == []
