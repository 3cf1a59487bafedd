"""In a conversation it counts who is asked about; of two sessions that answer, the newer comes first."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from memorywire.model.query import Query, Scored
from memorywire.model.record import Record, Scope
from memorywire.search.relevance import ASKING, MACHINE_LENDS, MACHINE_SAID, evidence, relevance
from memorywire.search.text import count_question_tenths
from memorywire.stores.registry import open_store
from memorywire_testing.samples import NOW, SPACE, a_query, a_record, a_scope, a_vector, ids, keep

ASKED, REST, OTHER = a_vector(1), a_vector(0, 1), a_vector(0, 0, 1)


def found(url: str, kept: Sequence[tuple[Record, bytes]], query: Query) -> list[Scored]:
    async def main() -> list[Scored]:
        store = await open_store(url, space=SPACE)
        try:
            for record, vector in kept:
                await keep(store, record, vector=vector)
            return await store.search(query, 10)
        finally:
            await store.close()

    return asyncio.run(main())


@pytest.fixture(params=["memory://", "sqlite://"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def said(scope: Scope, words: str, id: str, speaker: str | None = None, **fields: object) -> Record:
    metadata = {"role": "user"} if "session_id" in fields else {}
    metadata = metadata if speaker is None else {"speaker": speaker}
    return a_record(scope, words, id=id, metadata=metadata, **fields)


def test_the_words_of_whom_the_query_names_count_more(url: str) -> None:
    scope = a_scope()
    kept = [(said(scope, "a lamp", "a", "Ben"), ASKED), (said(scope, "a lamp", "b", "Ana"), ASKED)]
    plain = a_query(scope, "a lamp", ASKED)
    assert ids(found(url, kept, plain)) == ["a", "b"]
    first, second = found(url, kept, replace(plain, names=("Ana",)))
    assert (first.record.id, first.signals["spoke"]) == ("b", 1.0)
    assert "spoke" not in second.signals


def test_where_the_named_speak_vectors_are_compared_without_the_names(url: str) -> None:
    scope = a_scope()
    kept = [(said(scope, "tea", "a", "Ben"), ASKED), (said(scope, "snow", "b", "Ben"), REST)]
    query = replace(a_query(scope, "", ASKED), names=("Ben",), nameless=REST)
    assert ids(found(url, kept, query)) == ["b", "a"]
    assert ids(found(url, kept, replace(query, names=("Zoe",)))) == ["a", "b"]


def test_where_nobody_named_speaks_the_nearness_of_the_rest_is_told(url: str) -> None:
    scope = a_scope()
    query = replace(a_query(scope, "", ASKED), names=("Ben",), nameless=REST)
    [hit] = found(url, [(said(scope, "snow", "a"), REST)], query)
    assert hit.signals["rest"] == pytest.approx(1, abs=1e-3)
    assert hit.signals["vector"] == pytest.approx(0, abs=1e-3)


def turns(scope: Scope, newer: str) -> list[tuple[Record, bytes]]:
    return [
        (said(scope, "my bike is a red one", "old", session_id="one", occurred_at=NOW - 9), ASKED),
        (said(scope, newer, "new", session_id="two", occurred_at=NOW - 1), a_vector(1, 1)),
        (said(scope, "the weather is fine", "else", session_id="three", occurred_at=NOW), OTHER),
    ]


def test_the_newer_of_two_sessions_that_answer_comes_first(url: str) -> None:
    scope = a_scope()
    query = a_query(scope, "which bike?", ASKED)
    first, second, _ = found(url, turns(scope, "by the way, the bike and the bike I sold"), query)
    assert [first.record.id, second.record.id] == ["new", "old"]
    assert first.signals["newest"] == 1.0


def test_of_what_is_past_no_session_has_a_newer_word(url: str) -> None:
    scope = a_scope()
    query = replace(a_query(scope, "which bike?", ASKED), settled=True)
    hits = found(url, turns(scope, "by the way, the bike and the bike I sold"), query)
    assert hits[0].record.id == "old"
    assert not any("newest" in hit.signals for hit in hits)


def test_what_is_near_to_the_newest_only_does_not_take_its_place(url: str) -> None:
    scope = a_scope()
    kept = [
        (said(scope, "a bike", "old", occurred_at=NOW - 9), ASKED),
        (said(scope, "the bike", "new", occurred_at=NOW - 5), a_vector(1, 1)),
        (said(scope, "our bike", "beside", occurred_at=NOW - 1), a_vector(1, 2)),
    ]
    query = a_query(scope, "bike", ASKED)
    assert ids(found(url, kept[1:], query)) == ["beside", "new"]
    hits = found(url, kept, query)
    assert ids(hits) == ["new", "old", "beside"]
    assert ["newest" in hit.signals for hit in hits] == [True, False, False]


def test_of_a_time_that_is_counted_back_more_is_made(url: str) -> None:
    scope = a_scope()
    kept = [
        (said(scope, "a lamp", "near", occurred_at=NOW - 1), ASKED),
        (said(scope, "a lamp!", "then", occurred_at=NOW - 9), a_vector(1, 0.8)),
    ]
    query = replace(a_query(scope, "", ASKED), times=((NOW - 10, NOW - 8),))
    assert ids(found(url, kept, query)) == ["near", "then"]
    first, second = found(url, kept, replace(query, ago=True))
    assert (first.record.id, second.record.id) == ("then", "near")
    assert first.signals["in_time"] == 1.0


def test_words_that_only_ask_count_among_the_terms_and_nobody_earns_them(url: str) -> None:
    scope = a_scope()
    kept = [(said(scope, "any tips", "a"), OTHER), (said(scope, "a lamp", "b"), OTHER)]
    query = a_query(scope, "tips for a lamp", ASKED)
    earned = {hit.record.id: hit.signals["text"] for hit in found(url, kept, query)}
    assert earned["a"] > 0
    aside = {
        hit.record.id: hit.signals["text"]
        for hit in found(url, kept, replace(query, boilerplate=frozenset({"tip"})))
    }
    assert aside == {"a": 0.0, "b": earned["b"]}


def test_a_newer_session_about_something_else_stays_behind(url: str) -> None:
    scope = a_scope()
    query = a_query(scope, "which bike?", ASKED)
    assert ids(found(url, turns(scope, "the train was late"), query))[0] == "old"


def test_turns_of_one_session_keep_their_order(url: str) -> None:
    scope = a_scope()
    kept = [
        (said(scope, "a red bike", "old", session_id="one", occurred_at=NOW - 9), ASKED),
        (said(scope, "a red bike!", "new", session_id="one", occurred_at=NOW - 1), a_vector(1, 0.2)),
    ]
    query = a_query(scope, "bike", ASKED)
    assert ids(found(url, kept, query)) == ["old", "new"]
    apart = [(replace(record, session_id=None), vector) for record, vector in kept]
    assert ids(found(url, apart, query)) == ["new", "old"]


def test_an_assistant_borrows_nothing(url: str) -> None:
    scope = a_scope()
    begun = {"session_id": "one", "occurred_at": NOW - 9}
    asked = a_record(scope, "a red bike", id="asked", metadata={"role": "user"}, **begun)
    kept = [(asked, ASKED)]
    for id, role in (("answered", "assistant"), ("went on", "user")):
        follows = replace(asked, id=id, content="it rains", metadata={"role": role}, occurred_at=NOW - 8)
        hits = {
            hit.record.id: hit for hit in found(url, [*kept, (follows, REST)], a_query(scope, "bike", ASKED))
        }
        assert ("neighbours" in hits[id].signals) == (role == "user")


def test_an_assistant_s_words_count_in_full_where_the_query_asks_for_them(url: str) -> None:
    scope = a_scope()
    kept = [
        (a_record(scope, "a red bike", id=id, metadata={"role": role}), vector)
        for id, role, vector in (("a", "user", a_vector(1, 0.5)), ("b", "assistant", ASKED))
    ]
    query = a_query(scope, "a bike", ASKED)
    assert ids(found(url, kept, query)) == ["a", "b"]
    assert ids(found(url, kept, replace(query, replies=True))) == ["b", "a"]


def test_a_turn_with_a_neighbour_on_one_side_borrows_twice_from_it(url: str) -> None:
    scope = a_scope()
    lines = [
        ("at the end", "one"),
        ("bike one", "one"),
        ("before", "two"),
        ("within", "two"),
        ("bike", "two"),
    ]
    kept = [
        (
            said(scope, id, id, session_id=session, occurred_at=NOW - 9 + place),
            ASKED if "bike" in id else OTHER,
        )
        for place, (id, session) in enumerate(lines)
    ]
    lent = {
        hit.record.id: hit.signals.get("neighbours") for hit in found(url, kept, a_query(scope, "", ASKED))
    }
    assert lent["at the end"] == pytest.approx(2 * lent["within"])


def test_an_assistant_lends_less_than_its_words_count(url: str) -> None:
    scope = a_scope()
    asked = said(scope, "a red bike", "asked", session_id="one", occurred_at=NOW - 9)
    lent = {}
    for role in ("assistant", "user"):
        lending = replace(asked, id="next", metadata={"role": role}, occurred_at=NOW - 8)
        hits = found(url, [(asked, ASKED), (lending, ASKED)], a_query(scope, "", ASKED))
        [lent[role]] = [hit.signals["neighbours"] for hit in hits if hit.record.id == "asked"]
    assert lent["assistant"] == pytest.approx(lent["user"] * MACHINE_SAID * MACHINE_LENDS)


def test_what_people_ask_each_other_counts_less_than_what_they_tell(url: str) -> None:
    scope = a_scope()
    kept = [(said(scope, "a lamp?", "a", "Ben"), ASKED), (said(scope, "a lamp!", "b", "Ben"), ASKED)]
    told, asked = found(url, kept, a_query(scope, "a lamp", ASKED))
    assert (told.record.id, asked.record.id) == ("b", "a")
    assert (told.signals.get("asks"), asked.signals["asks"]) == (None, 1.0)
    to_an_assistant = [
        (replace(record, metadata={"speaker": "Ben", "role": "user"}), vector) for record, vector in kept
    ]
    assert ids(found(url, to_an_assistant, a_query(scope, "a lamp", ASKED))) == ["a", "b"]


def test_a_question_lends_more_to_the_turns_around_it_than_words_that_tell(url: str) -> None:
    scope = a_scope()
    follows = said(scope, "it is green", "next", "Ana", session_id="one", occurred_at=NOW - 8)
    lent = []
    for mark in "?!":
        first = said(scope, f"a lamp{mark}", "first", "Ben", session_id="one", occurred_at=NOW - 9)
        hits = found(url, [(first, ASKED), (follows, REST)], a_query(scope, "a lamp", ASKED))
        lent += [hit.signals["neighbours"] for hit in hits if hit.record.id == "next"]
    assert lent[0] == pytest.approx(lent[1] * (1 + ASKING))


@pytest.mark.parametrize(
    ("words", "tenths"),
    [
        ("How are you?", 10),
        ("I am fine. And you?", 4),
        ("I am fine.\nAnd you? \U0001f60a", 4),
        ("Look at https://example.org/?page=2 tonight", 0),
        ("\u5143\u6c17\u3067\u3059\u304b\uff1f\u5143\u6c17\u3067\u3059\u3002", 5),
        ("It is green", 0),
        ("?", 10),
    ],
)
def test_what_asks_is_told_by_its_sentences(words: str, tenths: int) -> None:
    assert count_question_tenths(said(a_scope(), words, "a", "Ben")) == tenths
    assert count_question_tenths(said(a_scope(), words, "a")) == 0


def test_terms_count_less_in_a_long_memory_and_its_vector_does_not(url: str) -> None:
    scope = a_scope()
    aside = " and the weather was fine" * 300
    kept = [(said(scope, f"a lamp{aside}", "long"), ASKED), (said(scope, "a lamp", "brief"), ASKED)]
    brief, long = found(url, kept, a_query(scope, "lamp", ASKED))
    assert (brief.record.id, long.record.id) == ("brief", "long")
    assert "brevity" not in brief.signals
    assert long.signals["brevity"] == 0.5  # and no longer one counts less
    vector, text = long.signals["vector"], long.signals["text"]
    assert long.score == pytest.approx(relevance(evidence(vector, text, 0.5)), abs=1e-6)
    assert text > 0.01
