"""The checks of scope and life can fail: a store that drops one of its predicates is caught."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memorywire.index.agent_index import AgentIndex
from memorywire.index.arrays import Selection
from memorywire.index.cache import IndexCache
from memorywire.stores.contract import Store
from memorywire.stores.sqlite import reads as sqlite_filters
from memorywire.stores.sqlite.sql import QUERIES
from memorywire_testing import filters, scopes, writes
from memorywire_testing.expect import Broken
from tests.sqlite.desk import opened, run

Claim = Callable[[Store], Awaitable[None]]


def _holds(claim: Claim) -> bool:
    async def main() -> bool:
        async with opened(None) as store:
            try:
                await claim(store)
            except Broken:
                return False
            return True

    return run(main())


@pytest.mark.parametrize(
    ("predicate", "claim"),
    [
        ("tenant = :tenant", scopes.another_tenant_sees_nothing),
        ("agent = :agent", scopes.another_agent_sees_nothing),
        ("user = :user", scopes.a_user_sees_exactly_its_own),
        ("expires_at", filters.a_memory_is_dead_from_the_moment_it_expires),
        ("ended IS NULL", writes.an_ended_memory_is_gone_from_every_reader),
    ],
)
def test_a_find_without_a_predicate_is_caught(
    predicate: str, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _holds(claim)
    whole = sqlite_filters._scope_and_life

    def broken(*args: Any) -> list[str]:
        return [part for part in whole(*args) if predicate not in part]

    monkeypatch.setattr(sqlite_filters, "_scope_and_life", broken)
    assert not _holds(claim)


@pytest.mark.parametrize(
    ("query", "predicate", "claim"),
    [
        ("get", "tenant = :tenant AND", scopes.another_tenant_sees_nothing),
        ("get", "agent = :agent AND", scopes.another_agent_sees_nothing),
        ("get", "AND (:user IS NULL OR user = :user)", scopes.a_user_sees_exactly_its_own),
        ("index_live", "tenant = :tenant AND", scopes.a_crowd_of_another_tenant_does_not_hide_mine),
        ("index_live", "agent = :agent AND", scopes.a_crowd_of_another_agent_does_not_hide_mine),
        ("history", "AND record.agent = :agent", scopes.history_is_hidden_from_strangers),
    ],
)
def test_a_query_without_a_predicate_is_caught(
    query: str, predicate: str, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _holds(claim)
    assert predicate in QUERIES[query]
    monkeypatch.setitem(QUERIES, query, QUERIES[query].replace(predicate, ""))
    assert not _holds(claim)


@pytest.mark.parametrize(
    "claim",
    [
        scopes.a_crowd_of_another_user_does_not_hide_mine,
        scopes.a_crowd_of_expired_memories_does_not_hide_mine,
        scopes.a_crowd_of_archived_memories_does_not_hide_mine,
        scopes.a_crowd_of_another_type_does_not_hide_mine,
    ],
)
def test_a_search_that_filters_after_ranking_is_caught(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _holds(claim)
    monkeypatch.setattr(
        IndexCache, "choose_owner", lambda indexes, where: (where.scope.tenant, where.scope.agent, None)
    )
    monkeypatch.setattr(AgentIndex, "select", lambda index, where: Selection.of_all(len(index)))
    assert not _holds(claim)
