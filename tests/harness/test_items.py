"""Items as an agent harness writes and reads them, over the stores it knows and over none it knows."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.app import Several
from memorywire.client.harness import Found, MemoryItem, Ranking, Status
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.search.embed import open_embedder
from memorywire.search.reference import cosine, floats
from memorywire.stores.router import Kind, by_rules, learned
from memorywire.sync import Memory as BlockingMemory
from tests.engine.stage import HandClock, one_rule

A = TypeVar("A")
Story = Callable[[Memory, HandClock], Awaitable[A]]
ITEM = MemoryItem(
    id="mem_8f2a1c",
    content="Forward Windows env vars into WSL login shells via WSLENV.",
    created_at=1_781_648_045_000,
    session="sess_2026-06-16_a",
    relevancy=0.82,
    source="agent_step",
    tags=("wsl", "env", "secrets"),
)


def play(story: Story[A], stores: Sequence[str] = ("sqlite://",), **options: Any) -> A:
    async def run() -> A:
        clock = HandClock(1_790_000_000_000)
        given = {"policy": "open", **options}
        async with Memory("agent", stores, clock=clock, **given) as memory:
            return await story(memory, clock)

    return asyncio.run(run())


@pytest.fixture(params=["sqlite", "graph", "markdown", "all of them"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    kinds = ["sqlite", "graph", "markdown"] if request.param == "all of them" else [request.param]
    return [f"{kind}://{tmp_path}/{kind}" for kind in kinds]


def _journal(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/journal.db"


def test_an_item_comes_back_as_it_was_written_and_says_who_holds_it(
    stores: list[str], tmp_path: Path
) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        harness = memory.harness
        assert await harness.write(ITEM) == ITEM.id
        held_by = tuple(url.partition(":")[0] for url in stores)
        kept = replace(ITEM, backends=held_by)
        assert await harness.get("mem_8f2a1c") == kept
        assert [item async for item in harness.all()] == [kept]
        assert [found.item for found in await harness.search("WSL environment")] == [kept]
        await harness.delete("mem_8f2a1c")
        await harness.delete("mem_8f2a1c")
        assert await harness.get("mem_8f2a1c") is None
        assert [item async for item in harness.all()] == []

    play(story, stores, journal=_journal(tmp_path))


def test_on_the_disk_it_is_a_sheet_of_markdown_with_its_front_matter(tmp_path: Path) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.harness.write(ITEM)

    play(story, [f"markdown://{tmp_path}/notes"], journal=_journal(tmp_path))
    (sheet,) = (tmp_path / "notes").rglob("*.md")
    text = sheet.read_text(encoding="utf-8")
    for line in ("id: mem_8f2a1c", "session: sess_2026-06-16_a", "relevancy: 0.82", "status: active"):
        assert line in text.splitlines()
    assert text.endswith(f"{ITEM.content}\n")


def test_writing_again_changes_nothing_and_writing_otherwise_makes_a_version() -> None:
    async def story(memory: Memory, clock: HandClock) -> tuple[int, int]:
        id = await memory.harness.write(ITEM)
        await memory.harness.write(ITEM)
        await memory.harness.write(replace(ITEM, created_at=None))
        before = (await memory.get(id)).version
        await memory.harness.write(replace(ITEM, relevancy=0.5))
        assert await memory.harness.get(id) == replace(ITEM, relevancy=0.5, backends=("sqlite",))
        return before, (await memory.get(id)).version

    assert play(story) == (1, 2)


def test_an_item_without_an_id_is_given_one_and_the_same_words_keep_theirs() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        harness = memory.harness
        id = await harness.write(MemoryItem(content="the sky is blue"))
        assert await harness.write(MemoryItem(content="the sky is blue")) == id
        item = await harness.get(id)
        assert item is not None
        assert (item.created_at, item.relevancy) == (clock.now, 1.0)

    play(story)


def test_what_is_superseded_is_read_as_such_and_found_no_more() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        harness = memory.harness
        old = await harness.write(MemoryItem(content="the office is in Porto"))
        new = await harness.write(MemoryItem(content="the office is in Lisbon", supersedes=old))
        assert [found.item.id for found in await harness.search("where is the office?")] == [new]
        was, is_ = await harness.get(old), await harness.get(new)
        assert was is not None
        assert is_ is not None
        assert (was.status, is_.status, is_.supersedes) == (Status.SUPERSEDED, Status.ACTIVE, old)
        await harness.write(replace(is_, relevancy=0.4))
        again = await harness.get(new)
        assert again is not None
        assert (again.relevancy, again.supersedes) == (0.4, old)
        with pytest.raises(NotFound):
            await harness.write(MemoryItem(content="the office is in Faro", supersedes="nobody"))

    play(story)


def test_what_is_blacklisted_is_kept_and_never_found_by_any_door() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        harness = memory.harness
        id = await harness.write(MemoryItem(content="always push with force"))
        item = await harness.get(id)
        assert item is not None
        assert await harness.search("how to push?")
        await harness.write(replace(item, status=Status.BLACKLISTED))
        await harness.write(replace(item, status=Status.BLACKLISTED))
        assert (await harness.get(id), (await memory.get(id)).version) == (
            replace(item, status=Status.BLACKLISTED),
            2,
        )
        assert [one.status async for one in harness.all()] == [Status.BLACKLISTED]
        assert await harness.search("how to push?") == []
        assert not (await memory.recall("how to push?")).hits
        await harness.write(item)
        assert (await memory.recall("how to push?")).hits

    play(story)


def test_what_is_blacklisted_when_it_is_written_never_answers_also_when_a_person_agrees(
    tmp_path: Path,
) -> None:
    policy = one_rule(tmp_path, "hold", content_contains=["force"])

    async def story(memory: Memory, clock: HandClock) -> None:
        barred = MemoryItem(content="always push with force", status=Status.BLACKLISTED)
        id = await memory.harness.write(barred)
        assert await memory.harness.get(id) is None
        (waiting,) = (await memory.proposals()).items
        await memory.decide(waiting.id, "approve")
        kept = await memory.harness.get(id)
        assert kept is not None
        assert kept.status is Status.BLACKLISTED
        assert not (await memory.recall("how to push?", min_relevance="off")).hits
        other = await memory.harness.write(replace(barred, content="always push on Fridays"))
        assert (await memory.get(other)).version == 1
        assert not (await memory.recall("how to push?", min_relevance="off")).hits

    play(story, policy=policy)


def test_an_item_that_others_wrote_keeps_its_end_and_what_it_had_besides() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        links = {"depends_on": ["x"]}
        end = clock.now + 60_000
        old = await memory.remember("the office is in Porto")
        told = await memory.remember("the office moves", metadata={"links": links, "n": 1}, expires_at=end)
        item = await memory.harness.get(told.id)
        assert item is not None
        await memory.harness.write(replace(item, relevancy=0.5, supersedes=old.id))
        record = await memory.get(told.id)
        assert (record.content, record.expires_at, record.confidence) == ("the office moves", end, 0.5)
        given = {name: value for name, value in record.metadata.items() if name != "fact"}
        assert given == {"n": 1, "links": {**links, "supersedes": [old.id]}}
        assert record.occurred_at is None
        clock.now = end
        assert await memory.harness.get(told.id) is None

    play(story)


@pytest.mark.parametrize(
    "moment",
    ["2026-06-16T22:14:05Z", "2026-06-17T00:14:05+02:00", datetime(2026, 6, 16, 22, 14, 5, tzinfo=UTC)],
)
def test_an_item_takes_its_time_as_iso_8601_or_as_a_datetime(moment: str | datetime) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        written = replace(ITEM, created_at=moment)
        id = await memory.harness.write(written)
        item = await memory.harness.get(id)
        assert item is not None
        assert item.created_at == 1_781_648_045_000
        await memory.harness.write(written)
        assert (await memory.get(id)).version == 1

    play(story)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("relevancy", 1.5),
        ("created_at", "in June"),
        ("created_at", "2026-06-16T22:14:05"),
        ("created_at", -1),
        ("session", "x" * 300),
        ("content", ""),
    ],
)
def test_a_problem_of_an_item_names_the_field_of_the_item(name: str, value: object) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest, match=name) as caught:
            await memory.harness.write(MemoryItem(**{"content": "tea", name: value}))
        assert caught.value.field == name
        assert [item async for item in memory.harness.all()] == []

    play(story)


@pytest.mark.parametrize("url", ["memory://", "sqlite://"])
def test_all_items_are_listed_also_the_superseded_ones_until_they_are_erased(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> list[dict[str | None, str]]:
        harness, seen = memory.harness, []

        async def look() -> None:
            seen.append({item.id: item.status.value async for item in harness.all()})

        await harness.write(MemoryItem(id="b", content="the office is in Porto"))
        newer = await memory.remember("the office is in Lisbon", id="a", supersedes="b")
        await harness.write(MemoryItem(id="c", content="tea is green"))
        await harness.delete("c")
        await look()
        assert newer.change_id is not None
        await memory.undo(newer.change_id)
        await look()
        await harness.write(MemoryItem(id="d", content="the office is in Faro", supersedes="b"))
        await memory.forget(["b"], hard_delete=True)
        await look()
        return seen

    assert play(story, [url]) == [
        {"a": "active", "b": "superseded"},
        {"b": "active"},
        {"d": "active"},
    ]


def test_links_that_are_none_do_no_harm() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        for number, links in enumerate(("text", {"supersedes": 5}, {"supersedes": [1, "x"]})):
            await memory.remember(f"tea number {number}", metadata={"links": links})
        assert [item.supersedes async for item in memory.harness.all()] == [None, None, "x"]

    play(story)


def test_the_score_is_recency_and_cosine_by_their_weights() -> None:
    words = ["the deploy runs on Tuesday", "the deploy runs at noon on Tuesday", "a red fox"]
    ranking = Ranking(w_r=0.5, w_s=0.5, tau_days=10)

    async def story(memory: Memory, clock: HandClock) -> list[Found]:
        for content in words:
            await memory.harness.write(MemoryItem(content=content, relevancy=0.8))
            clock.pass_days(5)
        return await memory.harness.ranked(ranking).search("when does the deploy run?")

    found = play(story)
    asked, *vectors = asyncio.run(open_embedder("minilm").embed(["when does the deploy run?", *words]))
    assert {one.item.content for one in found} == set(words)
    assert [one.rank for one in found] == [0, 1, 2]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        place = words.index(one.item.content)
        recency = math.exp(-(15 - 5 * place) / 10)
        alike = cosine(floats(asked), floats(vectors[place]))
        assert one.score == pytest.approx(0.5 * recency + 0.5 * alike, abs=2e-3)
        assert one.relevancy == pytest.approx(0.8 * recency)


def test_recency_alone_puts_the_newest_first_and_likeness_alone_the_nearest() -> None:
    async def story(memory: Memory, clock: HandClock) -> tuple[str, str]:
        for content in ("the deploy runs on Tuesday", "a red fox"):
            await memory.harness.write(MemoryItem(content=content))
            clock.pass_days(1)
        by_time = await memory.harness.ranked(Ranking(w_r=1, w_s=0)).search("when does the deploy run?")
        by_words = await memory.harness.ranked(Ranking(w_r=0, w_s=1)).search("when does the deploy run?")
        return by_time[0].item.content, by_words[0].item.content

    assert play(story) == ("a red fox", "the deploy runs on Tuesday")


@pytest.mark.parametrize(
    ("weights", "field"),
    [
        ({"tau_days": 0}, "tau_days"),
        ({"tau_days": math.inf}, "tau_days"),
        ({"tau_days": math.nan}, "tau_days"),
        ({"w_r": -0.1}, "w_r"),
        ({"w_s": math.nan}, "w_s"),
        ({"w_s": 1e308}, "w_s"),
    ],
    ids=["no time", "for ever", "no number", "negative", "not a weight", "too heavy"],
)
def test_weights_that_order_nothing_are_refused(weights: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Ranking(**weights)
    assert caught.value.field == field


def test_rules_and_what_was_learned_route_a_search_behind_the_same_signature(tmp_path: Path) -> None:
    async def story(memory: Memory, clock: HandClock) -> dict[str, tuple[str, ...]]:
        await memory.harness.write(ITEM)
        questions = ("what is related to WSL?", '"WSLENV"', "why do shells lack variables?")
        return {text: (await memory.harness.search(text))[0].item.backends for text in questions}

    stores = [f"{kind}://{tmp_path}/{kind}" for kind in ("sqlite", "graph", "markdown")]
    told = play(story, stores, several=Several(route=by_rules, deadline=60))
    assert list(told.values()) == [("graph",), ("markdown",), ("sqlite",)]
    (vector,) = asyncio.run(open_embedder("minilm").embed(["why?"]))
    always = learned([(vector, Kind.RELATIONSHIP)])
    again = play(story, stores, several=Several(route=always, deadline=60))
    assert set(again.values()) == {("graph",)}


@pytest.mark.parametrize(
    ("unfit", "field"),
    [
        (replace(ITEM, status=Status.SUPERSEDED), "status"),
        (replace(ITEM, backends=("nowhere",)), "backends"),
        (replace(ITEM, relevancy=1.5), "relevancy"),
        (replace(ITEM, content=""), "content"),
    ],
    ids=["superseded", "backends", "relevancy", "content"],
)
def test_what_no_memory_can_be_is_refused_before_anything_is_kept(unfit: MemoryItem, field: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest) as refused:
            await memory.harness.write(unfit)
        assert refused.value.field == field
        assert [item async for item in memory.harness.all()] == []
        assert await memory.harness.write(ITEM)

    play(story)


def test_the_items_of_two_users_never_meet() -> None:
    async def run() -> None:
        async with Memory("agent", ["memory://"], policy="open") as memory:
            await memory.remember("Ana likes tea", user_id="ana", id="hers")
            memory.user_id = "ben"
            await memory.harness.write(MemoryItem(content="Ben likes tea", id="his"))
            assert await memory.harness.get("hers") is None
            assert [one.item.id for one in await memory.harness.search("tea")] == ["his"]
            await memory.harness.delete("hers")
            memory.user_id = None
            assert [item.id async for item in memory.harness.all()] == ["hers", "his"]

    asyncio.run(run())


def test_code_without_an_event_loop_has_the_same_verbs() -> None:
    with BlockingMemory("agent", ["memory://"]) as memory:
        id = memory.harness.write(ITEM)
        assert memory.harness.get(id) == replace(ITEM, backends=("memory",))
        assert [found.item.id for found in memory.harness.search("WSL")] == [id]
        (timely,) = memory.harness.ranked(Ranking(w_r=0, w_s=0)).search("WSL")
        assert timely.score == 0
        assert [item.id for item in memory.harness.all()] == [id]
        memory.harness.delete(id)
        assert memory.harness.get(id) is None
