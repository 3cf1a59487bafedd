"""What a store adds to the contract is examined too, where it adds it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.model.change import Change, Footprint
from memorywire.model.query import Where
from memorywire.model.record import Record, Scope
from memorywire.stores.contract import Glimpse
from memorywire.stores.memory import MemoryStore
from memorywire.stores.registry import open_store
from memorywire_testing.checks import ABLE
from memorywire_testing.report import Mark, Report
from memorywire_testing.run import examine
from memorywire_testing.samples import SPACE


def _examined(kind: type[MemoryStore]) -> Report:
    async def opened() -> MemoryStore:
        return kind(SPACE)

    return asyncio.run(examine(opened, ABLE))


class Losing(MemoryStore):
    """Of many changes it keeps the first ten, and acknowledges all."""

    async def write_many(self, changes: Sequence[Change]) -> list[int | Exception]:
        kept = [await self.write(change) for change in changes[:10]]
        return [*kept, *(kept[-1] + number for number in range(1, len(changes) - 9))]


class Entangled(MemoryStore):
    """What one of many changes may not do stops those behind it."""

    async def write_many(self, changes: Sequence[Change]) -> list[int | Exception]:
        told: list[int | Exception] = []
        for change in changes:
            failed = [one for one in told if isinstance(one, Exception)]
            (one,) = failed[:1] or await asyncio.gather(self.write(change), return_exceptions=True)
            told.append(one)
        return told


class Staring(MemoryStore):
    """A glance goes through every scope."""

    async def glance(self, scope: Scope, ids: Sequence[str], name: str) -> list[Glimpse]:
        found = [chain[-1].version.record for (_, id), chain in self._chains.items() if id in ids]
        return [(one.id, one.version, one.created_at, one.expires_at, None) for one in found if one]


class Gossiping(MemoryStore):
    """Names the agents of other tenants among its own."""

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        return [pair for known, _ in self._chains for pair in await super(Gossiping, self).owners(known)]


class Nosy(MemoryStore):
    """The newest are those of all users."""

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        return await super().newest(replace(where, scope=replace(where.scope, user=None)), before, limit)


class Uncounting(MemoryStore):
    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        return [1 for _ in records]


class Talkative(MemoryStore):
    """Hands the past of every agent out to each."""

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        return [self._footprint(one) for one in self._commits.values() if one.sequence > after][:limit]


class Vectorless(MemoryStore):
    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        return [None for _ in versions]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Losing, "changes_written_together_are_each_kept"),
        (Entangled, "what_one_of_many_may_not_do_concerns_it_alone"),
        (Staring, "a_glance_tells_what_get_would_tell"),
        (Gossiping, "owners_are_those_of_the_tenant"),
        (Nosy, "the_newest_come_page_by_page_inside_the_scope"),
        (Uncounting, "recalls_are_counted"),
        (Talkative, "the_past_is_handed_out_in_order_to_its_agent_alone"),
        (Vectorless, "every_version_keeps_its_own_vector"),
    ],
)
def test_a_store_that_breaks_the_contract_with_what_it_adds_fails(
    kind: type[MemoryStore], found: str
) -> None:
    assert found in {one.check for one in _examined(kind).failures}


def test_verbs_that_a_store_does_not_have_are_skipped() -> None:
    report = _examined(MemoryStore)
    assert report.passed
    assert {one.detail for one in report.marked(Mark.SKIPPED)} == {
        "needs the methods of SupportsBulkWrite",
        "needs the methods of SupportsPeek",
    }


@pytest.mark.parametrize("scheme", ["sqlite", "graph", "markdown"])
def test_the_stores_here_keep_the_contract_with_what_they_add(scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}:///{tmp_path}/kept"
    report = asyncio.run(examine(lambda: open_store(url, space=SPACE), ABLE))
    assert [one.detail for one in report.failures] == []
