"""Random histories: a store and the oracle get the same changes and must give the same answers.

The seed determines everything, so a difference can be reproduced.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import Conflict
from memorywire.model.query import Query, Where
from memorywire.model.record import MemoryType, Record, Scope, Standing
from memorywire.stores.contract import Store
from memorywire.stores.memory import MemoryStore
from memorywire_testing.expect import Broken, same
from memorywire_testing.report import Report, attempt
from memorywire_testing.samples import NOW, SPACE, a_name, a_vector

GROUP = "oracle"
STEPS = 200

_MEMORIES = 9
_USERS = (None, None, "ana", "ben")
_WORDS = (
    "zebra crossing",
    "a blue kettle",
    "the zebra ran to the kettle",
    "東京で会議",
    "",
    "nothing of this",
)
_VECTORS = (None, a_vector(1), a_vector(1, 1), a_vector(0, 1, 0.2), a_vector(-1, 0.3))
_ENDS = (EndReason.FORGOTTEN, EndReason.SUPERSEDED, EndReason.EXPIRED)


class _Life(Struct):
    """One random history: the store, the oracle, the random generator and the clock."""

    store: Store
    dice: np.random.Generator
    agent: str = field(default_factory=lambda: a_name("agent"))
    oracle: MemoryStore = field(default_factory=lambda: MemoryStore(SPACE))
    changes: int = 0
    now: int = NOW

    @property
    def names(self) -> tuple[str, ...]:
        """Few ids, so that changes collide; each id belongs to one agent of a tenant."""
        return tuple(f"{self.agent}-m{number}" for number in range(_MEMORIES))

    def one_of(self, choices: Any) -> Any:
        return choices[int(self.dice.integers(len(choices)))]

    def scope(self) -> Scope:
        return Scope(agent=self.agent, user=self.one_of(_USERS))

    async def step(self) -> None:
        self.now += int(self.dice.integers(0, 5))
        await self.one_of((self.begin, self.begin, self.revise, self.end, self.erase, self.look, self.look))()

    async def begin(self) -> None:
        record = self._record(self.one_of(self.names), self.scope(), 1)
        vector, unique = self.one_of(_VECTORS), bool(self.dice.integers(2))
        put = Put(record=record, base=Base.NOTHING, vector=vector, unique=unique)
        await self._change(record.scope, put=(put,))

    async def revise(self) -> None:
        for old in await self._some():
            new = self._record(old.id, old.scope, old.version + 1)
            put = Put(record=new, base=Base.LIVE, vector=self.one_of(_VECTORS))
            await self._change(old.scope, put=(put,))

    async def end(self) -> None:
        for old in await self._some():
            stale = int(self.dice.integers(0, 4) == 0)
            end = End(id=old.id, version=old.version + stale, reason=self.one_of(_ENDS))
            await self._change(old.scope, end=(end,))

    async def erase(self) -> None:
        if self.dice.integers(5) == 0:
            await self._change(self.scope(), erase=(self.one_of(self.names),))

    async def look(self) -> None:
        """Call every reading method of both stores with the same arguments, and compare the answers."""
        scope, after = self.scope(), self.one_of((None, *self.names))
        where = Where(scope=scope, alive_at=self.now, standings=self.one_of(_STANDINGS))
        same(await self.store.get(scope, self.names), await self.oracle.get(scope, self.names))
        same(await self.store.find(where, after, 5), await self.oracle.find(where, after, 5))
        same(await self.store.count(where), await self.oracle.count(where))
        query = Query(where=where, text=self.one_of(_WORDS), vector=self.one_of(_VECTORS))
        results = await self.store.search(query, _MEMORIES)
        expected = await self.oracle.search(query, _MEMORIES)
        same(
            sorted((hit.record.id, hit.record.version) for hit in results),
            sorted((hit.record.id, hit.record.version) for hit in expected),
        )

    def _record(self, id: str, scope: Scope, version: int) -> Record:
        return Record(
            id=id,
            scope=scope,
            version=version,
            type=self.one_of(list(MemoryType)),
            content=self.one_of(_WORDS),
            created_at=self.now,
            updated_at=self.now,
            metadata=self.one_of(({}, {"k": 1}, {"k": True}, {"k": ["a", None]})),
            expires_at=self.one_of((None, None, self.now + 20)),
            standing=self.one_of(list(Standing)),
        )

    async def _some(self) -> list[Record]:
        """Return one live memory, or none."""
        results = await self.oracle.get(Scope(agent=self.agent), self.names)
        return [self.one_of(results)] if results else []

    async def _change(self, scope: Scope, **parts: Any) -> None:
        self.changes += 1
        change = Change(
            id=f"{self.agent}-{self.changes}", operation="live", scope=scope, at=self.now, **parts
        )
        ours, theirs = await _try_write(self.oracle, change), await _try_write(self.store, change)
        if ours != theirs:
            raise Broken(
                f"change {self.changes}: the oracle says {ours or 'yes'}, the store {theirs or 'yes'}"
            )
        # Only sometimes, because a repeated write would hide a lost change.
        if ours is None and self.dice.integers(4) == 0:
            same(await _try_write(self.store, replace(change)), None)


_STANDINGS = (frozenset(Standing), frozenset({Standing.ACTIVE, Standing.DEMOTED}))


async def _try_write(store: Store, change: Change) -> str | None:
    try:
        await store.write(change)
    except Conflict as refusal:
        return type(refusal).__name__
    return None


async def live(open_store: Callable[[], Any], *, seed: int, lives: int = 3, steps: int = STEPS) -> Report:
    """Run `lives` random histories of `steps` steps; each is one result."""
    results = []
    name = "unknown"
    for number in range(lives):
        store = await open_store()
        name = store.name

        async def run(store: Store = store, number: int = number) -> None:
            life = _Life(store=store, dice=np.random.default_rng((seed, number)))
            for _ in range(steps):
                await life.step()

        try:
            results.append(await attempt(f"life_{seed}_{number}", run, GROUP))
        finally:
            await store.close()
    return Report(store=name, results=tuple(results))
