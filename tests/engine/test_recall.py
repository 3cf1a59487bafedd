"""Recall finds what answers, inside the scope and the moment, and says when nothing does."""

from datetime import UTC, datetime

import pytest

from memorywire.model.answers import Verdict
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import CapabilityUnsupported, NotFound
from tests.engine.stage import STORES, play

pytestmark = pytest.mark.parametrize("url", STORES)

FACTS = [
    "Ana prefers green tea to coffee",
    "The staging database runs Postgres 16 on port 5433",
    "Ben's daughter starts school in September",
    "The quarterly report is due on the third Friday of the month",
    "Deploys are frozen from December 20 to January 3",
]


LUNCHES = ("the first lunch", "the second lunch")


async def fill(memory):
    return {text: (await memory.remember(text)).id for text in FACTS}


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("what does Ana like to drink?", 0),
        ("which version of the database is on staging?", 1),
        ("when does Ben's child begin classes?", 2),
        ("deadline for the report every quarter", 3),
        ("are deploys allowed at Christmas?", 4),
    ],
)
def test_a_paraphrase_finds_its_fact_first(url, question, fact):
    async def story(memory, clock):
        ids = await fill(memory)
        found = await memory.recall(question)
        assert found.hits[0].id == ids[FACTS[fact]]
        assert found.verdict is not Verdict.NO_MATCH

    play(url, story)


@pytest.mark.parametrize(
    "question", ["recipe for chocolate cake", "capital of Mongolia", "how tall is the Eiffel tower?"]
)
def test_a_question_nothing_answers_gets_nothing(url, question):
    async def story(memory, clock):
        await fill(memory)
        found = await memory.recall(question)
        assert (found.hits, found.verdict) == ((), Verdict.NO_MATCH)
        assert found.stores_queried

    play(url, story)


def test_the_floor_can_be_lifted_and_raised(url):
    async def story(memory, clock):
        await fill(memory)
        assert len(await memory.recall("recipe for chocolate cake", min_relevance="off")) == 5
        assert len(await memory.recall("what does Ana like to drink?", min_relevance=1.0)) == 0

    play(url, story)


def test_explain_shows_what_was_understood_of_how_a_question_is_put(url):
    async def story(memory, clock):
        await fill(memory)
        put = await memory.recall("Can you please remind me when Ben's daughter starts school?", explain=True)
        assert put.hits[0].signals["aside"] >= 1
        past = await memory.recall("When did Ben's daughter start school?", explain=True)
        assert past.hits[0].signals["settled"] == 1.0
        plain = await memory.recall("Ben's daughter and school", explain=True)
        assert not plain.hits[0].signals.keys() & {"aside", "settled"}

    play(url, story)


def test_explain_shows_signals_the_floor_and_the_near_misses(url):
    async def story(memory, clock):
        await fill(memory)
        found = await memory.recall("what does Ana like to drink?", explain=True)
        assert {"vector", "text"} <= set(found.hits[0].signals)
        assert found.floor > 0
        assert {miss.reason for miss in found.near_misses} == {"below the relevance floor"}
        plain = await memory.recall("what does Ana like to drink?")
        assert plain.near_misses is None
        assert plain.hits[0].signals is None

    play(url, story)


def test_no_scope_sees_into_another(url):
    async def story(memory, clock):
        await memory.remember("Ana's code is 4711", user_id="ana")
        await memory.remember("Ben's code is 4712", user_id="ben")
        for_ana = await memory.recall("what is the code?", user_id="ana", min_relevance="off")
        for_nobody = await memory.recall("what is the code?", min_relevance="off")
        for_all = await memory.recall("what is the code?", scope="all", min_relevance="off")
        memory.agent_id = "another"
        for_stranger = await memory.recall("what is the code?", scope="all", min_relevance="off")
        assert [hit.content for hit in for_ana] == ["Ana's code is 4711"]
        assert len(for_nobody) == 0
        assert len(for_all) == 2
        assert len(for_stranger) == 0

    play(url, story)


def test_an_expired_memory_is_gone_to_the_millisecond(url):
    async def story(memory, clock):
        receipt = await memory.remember("The demo code is 99", expires_at=clock.now + 1000)
        clock.now += 999
        assert len(await memory.recall("demo code")) == 1
        clock.now += 1
        assert len(await memory.recall("demo code", min_relevance="off")) == 0
        assert (await memory.list()).total == 0
        with pytest.raises(NotFound):
            await memory.get(receipt.id)

    play(url, story)


