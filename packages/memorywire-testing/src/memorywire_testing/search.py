"""Checks of ranking by vector and by text, and of absolute scores."""

import math

from memorywire.model.capabilities import Feature
from memorywire.model.change import Base, Put
from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, MemoryType, Record, Scope, Standing
from memorywire.search.relevance import evidence, idf, relevance, saturation
from memorywire.stores.contract import Store
from memorywire_testing.expect import close_to, holds, requires, same
from memorywire_testing.samples import (
    NOW,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    by_id,
    compare,
    ids,
    keep,
    keep_new,
    records,
    revising,
)


async def _remember_all(store: Store, *contents: str) -> tuple[Scope, list[Record]]:
    """Write one memory per content, without vectors, so that only words count."""
    scope = a_scope()
    memories = [a_record(scope, content) for content in contents]
    await keep(store, *memories)
    return scope, memories


async def _find_best(store: Store, scope: Scope, text: str) -> Scored:
    (hit,) = await store.search(a_query(scope, text), 1)
    return hit


@requires(Feature.VECTOR)
async def nearer_vectors_rank_higher(store: Store) -> None:
    scope = a_scope()
    leanings = {"here": (1, 0), "near": (1, 0.2), "off": (1, 1), "far": (0.1, 1), "across": (-1, 0)}
    memories = {name: a_record(scope, name) for name in leanings}
    puts = [beginning(memories[name], a_vector(*leaning)) for name, leaning in leanings.items()]
    await store.write(a_change(scope, *puts[::-1]))
    results = await store.search(a_query(scope, "", a_vector(1)), 10)
    same([hit.record.content for hit in results], list(leanings))
    for hit, cosine in zip(results, (1, 0.981, 0.707, 0.0995, -1), strict=True):
        close_to(hit.signals["vector"], cosine)


@requires(Feature.VECTOR)
async def a_new_vector_replaces_the_old_one(store: Store) -> None:
    record, other = records(a_scope(), 2)
    await keep(store, record, other, vector=a_vector(1))
    newer = revising(record, content="elsewhere")
    await store.write(a_change(record.scope, Put(record=newer.record, base=Base.LIVE, vector=a_vector(0, 1))))
    results = await store.search(a_query(record.scope, "", a_vector(0, 1)), 10)
    same(ids(results), [record.id, other.id])
    close_to(results[0].signals["vector"], 1)


@requires(Feature.VECTOR)
async def a_vector_is_carried_over_when_asked(store: Store) -> None:
    record = await keep_new(store, vector=a_vector(1, 2))
    memories = revising(record, confidence=0.5)
    await store.write(a_change(record.scope, Put(record=memories.record, base=Base.LIVE, like=1)))
    (hit,) = await store.search(a_query(record.scope, "", a_vector(1, 2)), 10)
    close_to(hit.signals["vector"], 1)


@requires(Feature.FTS, Feature.VECTOR)
async def a_memory_without_vector_is_found_by_its_words(store: Store) -> None:
    scope = a_scope()
    wordy, plain = a_record(scope, "zebra crossing"), a_record(scope, "kettle")
    await store.write(a_change(scope, beginning(wordy), beginning(plain, a_vector(0, 1))))
    results = await store.search(a_query(scope, "zebra crossing", a_vector(1)), 10)
    same(ids(results), [wordy.id, plain.id])
    same(results[0].signals["vector"], 0.0)


@requires(Feature.FTS)
async def words_alone_find(store: Store) -> None:
    scope, memories = await _remember_all(store, "the zebra ran", "a blue kettle", "rain in May")
    hit = await _find_best(store, scope, "blue kettles")
    same(hit.record, memories[1])
    same(hit.signals["vector"], 0.0)


@requires(Feature.VECTOR)
async def a_vector_alone_finds(store: Store) -> None:
    scope = a_scope()
    near, far = records(scope, 2)
    await store.write(a_change(scope, beginning(far, a_vector(0, 1)), beginning(near, a_vector(1, 0.1))))
    results = await store.search(a_query(scope, "", a_vector(1)), 10)
    same(ids(results), [near.id, far.id])
    same([hit.signals["text"] for hit in results], [0.0, 0.0])


