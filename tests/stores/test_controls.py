"""Stores broken on purpose: each break turns the checks red that are there to catch it."""

import asyncio

import pytest
from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import IdempotencyConflict
from memorywire.model.query import EVERYTHING, Query, Scored, Where
from memorywire.model.record import Record, Scope
from memorywire.model.space import Space
from memorywire.stores.memory import MemoryStore
from memorywire_testing.report import Mark, Report
from memorywire_testing.run import examine
from memorywire_testing.samples import SPACE


def _examined(kind: type[MemoryStore]) -> Report:
    async def opened() -> MemoryStore:
        return kind(SPACE)

    return asyncio.run(examine(opened))


class SeesEveryUser(MemoryStore):
    """The user is missing from the scope predicate."""

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await super().find(_for_all(where), after, limit)

    async def count(self, where: Where) -> int:
        return await super().count(_for_all(where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return await super().search(replace(query, where=_for_all(query.where)), limit)


class SeesEveryAgent(MemoryStore):
    """Whatever was written by anyone is listed and fetched for everyone."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.scopes: set[Scope] = set()

    async def write(self, change: Change) -> int:
        self.scopes.add(replace(change.scope, user=None))
        return await super().write(change)

    async def get(self, scope: Scope, ids: list[str]) -> list[Record]:
        return [
            record for other in self.scopes for record in await super(SeesEveryAgent, self).get(other, ids)
        ]

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        found = [
            record
            for other in self.scopes
            for record in await super(SeesEveryAgent, self).find(replace(where, scope=other), after, limit)
        ]
        return sorted(found, key=lambda record: record.id)[:limit]


class FiltersAfterTheLimit(MemoryStore):
    """The best are taken first, and then those that do not match are dropped."""

    async def search(self, query: Query, limit: int) -> list[Scored]:
        wide = replace(_for_all(query.where), filter=EVERYTHING, types=frozenset())
        best = await super().search(replace(query, where=wide), limit)
        return [hit for hit in best if query.where.matches(hit.record)]


class RecallsTheExpired(MemoryStore):
    """Liveness is missing from the predicate."""

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await super().find(replace(where, alive_at=0), after, limit)

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return await super().search(replace(query, where=replace(query.where, alive_at=0)), limit)


class TakesAnyVersion(MemoryStore):
    """A put is accepted whatever stands under its id."""

    async def write(self, change: Change) -> int:
        puts = [await self._forced(put) for put in change.put]
        return await super().write(replace(change, put=tuple(puts)))

    async def _forced(self, put: Put) -> Put:
        versions = await self.history(put.record.scope, put.record.id)
        if not versions:
            return replace(put, base=Base.NOTHING)
        base = Base.LIVE if versions[-1].ended is None else Base.ENDED
        return replace(put, base=base, record=replace(put.record, version=len(versions) + 1))


class AppliesInPieces(MemoryStore):
    """Each part of a change is a commit of its own."""

    async def write(self, change: Change) -> int:
        bare = replace(change, put=(), end=(), erase=())
        pieces = [
            *(replace(bare, erase=(id,)) for id in change.erase),
            *(replace(bare, end=(end,)) for end in change.end),
            *(replace(bare, put=(put,)) for put in change.put),
        ]
        for number, piece in enumerate(pieces):
            await super().write(replace(piece, id=f"{change.id}/{number}", key=None))
        return await super().write(bare)


class ForgetsWhatItCommitted(MemoryStore):
    """A retry is a new change."""

    async def write(self, change: Change) -> int:
        return await super().write(
            replace(change, id=f"{change.id}/{len(await self.changes(change.scope, 999))}")
        )


class OnlyHidesTheErased(MemoryStore):
    """A hard delete is a soft one."""

    async def write(self, change: Change) -> int:
        live = await self.get(change.scope, change.erase)
        ends = [End(id=record.id, version=record.version, reason=EndReason.ERASED) for record in live]
        return await super().write(replace(change, erase=(), end=(*change.end, *ends)))


class ReadsTrueAsOne(MemoryStore):
    """Booleans become numbers on the way in, as in a store without booleans."""

    async def write(self, change: Change) -> int:
        puts = [
            replace(put, record=replace(put.record, metadata=_numbers(put.record.metadata)))
            for put in change.put
        ]
        return await super().write(replace(change, put=tuple(puts)))


class OrdersByChance(MemoryStore):
    """Equal scores come in the order of writing."""

    async def search(self, query: Query, limit: int) -> list[Scored]:
        found = await super().search(query, 10_000)
        return sorted(found, key=lambda hit: (-hit.score, hit.record.id[::-1]))[:limit]


class NeverNotesARecall(MemoryStore):
    async def touch(self, scope: Scope, ids: list[str], at: int) -> None:
        return None


class HasOneKeyring(MemoryStore):
    """Idempotency keys are not told apart by agent."""

    async def write(self, change: Change) -> int:
        keys = self.__dict__.setdefault("keys", set())
        if change.key in keys:
            raise IdempotencyConflict("this key is used", field="idempotency_key")
        keys |= {change.key} - {None}
        return await super().write(change)


class LooksAtNowOnly(MemoryStore):
    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await super().find(replace(where, as_of=None), after, limit)


BREAKS: dict[type[MemoryStore], set[str]] = {
    SeesEveryUser: {
        "a_user_sees_exactly_its_own",
        "a_crowd_of_another_user_does_not_hide_mine",
        "scores_do_not_depend_on_who_shares_the_store",
        "the_past_keeps_its_scope_and_its_filters",
    },
    SeesEveryAgent: {
        "another_agent_sees_nothing",
        "another_tenant_sees_nothing",
        "the_same_id_may_live_in_two_tenants",
    },
    FiltersAfterTheLimit: {
        "filters_apply_before_the_limit",
        "a_crowd_of_another_user_does_not_hide_mine",
        "a_crowd_of_another_type_does_not_hide_mine",
        "statistics_come_from_what_the_query_may_see",
    },
    RecallsTheExpired: {
        "a_memory_is_dead_from_the_moment_it_expires",
        "a_crowd_of_expired_memories_does_not_hide_mine",
        "the_past_has_its_own_clock_for_expiry",
    },
    TakesAnyVersion: {
        "an_id_can_be_taken_once",
        "a_stale_version_cannot_be_put",
        "what_has_ended_cannot_be_revised",
        "of_concurrent_revisions_exactly_one_wins",
    },
    AppliesInPieces: {
        "a_conflicting_put_undoes_everything_beside_it",
        "one_change_cannot_say_the_same_thing_twice",
        "a_footprint_tells_what_a_change_did",
        "a_conflict_beside_it_stops_an_erasure",
    },
    ForgetsWhatItCommitted: {
        "writing_a_change_twice_changes_nothing",
        "a_change_written_twice_at_once_is_committed_once",
    },
    OnlyHidesTheErased: {
        "history_shows_that_it_was_not_what_it_said",
        "an_erased_id_never_comes_back",
        "an_erased_memory_is_gone_from_every_reader",
        "an_ended_memory_can_be_erased",
    },
    ReadsTrueAsOne: {"true_is_not_one", "numbers_keep_their_kind_and_every_digit"},
    OrdersByChance: {"ties_are_broken_by_id"},
    NeverNotesARecall: {"a_recalled_memory_is_not_idle", "readers_see_when_a_memory_was_recalled"},
    HasOneKeyring: {"agents_and_tenants_have_their_own_keys"},
    LooksAtNowOnly: {"the_past_shows_what_was_current_then", "another_agents_clock_does_not_move_my_past"},
}


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.__name__)
def test_a_broken_store_turns_the_right_checks_red(broken: type[MemoryStore]) -> None:
    red = {result.check for result in _examined(broken).failures}
    assert BREAKS[broken] <= red
    assert "content_of_64_kib_is_kept" not in red, "a break of one rule must not look like a dead store"


def test_a_sound_store_passes_everything() -> None:
    report = _examined(MemoryStore)
    assert report.passed, report.failures
    claims_no_more = {
        "needs durable",
        "needs the methods of SupportsBulkWrite",
        "needs the methods of SupportsPeek",
    }
    assert {one.detail for one in report.results if one.mark is not Mark.PASSED} == claims_no_more


class KeepsNoHistory(MemoryStore):
    features = frozenset(MemoryStore.features - {Feature.HISTORY})


def test_what_a_store_does_not_claim_is_skipped_with_the_reason() -> None:
    results = {result.check: result for result in _examined(KeepsNoHistory).results}
    assert results["every_version_is_in_the_history"].mark is Mark.SKIPPED
    assert results["every_version_is_in_the_history"].detail == "needs history"
    assert results["a_new_version_replaces_the_old_one"].mark is Mark.PASSED


class BreaksDown(MemoryStore):
    async def search(self, query: Query, limit: int) -> list[Scored]:
        raise ZeroDivisionError("no candidates")


def test_a_store_that_raises_is_a_finding_not_a_crash() -> None:
    report = _examined(BreaksDown)
    details = {result.check: result.detail for result in report.failures}
    assert str(details["words_alone_find"]).startswith("ZeroDivisionError: no candidates [search.py:")
    assert not report.passed


def _for_all(where: Where) -> Where:
    return replace(where, scope=replace(where.scope, user=None))


def _numbers(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict):
        return {name: _numbers(inner) for name, inner in value.items()}
    return [_numbers(inner) for inner in value] if isinstance(value, list) else value