def test_filters_types_and_freshness_narrow_before_the_limit(url):
    async def story(memory, clock):
        await memory.remember("tea with mint", tags=["drink"], metadata={"shop": {"city": "Porto"}})
        clock.pass_days(10)
        for n in range(50):
            await memory.remember(f"tea number {n}")
        await memory.remember("a tea party", type="episodic")
        by_tag = await memory.recall("tea", k=1, filter={"tags": "drink"})
        by_city = await memory.recall("tea", k=1, filter={"shop.city": {"prefix": "Por"}})
        by_type = await memory.recall("tea", k=1, types=["episodic"])
        fresh = await memory.recall("tea with mint", k=60, fresher_than_days=5, min_relevance="off")
        assert [hit.content for hit in by_tag] == [hit.content for hit in by_city] == ["tea with mint"]
        assert [hit.content for hit in by_type] == ["a tea party"]
        assert len(fresh) == 51

    play(url, story)


def test_the_past_can_be_asked(url):
    async def story(memory, clock):
        old = await memory.remember("Ana lives in Porto")
        before = clock.now
        clock.pass_days(1)
        await memory.remember("Ana lives in Lisbon", supersedes=old.id)
        now = await memory.recall("where does Ana live?")
        then = await memory.recall("where does Ana live?", as_of=before)
        assert [hit.content for hit in now] == ["Ana lives in Lisbon"]
        assert [hit.content for hit in then] == ["Ana lives in Porto"]

    play(url, story)


def test_yesterday_is_the_day_before_the_moment_that_is_asked_about(url):
    async def story(memory, clock):
        moments = []
        for lunch in LUNCHES:
            clock.pass_days(7)
            await memory.remember(lunch, occurred_at=clock.now - DAY_MS)
            moments.append(clock.now)
        for moment, lunch in (*zip(moments, LUNCHES, strict=True), (None, LUNCHES[1])):
            found = await memory.recall("lunch yesterday", as_of=moment, min_relevance="off", explain=True)
            assert [hit.content for hit in found if "in_time" in hit.signals] == [lunch]

    play(url, story)


def test_what_is_not_wired_is_refused_or_marked_degraded(url):
    async def story(memory, clock):
        await fill(memory)
        with pytest.raises(CapabilityUnsupported) as caught:
            await memory.recall("tea", quorum_k=2)
        assert caught.value.field == "quorum_k"
        assert (await memory.recall("tea", hops=2)).degraded == ("hops",)

    play(url, story)


def test_the_same_question_gets_the_same_answer_in_the_same_order(url):
    async def story(memory, clock):
        for n in range(40):
            await memory.remember("a note", user_id=f"user {n}")
        first = [hit.id for hit in await memory.recall("a note", k=20)]
        again = [hit.id for hit in await memory.recall("a note", k=20)]
        assert first == again == sorted(first)

    play(url, story)


@pytest.mark.parametrize(
    ("asked", "inside"),
    [
        ("the lunch between March and May 2024", 4),
        ("the lunch since June 2024", 9),
        ("the lunch before March 2024", 1),
    ],
)
def test_what_happened_inside_a_range_of_time_is_in_time(url, asked, inside):
    async def story(memory, clock):
        for month in (1, 4, 9):
            at = datetime(2024, month, 15, tzinfo=UTC)
            await memory.remember(f"lunch number {month}", occurred_at=int(at.timestamp() * 1000))
        found = await memory.recall(asked, min_relevance="off", explain=True)
        assert [hit.content for hit in found if "in_time" in hit.signals] == [f"lunch number {inside}"]

    play(url, story)


def test_a_word_is_found_behind_its_elision(url):
    async def story(memory, clock):
        await memory.remember("L'été à Nice")
        found = await memory.recall("été", min_relevance="off", explain=True)
        assert found.hits[0].signals["text"] > 0

    play(url, story)


def test_a_word_of_any_script_and_length_is_found_and_nothing_beside_it(url):
    told = {
        "🍣": "Ana loves 🍣",
        "IT": "The IT floor",
        "محمد": "مُحَمَّد يسكن هنا",
        "ชา": "ฉันชอบดื่มชาเขียว",
        "init": "__init__.py",
        "我": "我喜欢茶",
    }

    async def story(memory, clock):
        for text in (*told.values(), "ok", "Y", "it is so", "Ana loves 🍕", "กาแฟ", "咖啡"):
            await memory.remember(text)
        found = {asked: [hit.content for hit in await memory.recall(asked)] for asked in told}
        assert found == {asked: [text] for asked, text in told.items()}

    play(url, story)
