"""A machine that leads a store and the oracle through the same life, and lets them disagree on nothing."""

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put, Version
from memorywire.model.errors import Conflict, Duplicate
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Record, Scope, Standing
from memorywire.stores.memory import MemoryStore
from memorywire.stores.registry import open_store
from memorywire_testing.samples import NOW, SPACE, a_vector
from tests.stores.worlds import (
    AGENTS,
    CALLED,
    ENDINGS,
    IDS,
    MOMENTS,
    NAMES,
    RECORDS,
    SCOPES,
    TEXTS,
    TIMES,
    VECTORS,
    wheres,
)

T = TypeVar("T")
Fields = dict[str, Any]
CLOSE = 1e-3
LEANING = a_vector(1, 0.5, 0.2)


class Lives(RuleBasedStateMachine):
    """Subclasses say which store lives."""

    url: ClassVar[str] = "memory://"

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.oracle = MemoryStore(SPACE)
        self.store: Any = self.run(self.opened())
        self.clock = NOW - 10
        self.written: list[Change] = []

    async def opened(self) -> Any:
        return await open_store(self.url, space=SPACE)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()

    # What happens to a store.

    @initialize(fields=st.lists(RECORDS, min_size=3, max_size=6), vectors=st.lists(VECTORS, min_size=6))
    def something_is_there(self, fields: list[Fields], vectors: list[bytes | None]) -> None:
        agent = Scope(agent="ana")
        owners = (None, "u", "v", "u", None, None)
        made = [
            self.made(name, replace(agent, user=user), 1, some)
            for name, user, some in zip(NAMES, owners, fields, strict=False)
        ]
        puts = [
            Put(record=record, base=Base.NOTHING, vector=vector)
            for record, vector in zip(made, vectors, strict=False)
        ]
        self.commit(self.change(agent, put=tuple(puts)))

    @rule(id=IDS, scope=SCOPES, fields=RECORDS, vector=VECTORS, unique=st.booleans())
    def remember(self, id: str, scope: Scope, fields: Fields, vector: bytes | None, unique: bool) -> None:
        record = self.made(id, scope, 1, fields)
        self.commit(
            self.change(scope, put=(Put(record=record, base=Base.NOTHING, vector=vector, unique=unique),))
        )

    @precondition(lambda self: self.continuable())
    @rule(data=st.data(), fields=RECORDS, vector=VECTORS, unique=st.booleans(), copy=st.booleans())
    def revise_or_restore(
        self, data: st.DataObject, fields: Fields, vector: bytes | None, unique: bool, copy: bool
    ) -> None:
        last = data.draw(st.sampled_from(self.continuable()))
        scope = last.record.scope
        put = Put(
            record=self.made(last.id, scope, last.number + 1, fields),
            base=Base.LIVE if last.ended is None else Base.ENDED,
            vector=None if copy else vector,
            like=data.draw(st.integers(1, last.number)) if copy else None,
            unique=unique,
        )
        acting = data.draw(st.sampled_from([scope, replace(scope, user=None)]))
        self.commit(self.change(acting, put=(put,)))

    @rule(
        id=IDS,
        scope=SCOPES,
        version=st.integers(1, 4),
        fields=RECORDS,
        base=st.sampled_from(Base),
        like=st.none() | st.integers(1, 3),
    )
    def put_on_a_guess(
        self, id: str, scope: Scope, version: int, fields: Fields, base: Base, like: int | None
    ) -> None:
        record = self.made(id, scope, version, fields)
        self.commit(self.change(scope, put=(Put(record=record, base=base, like=like),)))

    @precondition(lambda self: self.live())
    @rule(data=st.data(), reason=st.sampled_from(ENDINGS), into=st.none() | IDS)
    def end(self, data: st.DataObject, reason: EndReason, into: str | None) -> None:
        record = data.draw(st.sampled_from(self.live()))
        end = End(id=record.id, version=record.version, reason=reason, into=into)
        self.commit(self.change(record.scope, end=(end,)))

    @rule(id=IDS, scope=SCOPES, version=st.integers(1, 3))
    def end_on_a_guess(self, id: str, scope: Scope, version: int) -> None:
        self.commit(self.change(scope, end=(End(id=id, version=version, reason=EndReason.FORGOTTEN),)))

    @precondition(lambda self: self.live())
    @rule(data=st.data(), new=IDS, fields=RECORDS, vector=VECTORS, key=st.sampled_from([None, "k1", "k2"]))
    def supersede(
        self, data: st.DataObject, new: str, fields: Fields, vector: bytes | None, key: str | None
    ) -> None:
        old = data.draw(st.sampled_from(self.live()))
        end = End(id=old.id, version=old.version, reason=EndReason.SUPERSEDED, into=new)
        record = replace(self.made(new, old.scope, 1, fields), supersedes=(old.id,))
        put = Put(record=record, base=Base.NOTHING, vector=vector, unique=data.draw(st.booleans()))
        self.commit(self.change(old.scope, put=(put,), end=(end,), key=key, fingerprint=key and "f"))

    # An erased id is lost for the rest of the life, so this is rare.
    @precondition(lambda self: len(self.written) % 5 == 4)
    @rule(id=IDS, scope=SCOPES, fields=st.none() | RECORDS, new=IDS)
    def erase(self, id: str, scope: Scope, fields: Fields | None, new: str) -> None:
        puts = () if fields is None else (Put(record=self.made(new, scope, 1, fields), base=Base.NOTHING),)
        self.commit(self.change(scope, put=puts, erase=(id,)))

    @rule(ids=st.lists(IDS, max_size=3), scope=SCOPES, at=MOMENTS)
    def touch(self, ids: list[str], scope: Scope, at: int) -> None:
        self.both("touch", scope, ids, at)

    @precondition(lambda self: self.written)
    @rule(data=st.data())
    def write_again(self, data: st.DataObject) -> None:
        change = data.draw(st.sampled_from(self.written))
        ours, theirs = self.outcomes(change)
        assert isinstance(ours, int)
        assert isinstance(theirs, int), f"a retry was refused: {theirs}"

    @rule(by=st.integers(-3, 6))
    def time_passes_or_jumps_back(self, by: int) -> None:
        self.clock += by

    # What is seen of it.

    @invariant()
    def an_agent_sees_the_same(self) -> None:
        everything = Where(scope=AGENTS[0], alive_at=NOW - 15, standings=frozenset(Standing))
        self.agree("find", everything)
        self.compare_search(Query(where=everything, text="zebra kettle", vector=LEANING), 4)

    @rule(scope=SCOPES, ids=st.lists(IDS, unique=True))
    def get(self, scope: Scope, ids: list[str]) -> None:
        self.agree("get", scope, ids)

    @rule(where=wheres(), after=st.none() | IDS, limit=st.integers(1, 8))
    def find_and_count(self, where: Where, after: str | None, limit: int) -> None:
        self.agree("find", where, after, limit)
        self.agree("count", where)

    @rule(where=wheres(), text=TEXTS, vector=VECTORS, times=TIMES, limit=st.integers(1, 8))
    def search(
        self, where: Where, text: str, vector: bytes | None, times: tuple[tuple[int, int], ...], limit: int
    ) -> None:
        self.compare_search(Query(where=where, text=text, vector=vector, times=times), limit)

    @rule(where=wheres(), names=CALLED, vector=VECTORS, nameless=VECTORS)
    def search_for_somebody(
        self, where: Where, names: tuple[str, ...], vector: bytes | None, nameless: bytes | None
    ) -> None:
        query = Query(where=where, text="zebra crossing", vector=vector, names=names, nameless=nameless)
        self.compare_search(query, 8)

    @rule(scope=SCOPES, id=IDS)
    def history(self, scope: Scope, id: str) -> None:
        ours, theirs = self.both("history", scope, id)
        assert [_in_words(version) for version in theirs] == [_in_words(version) for version in ours]
        begins = [version.began for version in theirs]
        assert begins == sorted(set(begins))

    @precondition(lambda self: self.written)
    @rule(scope=SCOPES, key=st.sampled_from(["k1", "k2"]), data=st.data())
    def footprints(self, scope: Scope, key: str, data: st.DataObject) -> None:
        change = data.draw(st.sampled_from(self.written))
        for verb, name in (("footprint", change.id), ("committed", key)):
            ours, theirs = self.both(verb, scope, name)
            assert _told(theirs) == _told(ours)
        self.agree("changes", scope, 5)

    @rule(scope=SCOPES, fields=RECORDS, id=IDS, at=MOMENTS)
    def duplicate(self, scope: Scope, fields: Fields, id: str, at: int) -> None:
        self.agree("duplicate", self.made(id, scope, 1, fields), at)

    # How it is done.

    def run(self, asked: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(asked)

    def both(self, verb: str, *arguments: object) -> tuple[Any, Any]:
        ours = self.run(getattr(self.oracle, verb)(*arguments))
        return ours, self.run(getattr(self.store, verb)(*arguments))

    def agree(self, verb: str, *arguments: object) -> None:
        ours, theirs = self.both(verb, *arguments)
        assert theirs == ours

    def made(self, id: str, scope: Scope, version: int, fields: Fields) -> Record:
        return Record(id=id, scope=scope, version=version, updated_at=self.clock, **fields)

    def change(self, scope: Scope, **parts: Any) -> Change:
        return Change(id=f"c{len(self.written)}", operation="try", scope=scope, at=self.clock, **parts)

    def continuable(self) -> list[Version]:
        """The newest version of every memory that is not erased."""
        return self.run(_newest(self.oracle))

    def live(self) -> list[Record]:
        return [version.record for version in self.continuable() if version.record and version.ended is None]

    def commit(self, change: Change) -> None:
        ours, theirs = self.outcomes(change)
        if isinstance(ours, int):
            assert isinstance(theirs, int), f"the store refused: {theirs}"
            self.written.append(change)
            return
        assert not isinstance(theirs, int), f"the store agreed, the oracle did not: {ours}"
        if len(change.put) + len(change.end) == 1:  # of several conflicts, any may be named
            assert theirs == ours

    def outcomes(self, change: Change) -> tuple[object, object]:
        return self.run(_outcome(self.oracle, change)), self.run(_outcome(self.store, change))

    def compare_search(self, query: Query, limit: int) -> None:
        reference: list[Scored] = self.run(self.oracle.search(query, 1000))
        found: list[Scored] = self.run(self.store.search(query, limit))
        known = {hit.record.id: hit for hit in reference}
        assert len({hit.record.id for hit in found}) == len(found) == min(limit, len(reference))
        for place, hit in enumerate(found):
            expected = known[hit.record.id]
            assert hit.record == expected.record
            assert hit.signals == pytest.approx(expected.signals, abs=CLOSE)
            assert hit.score == pytest.approx(expected.score, abs=CLOSE)
            assert hit.score == pytest.approx(reference[place].score, abs=CLOSE)
        assert found == sorted(found, key=lambda hit: (-hit.score, hit.record.id))


async def _newest(oracle: MemoryStore) -> list[Version]:
    chains = [await oracle.history(agent, name) for agent in AGENTS for name in NAMES]
    return [chain[-1] for chain in chains if chain and chain[-1].record]


async def _outcome(store: Any, change: Change) -> object:
    try:
        return int(await store.write(change))
    except Duplicate as refusal:
        return type(refusal), refusal.field, refusal.existing
    except Conflict as refusal:
        return type(refusal), refusal.field


def _in_words(version: Version) -> Version:
    """A version without what stores may number or join in their own way."""
    record = None if version.record is None else replace(version.record, recalled_at=None)
    return replace(version, record=record, began=0, ended=None if version.ended is None else 0)


def _told(footprint: Footprint | None) -> object:
    if footprint is None:
        return None
    began, ended = (
        sorted((_in_words(version) for version in versions), key=lambda v: (v.id, v.number))
        for versions in (footprint.began, footprint.ended)
    )
    return footprint.change, began, ended