@requires(Feature.FTS, Feature.VECTOR)
async def words_and_meaning_add_up(store: Store) -> None:
    scope = a_scope()
    both, meaning, words = a_record(scope, "zebra"), a_record(scope, "kettle"), a_record(scope, "a zebra")
    puts = (beginning(words, a_vector(0, 1)), beginning(meaning, a_vector(1)), beginning(both, a_vector(1)))
    await store.write(a_change(scope, *puts))
    results = await store.search(a_query(scope, "zebra", a_vector(1)), 10)
    same(results[0].record.id, both.id)
    holds(results[0].score > max(hit.score for hit in results[1:]), "two signals are worth no more than one")


@requires(Feature.FTS, Feature.VECTOR)
async def a_score_is_the_relevance_of_its_signals(store: Store) -> None:
    scope = a_scope()
    memories = [a_record(scope, "zebra crossing"), a_record(scope, "zebra"), a_record(scope, "kettle")]
    leanings = (a_vector(1), a_vector(1, 1), a_vector(-1))
    await store.write(a_change(scope, *(beginning(r, v) for r, v in zip(memories, leanings, strict=True))))
    for hit in await store.search(a_query(scope, "zebra crossing", a_vector(1)), 10):
        close_to(hit.score, relevance(evidence(hit.signals["vector"], hit.signals["text"])))
        holds(0 <= hit.score <= 1, f"a score of {hit.score} is not in 0..1")
        holds(all(math.isfinite(value) for value in hit.signals.values()), "a signal is not finite")


@requires(Feature.FTS)
async def the_text_share_is_scope_local_bm25(store: Store) -> None:
    scope, memories = await _remember_all(store, "zebra crossing", "zebra zebra kettle", "rain")
    weights = {"zebra": idf(3, 2), "crossing": idf(3, 1)}
    average = (2 + 3 + 1) / 3
    score = {
        memories[0].id: weights["zebra"] * saturation(1, 2, average)
        + weights["crossing"] * saturation(1, 2, average),
        memories[1].id: weights["zebra"] * saturation(2, 3, average),
        memories[2].id: 0.0,
    }
    for hit in await store.search(a_query(scope, "zebra crossing"), 10):
        close_to(hit.signals["text"], score[hit.record.id] / sum(weights.values()))


@requires(Feature.FTS)
async def rare_words_weigh_more(store: Store) -> None:
    common = [f"kettle number {n}" for n in range(8)]
    scope, memories = await _remember_all(store, *common, "a zebra")
    hit = await _find_best(store, scope, "zebra kettle")
    same(hit.record, memories[-1])


@requires(Feature.FTS)
async def a_word_is_found_in_any_form(store: Store) -> None:
    scope, memories = await _remember_all(store, "She was RUNNING to the cafés", "nothing here")
    for text in ("run", "Cafe", "CAFÉS", "runs"):
        same((await _find_best(store, scope, text)).record, memories[0])


@requires(Feature.FTS)
async def a_query_of_common_words_earns_no_text_share(store: Store) -> None:
    scope, _ = await _remember_all(store, "the kettle", "and the rain")
    results = await store.search(a_query(scope, "the and of"), 10)
    same([hit.signals["text"] for hit in results], [0.0, 0.0])


@requires(Feature.FTS)
async def a_query_of_signs_is_just_words(store: Store) -> None:
    scope, memories = await _remember_all(store, "the kettle is blue", "rain")
    for text in (
        '"kettle',
        "kettle*",
        "kettle AND",
        "NEAR(kettle",
        "kettle' OR 1=1 --",
        "-kettle",
        "k:kettle",
    ):
        await store.search(a_query(scope, text), 10)
    same((await _find_best(store, scope, '("kettle" OR *')).record, memories[0])


@requires(Feature.FTS)
async def unspaced_scripts_are_found_by_their_parts(store: Store) -> None:
    scope, memories = await _remember_all(store, "東京で会議があります", "大阪は雨です", "서울에서 만났다")
    same((await _find_best(store, scope, "会議")).record, memories[0])
    same((await _find_best(store, scope, "雨")).record, memories[1])
    same((await _find_best(store, scope, "서울")).record, memories[2])


