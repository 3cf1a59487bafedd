"""Short-term memory: what is worth keeping becomes a semantic memory, and what is cold is archived."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.model.errors import InvalidRequest, Refused
from memorywire.model.record import MemoryType
from memorywire.pipeline.context import Context
from memorywire.sync import Memory as Blocking
from memorywire_consolidate.short_term import SESSION, SHORT_TERM, promote
from tests.cli.shell import Shell
from tests.dreaming.scope import SCOPE, contents, memories, remember_next, run_story
from tests.dreaming.test_background import until
from tests.engine.stage import STORES, HandClock, play
from tests.http.server import serving

NOTES = ConsolidationSettings()
SAID = ("the parser is slow", "the slow parser again", "why is the parser slow")


async def note(context: Context, text: str, session: str = "s", confidence: float = 1.0) -> None:
    clock = HandClock(context.clock())
    clock.pass_days(-1)
    await remember_next(context, clock, text, tags=(SHORT_TERM,), session_id=session, confidence=confidence)


def test_what_a_session_comes_back_to_becomes_a_memory_and_the_rest_is_archived_when_it_is_old() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        for text in SAID:
            await note(context, text)
        await note(context, "lunch was soup", confidence=0.3)
        await note(context, "the parser is slow too", session="other", confidence=0.3)
        done = await promote(SCOPE, context, NOTES)
        assert len(done.promoted) >= 1
        assert done.archived == ()
        kept = [record for record in await memories(context, clock) if SHORT_TERM not in record.tags]
        assert all("parser" in str(record.content) and record.session_id == "s" for record in kept)
        assert (await promote(SCOPE, context, NOTES)).promoted == ()
        clock.pass_days(1)
        gone = await promote(SCOPE, context, NOTES)
        assert len(gone.archived) == 5 - len(done.promoted)
        assert {record.id for record in await memories(context, clock)} == {one.into for one in done.promoted}

    run_story(story)


def test_a_session_holds_so_many_notes_and_other_memories_are_left_alone() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await remember_next(context, clock, "a memory that was never a note", type=MemoryType.EPISODIC)
        for word in ("apple", "brick", "cloud"):
            await note(context, word, confidence=0.1)
        done = await promote(SCOPE, context, NOTES, session=replace(SESSION, most=2))
        assert (done.promoted, len(done.archived)) == ((), 1)
        assert len(await contents(context, clock)) == 3

    run_story(story)


async def live_through_a_week(memory: Memory, clock: HandClock) -> None:
    """Remember, of two users: a fact, a subject that comes back, and what nobody came back to."""
    await memory.remember("Ana lives in Graz", user_id="ana", id="fact")
    await memory.remember("We had soup for lunch", type="episodic", user_id="ana", confidence=0.5, id="soup")
    await memory.remember("It rained all day", type="emotional", user_id="ben", confidence=0.5, id="rain")
    clock.pass_days(3)
    for number, text in enumerate(SAID):
        await memory.remember(text, type="episodic", user_id="ana", id=f"parser-{number}", tags=["work"])


async def tell_week(memory: Memory, clock: HandClock) -> None:
    await live_through_a_week(memory, clock)
    before = (await memory.changes(1))[0].id
    rehearsed = await memory.promote(dry_run=True)
    assert (await memory.changes(1))[0].id == before
    done = await memory.promote()
    assert (await memory.changes(1))[0].id != before
    assert [one.id for one in rehearsed.promoted] == [one.id for one in done.promoted]
    assert done.promoted
    assert set(done.archived) == set(rehearsed.archived) == {"soup", "rain"}
    for one in done.promoted:
        fact = await memory.get(one.into or "")
        assert (fact.type.value, fact.derived_from, fact.tags) == ("semantic", (one.id,), ("work",))
        assert (await memory.get(one.id)).standing.value == "archived"
    assert (await memory.get("fact")).version == 1
    newest = (await memory.changes(1))[0].id
    again = await memory.promote()
    assert (again.promoted, again.archived) == ((), ())
    assert (await memory.changes(1))[0].id == newest
    found = await memory.recall("slow parser", user_id="ana", k=10)
    assert len({hit.content for hit in found}) == len(found.hits)


@pytest.mark.parametrize("url", STORES)
def test_the_newest_memories_of_a_user_are_short_term_without_a_tag(url: str) -> None:
    play(url, tell_week)


def test_a_second_round_over_unchanged_memory_leaves_the_ledger_as_it_is() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        async def entries() -> int:
            return len(await memory.audit_log(limit=500))

        await live_through_a_week(memory, clock)
        before = await entries()
        await memory.promote()
        after = await entries()
        assert after > before
        for _ in range(3):
            await memory.promote()
        assert await entries() == after
        clock.pass_days(30)
        await memory.promote()  # what was left has grown cold
        settled = await entries()
        await memory.promote()
        assert await entries() == settled

    play("sqlite://", story)


def test_what_a_person_takes_back_is_not_done_again() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await live_through_a_week(memory, clock)
        await memory.promote()
        for change in await memory.changes(50):
            if change.operation == "forget":
                await memory.undo(change.id)
        newest = (await memory.changes(1))[0].id
        assert (await memory.get("soup")).standing.value == "active"
        await memory.promote()
        assert (await memory.changes(1))[0].id == newest

    play("sqlite://", story)


def test_pinned_untrusted_and_old_memories_stay_as_they_are() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.remember("The first launch failed", type="episodic", id="old", confidence=0.2)
        clock.pass_days(1)
        await memory.remember("Soup for lunch", type="episodic", id="pinned", pinned=True, confidence=0.2)
        clock.pass_days(3)
        for number, text in enumerate(SAID):
            await memory.remember(text, type="episodic", id=f"web-{number}", trust="untrusted")
        done = await memory.promote(window=4)
        assert (done.memories, done.promoted, done.archived) == (4, (), ())

    play("sqlite://", story)


def test_what_a_rule_holds_waits_for_a_person_once(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "open"\n[[rule]]\nname = "look"\nverdict = "hold"\noperation = ["forget"]\n',
        encoding="utf-8",
    )

    async def story(memory: Memory, clock: HandClock) -> None:
        await live_through_a_week(memory, clock)
        first = await memory.promote()
        assert (set(first.staged), first.archived) == ({"soup", "rain"}, ())
        waiting = (await memory.proposals()).total
        again = await memory.promote()
        assert (again.staged, again.promoted, (await memory.proposals()).total) == ((), (), waiting)

    play("sqlite://", story, policy=str(policy))


def test_what_a_rule_refuses_is_refused_without_a_line_in_the_ledger(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "open"\n[[rule]]\nname = "never"\nverdict = "refuse"\ntype = ["semantic"]\n',
        encoding="utf-8",
    )

    async def story(memory: Memory, clock: HandClock) -> None:
        for text in SAID:
            await memory.remember(text, type="episodic")
        before = len(await memory.audit_log(limit=500))
        done = await memory.promote()
        assert (done.promoted, len(done.refused) > 0) == ((), True)
        assert len(await memory.audit_log(limit=500)) == before

    play("sqlite://", story, policy=str(policy))


def test_the_background_task_of_a_memory_promotes_until_it_is_closed() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await live_through_a_week(memory, clock)
        work = await memory.start_consolidation(every=0.1)
        await until(lambda: work.promotion.ended_at is not None)
        assert (work.promotion.problem, work.promotion.agents) == (None, 1)
        assert work.promotion.done >= 1
        tasks = len(asyncio.all_tasks())
        await memory.stop_consolidation()
        assert len(asyncio.all_tasks()) == tasks - 1
        assert (await memory.get("soup")).standing.value == "archived"

    play("sqlite://", story)


def test_the_blocking_client_promotes_too_and_a_wrong_field_is_named(tmp_path: Path) -> None:
    with Blocking("agent", f"sqlite://{tmp_path}/memory.db", policy="open") as memory:
        for text in SAID:
            memory.remember(text, type="episodic")
        for field, call in (
            ("window", lambda: memory.promote(window=-1)),
            ("window", lambda: memory.promote(window=True)),
            ("dry_run", lambda: memory.promote(dry_run="yes")),
            ("every", lambda: memory.start_consolidation(every=0)),
            ("window", lambda: memory.start_consolidation(window=2.5)),
        ):
            with pytest.raises(InvalidRequest) as refusal:
                call()
            assert refusal.value.field == field
        assert memory.start_consolidation(every=60).promotion.ended_at is None
        assert memory.promote(window=10).promoted
    url = f"sqlite://{tmp_path}/memory.db"
    with Blocking("agent", url, caller="agent:a") as memory, pytest.raises(Refused):
        memory.promote()


def test_over_http_only_who_manages_promotes() -> None:
    with serving() as server:
        admin = server.operator("boss", role="admin")
        for text in SAID:
            payload = {"agent_id": "a", "type": "episodic", "content": text}
            assert admin.post("/v0/remember", payload).status == 200
        for role in ("reader", "writer", "reviewer", "agent"):
            assert server.operator(role, role=role).post("/v0/promote", {"agent_id": "a"}).status == 403
        for field, body in (
            ("agent_id", {}),
            ("window", {"agent_id": "a", "window": -1}),
            ("window", {"agent_id": "a", "window": 1001}),
            ("dry_run", {"agent_id": "a", "dry_run": "yes"}),
        ):
            refusal = admin.post("/v0/promote", body)
            assert (refusal.status, refusal.json["field"]) == (422, field)
        assert admin.post("/v0/promote", {"agent_id": "a", "window": 0}).json["memories"] == 0
        answer = admin.post("/v0/promote", {"agent_id": "a"}).json
        assert answer["memories"] == len(SAID)
        assert answer["promoted"]


def test_the_command_promotes_once(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for text in SAID:
        shell("remember", text, "--type", "episodic")
    rehearsed = shell("dream", "promote", "--dry-run", "--json").json
    assert rehearsed["promoted"]
    done = shell("dream", "promote")
    assert "3 short-term memories: promoted" in done.out
    assert shell("dream", "promote", "--json").json["promoted"] == []
    assert shell("dream", "promote", "--window", "1001").code == 2
