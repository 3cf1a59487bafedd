"""Who speaks, and in which session, counts in the file as it does for the oracle."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.model.change import Put
from memorywire.model.query import Query
from memorywire.model.record import Record, Scope
from memorywire.stores.memory import MemoryStore
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    ids,
)
from tests.sqlite.desk import opened, run

_WORDS = "river stone lamp orchard violin web-24 snow copper".split()
_SLOTS = ["home", "employer", "likes", None, 7]
_SPEAKERS = [None, "Ana", "Ben Olsen", "Zoë"]


def _metadata(dice: random.Random) -> dict[str, object]:
    """Of what somebody said, what the message layer kept, or a labelled fact."""
    speaker = dice.choice(_SPEAKERS)
    said = {"role": dice.choice(["user", "assistant"])} if speaker is None else {"speaker": speaker}
    label = {"kind": "plan", "subject": dice.choice(["user", None]), "slot": dice.choice(_SLOTS)}
    label["given"] = dice.choice([True, False])
    kept = {"layer": {"kind": dice.choice(["turn", "fact", "note"])}}
    fact, unlabelled = {"fact": label}, {"fact": {"slot": "home"}}
    return dice.choice([said, said, said, said | kept, kept, fact, fact, fact, unlabelled])


def _turn(scope: Scope, number: int, dice: random.Random) -> Record:
    words = " ".join(dice.choices(_WORDS, k=dice.choice([1, 2, 3, 4, 5, 200])))
    return a_record(
        replace(scope, user=dice.choice([None, "u"])),
        dice.choice(["{}", "{}?", "Snow. {}?", "Where is the copper? {}."]).format(words),
        id=f"m{number:04}",
        session_id=dice.choice([None, "one", "two", "three", "four"]),
        occurred_at=NOW - dice.randint(0, 40),
        metadata=_metadata(dice),
    )


def _random_vector(dice: random.Random) -> bytes:
    return a_vector(*(dice.uniform(-1, 1) for _ in range(SPACE.dimension)))


def _asked(scope: Scope, dice: random.Random) -> Query:
    query = a_query(scope, " ".join(dice.choices(_WORDS, k=2)), _random_vector(dice))
    names = dice.choice([(), ("Ana",), ("Olsen",), ("Zoe", "Ana"), ("Somebody",)])
    nameless = dice.choice([None, _random_vector(dice)]) if names else None
    aside = frozenset(dice.choice([(), query.text.split()[:1]]))
    times = dice.choice([(), ((NOW - 30, NOW - 10),)])
    asked = replace(query, names=names, nameless=nameless, boilerplate=aside, times=times)
    return replace(asked, ago=dice.random() < 0.5, settled=dice.random() < 0.3)


def _agreed(path: Path, scope: Scope, puts: Sequence[Put], queries: Sequence[Query]) -> set[str]:
    """The signals of all hits, which file and oracle have ranked alike."""
    seen: set[str] = set()

    async def main() -> None:
        oracle = MemoryStore(SPACE)
        async with opened(path) as tested:
            for store in (oracle, tested):
                await store.write(a_change(scope, *puts, id="all"))
            for query in queries:
                found, wanted = await tested.search(query, 70), await oracle.search(query, 70)
                assert ids(found) == ids(wanted)
                for hit, twin in zip(found, wanted, strict=True):
                    assert hit.signals == pytest.approx(twin.signals, abs=1e-6)
                    assert hit.score == pytest.approx(twin.score, abs=1e-6)
                    seen.update(hit.signals)

    run(main())
    return seen


@pytest.mark.parametrize("seed", range(4))
def test_conversations_are_ranked_as_the_oracle_ranks_them(tmp_path: Path, seed: int) -> None:
    scope, dice = a_scope(), random.Random(seed)
    puts = [beginning(_turn(scope, number, dice), _random_vector(dice)) for number in range(150)]
    queries = [_asked(dice.choice([scope, replace(scope, user="u")]), dice) for _ in range(40)]
    queries.append(a_query(scope, str(puts[0].record.content), _random_vector(dice)))
    seen = _agreed(tmp_path / "m.db", scope, puts, queries)
    assert {"spoke", "rest", "newest", "neighbours", "machine_said", "brevity", "in_time", "asks"} <= seen
    assert {"own", "exact", "older_state"} <= seen


@pytest.mark.parametrize("seed", range(4))
def test_few_facts_are_ranked_as_the_oracle_ranks_them(tmp_path: Path, seed: int) -> None:
    scope, dice = a_scope(), random.Random(seed)

    def fact(number: int) -> Put:
        words = " ".join(dice.choices([*_WORDS, "now", "moved", "son"], k=dice.choice([1, 2, 3, 5])))
        owner = replace(scope, user=dice.choice([None, "u"]))
        record = a_record(owner, words, id=f"m{number:04}", occurred_at=NOW - dice.randint(0, 20))
        vector = None if number % 9 == 0 else _random_vector(dice)
        return beginning(record, vector)

    puts = [fact(number) for number in range((8, 20, 60, 200)[seed])]
    queries = [_asked(dice.choice([scope, replace(scope, user="u")]), dice) for _ in range(60)]
    assert {"revised", "newest"} <= _agreed(tmp_path / "m.db", scope, puts, queries)