@requires(Feature.FTS)
async def identifiers_are_found_whole_and_by_their_parts(store: Store) -> None:
    scope, memories = await _remember_all(
        store, "call getUserName first", "set MAX_RETRY_COUNT to 3", "rain in May"
    )
    for text in ("getUserName", "user", "name"):
        same((await _find_best(store, scope, text)).record, memories[0])
    for text in ("MAX_RETRY_COUNT", "retry"):
        same((await _find_best(store, scope, text)).record, memories[1])


@requires(Feature.FTS)
async def compound_identifiers_are_words_of_their_own(store: Store) -> None:
    texts = {
        "2.14.0": ("release 2.14.0 is out", "release 14.0.2 is out", "release 0.2.14 is out"),
        "web-24": ("web-24 restarts", "24 web pages restart, web 24 times", "web-42 restarts"),
        "10.0.3.14": ("10.0.3.14 is up", "10.3.0.14 is up", "14 of 10 3 0 is up"),
        "/etc/app/main.conf": ("see /etc/app/main.conf", "see /etc/main/app.conf", "conf app etc main"),
        "2026-05-04": ("due 2026-05-04", "due 2026-04-05", "due 04 05 2026"),
    }
    for query, contents in texts.items():
        scope, memories = await _remember_all(store, *reversed(contents))
        same((await _find_best(store, scope, f"what about {query}?")).record, memories[-1])


@requires(Feature.FTS)
async def a_memory_worded_as_the_query_comes_first(store: Store) -> None:
    scope = a_scope()
    asked = a_record(scope, "The cat is black", created_at=NOW - 9)
    longer = a_record(scope, "The cat is black: a black cat, black", created_at=NOW - 1)
    await store.write(a_change(scope, beginning(asked, a_vector(1, 1)), beginning(longer, a_vector(1))))
    for text in ("The cat is black", "the cat is black.", "THE CAT IS BLACK!"):
        results = await store.search(a_query(scope, text, a_vector(1)), 10)
        same(ids(results), [asked.id, longer.id])
        holds(results[0].score > results[1].score, "what fits better does not score higher")
    results = await store.search(a_query(scope, "is the cat black?", a_vector(1)), 10)
    holds(all("exact" not in hit.signals for hit in results), "other words are taken for the same")


@requires(Feature.FTS)
async def only_turns_lend_to_each_other(store: Store) -> None:
    for metadata, is_turn in (
        ({"role": "user"}, True),
        ({"speaker": "Ana"}, True),
        ({"layer": {"kind": "turn"}}, True),
        ({"role": "user", "layer": {"kind": "fact"}}, False),
        ({}, False),
    ):
        scope = a_scope()
        turns = [
            a_record(scope, text, session_id="s", metadata=metadata, occurred_at=NOW - 9 + at)
            for at, text in enumerate(("zebra", "kettle"))
        ]
        await keep(store, *turns)
        _, kettle = await store.search(a_query(scope, "zebra"), 10)
        same("neighbours" in kettle.signals, is_turn)
        same("own" in kettle.signals, is_turn)


@requires(Feature.FTS)
async def the_newest_memory_of_a_state_comes_first(store: Store) -> None:
    def lives(scope: Scope, text: str, at: int, **label: str) -> Record:
        return a_record(scope, text, metadata={"fact": {"kind": "identity", **label}}, created_at=at)

    for slot, subject, passes in (("home", "user", True), ("home", "Ana", False), ("likes", "user", False)):
        scope = a_scope()
        older = lives(scope, "Lives in Berlin", NOW - 9, slot=slot, subject="user")
        newer = lives(scope, "Settled by the sea", NOW - 1, slot=slot, subject=subject)
        await keep(store, older, newer, a_record(scope, "rain"))
        results = await store.search(a_query(scope, "who lives in Berlin?"), 10)
        same(ids(results)[0], newer.id if passes else older.id)
        signals = {hit.record.id: hit.signals for hit in results}
        same("older_state" in signals[older.id], passes)
        same("newest" in signals[newer.id], passes)


