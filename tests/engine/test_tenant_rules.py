"""Rules belong to a tenant: what one gives, counts and names, another neither sees nor meets."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from memorywire import Memory
from memorywire.journal.opening import bring_up_to_date
from memorywire.journal.sqlite import SqliteSession
from memorywire.model.errors import InvalidRequest
from memorywire.stores.document import migrations
from tests.engine.quick import Quick

HOLD = {"name": "salaries", "verdict": "hold", "content_contains": ["salary"]}
REFUSE = {"name": "salaries", "verdict": "refuse", "content_contains": ["budget"]}
SAID = "The salary is due"


def on(path: Path, story: Callable[[Memory, Memory, Memory], Awaitable[None]]) -> None:
    """Run a story with the default tenant and two others on one file."""

    async def run() -> None:
        url = f"sqlite:///{path}/shared.db"
        async with (
            Memory("agent", [url], embedder=Quick(), caller="operator:root") as container,
            Memory("agent", [url], embedder=Quick(), tenant="acme", caller="operator:ana") as acme,
            Memory("agent", [url], embedder=Quick(), tenant="beta", caller="operator:ben") as beta,
        ):
            await story(container, acme, beta)

    asyncio.run(run())


def test_two_tenants_change_their_rules_at_once_under_the_same_name(tmp_path: Path) -> None:
    async def story(container: Memory, acme: Memory, beta: Memory) -> None:
        one, other = await asyncio.gather(
            acme.set_rules([HOLD], if_edition=0), beta.set_rules([REFUSE], if_edition=0)
        )
        assert (one.edition, other.edition) == (1, 1)
        assert (one.given, other.given) == ((HOLD,), (REFUSE,))
        assert [edition.by for edition in one.editions] == ["operator:ana"]
        assert (await container.rules()).editions == ()
        assert (await acme.remember(SAID)).rule == "salaries"
        assert (await beta.remember(SAID)).status == "committed"
        assert (await container.remember(SAID)).status == "committed"

    on(tmp_path, story)


def test_rules_of_the_default_tenant_judge_every_tenant_first(tmp_path: Path) -> None:
    async def story(container: Memory, acme: Memory, beta: Memory) -> None:
        await container.set_rules([HOLD])
        await acme.set_rules([{"name": "salaries", "verdict": "allow", "everything": True}])
        for memory in (container, acme, beta):
            assert (await memory.remember(SAID)).status == "staged"
        assert (await acme.rules()).edition == 1
        assert (await beta.rules()).given == ()
        with pytest.raises(InvalidRequest, match="more than this tenant"):
            await acme.set_rules([{**HOLD, "tenant": ["beta"]}])

    on(tmp_path, story)


def test_rules_from_the_list_that_all_tenants_shared_stay_in_force_and_can_be_changed(tmp_path: Path) -> None:
    async def story(container: Memory, acme: Memory, beta: Memory) -> None:
        await container.set_rules([{**HOLD, "tenant": ["acme"]}])
        assert [rule["name"] for rule in (await acme.rules()).given] == ["salaries"]
        assert (await beta.rules()).given == ()
        assert (await acme.remember(SAID)).status == "staged"
        await acme.set_rules([])
        assert (await acme.remember("The other salary is due")).status == "committed"

    on(tmp_path, story)


def test_editions_of_an_earlier_release_become_those_of_the_default_tenant() -> None:
    scripts = migrations("memorywire.journal.sqlite")
    number = next(number for number, script in scripts if "edition_of_tenant" in script)
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE journal_version (number INTEGER NOT NULL) STRICT")
    db.execute("INSERT INTO journal_version VALUES (?)", (number - 1,))
    for earlier, script in scripts:
        if earlier < number:
            db.execute(script)
    db.execute("INSERT INTO edition VALUES (3, 7, 'ana', '[]')")
    db.execute("INSERT INTO ruled VALUES ('rule', 'change', 'acme', 'agent', NULL)")
    bring_up_to_date(SqliteSession(db))
    editions = "SELECT tenant, number, at, by, rules FROM edition"
    assert list(db.execute(editions)) == [("default", 3, 7, "ana", "[]")]
    assert list(db.execute("SELECT tenant, rule, change FROM ruled")) == [("acme", "rule", "change")]


@pytest.mark.parametrize("governed", [True, False])
def test_a_key_of_another_user_neither_conflicts_nor_replays(governed: bool) -> None:
    async def story() -> None:
        policy = "balanced" if governed else None
        async with Memory("agent", ["sqlite://"], embedder=Quick(), policy=policy) as memory:
            first = await memory.remember("Ana pays", user_id="ana", idempotency_key="k")
            other = await memory.remember("Ben pays", user_id="ben", idempotency_key="k")
            assert (first.status, other.status) == ("committed", "committed")
            again = await memory.remember("Ben pays", user_id="ben", idempotency_key="k")
            assert again.id == other.id

    asyncio.run(story())