@requires(Feature.FTS)
async def the_words_of_structured_content_are_found(store: Store) -> None:
    scope = a_scope()
    memories = a_record(scope, {"steps": [{"do": "boil the zebra"}], "n": 3}), a_record(scope, "rain")
    await keep(store, *memories)
    same((await _find_best(store, scope, "zebra")).record, memories[0])


@requires(Feature.FTS)
async def old_words_are_forgotten_with_their_version(store: Store) -> None:
    scope, (record, _) = await _remember_all(store, "zebra", "rain")
    await store.write(a_change(scope, revising(record, content="kettle")))
    results = await store.search(a_query(scope, "zebra"), 10)
    same([hit.signals["text"] for hit in results], [0.0, 0.0])
    same((await _find_best(store, scope, "kettle")).record.id, record.id)


@requires(Feature.FTS, Feature.VECTOR)
async def demoted_memories_keep_a_quarter_of_their_score(store: Store) -> None:
    scope = a_scope()
    active, demoted = (
        a_record(scope, "zebra", standing=standing) for standing in (Standing.ACTIVE, Standing.DEMOTED)
    )
    await keep(store, active, demoted, vector=a_vector(1))
    first, second = await store.search(a_query(scope, "zebra", a_vector(1)), 10)
    same((first.record.id, second.record.id), (active.id, demoted.id))
    close_to(second.score, first.score * DEMOTED_FACTOR)
    same((first.signals.get("demoted"), second.signals.get("demoted")), (None, 1.0))


async def ties_are_broken_by_id(store: Store) -> None:
    scope = a_scope()
    memories = [a_record(scope, "zebra") for _ in range(30)]
    await keep(store, *memories, vector=a_vector(1))
    for limit in (1, 7, 30, 100):
        results = ids(await store.search(a_query(scope, "zebra", a_vector(1)), limit))
        same(results, by_id(memories)[:limit])


async def the_order_is_the_same_every_time(store: Store) -> None:
    scope = a_scope()
    memories = records(scope, 40, "zebra crossing")
    puts = [beginning(record, a_vector(1, n % 5)) for n, record in enumerate(memories)]
    await store.write(a_change(scope, *puts))
    query = a_query(scope, "zebra 7 12", a_vector(1, 2))
    first = ids(await store.search(query, 40))
    same(ids(await store.search(query, 40)), first)
    same(ids(await store.search(query, 9)), first[:9])


async def search_gives_no_more_than_asked(store: Store) -> None:
    memories = records(a_scope(), 10)
    await keep(store, *memories, vector=a_vector(1))
    query = a_query(memories[0].scope, "kettle", a_vector(1))
    same([len(await store.search(query, limit)) for limit in (1, 3, 10, 11)], [1, 3, 10, 10])


async def searching_an_empty_scope_finds_nothing(store: Store) -> None:
    same(await store.search(a_query(a_scope(), "zebra", a_vector(1)), 10), [])


async def filters_apply_before_the_limit(store: Store) -> None:
    scope = a_scope()
    crowd = records(scope, 300, "zebra", metadata={"mine": False})
    mine = a_record(scope, "once there was a zebra in a longer sentence", metadata={"mine": True})
    await keep(store, *crowd, vector=a_vector(1))
    await keep(store, mine, vector=a_vector(0.5, 1))
    query = a_query(scope, "zebra", a_vector(1), filter=compare("metadata.mine", "eq", True))
    same(ids(await store.search(query, 1)), [mine.id])


@requires(Feature.FTS)
async def statistics_come_from_what_the_query_may_see(store: Store) -> None:
    scope = a_scope()
    visible = [a_record(scope, text, type=MemoryType.EPISODIC) for text in ("zebra crossing", "kettle")]
    await keep(store, *visible)
    query = a_query(scope, "zebra kettle", types=frozenset({MemoryType.EPISODIC}))
    before = await store.search(query, 10)
    await keep(store, *records(scope, 30, "zebra"), *records(scope, 30, "zebra", expires_at=NOW))
    after = await store.search(query, 10)
    same(ids(after), ids(before))
    for then, now in zip(before, after, strict=True):
        close_to(now.signals["text"], then.signals["text"], 1e-9)
