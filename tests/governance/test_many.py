"""Many memories are read in one go, and nothing slips through that a look at each would have found."""

from itertools import chain, product
from random import Random
from typing import Any

import pytest

from memorywire.model.record import MemoryType, Record, Trust
from memorywire.model.requests import Remember
from memorywire.pipeline.govern import places
from memorywire.policy.documents import policy_from_toml
from memorywire.policy.injection import screen
from memorywire.policy.judge import Bench, Policy, cleared, judge, signless
from memorywire.policy.redact import Redactor, are_innocent, redact_remember
from tests.governance.samples import ANA, a_case, a_memory
from tests.governance.test_instructions import ADDRESSED, DISGUISED, ORDER, ORDINARY
from tests.redaction.test_gate import _samples

_CALM = [f"Ana takes the {number} o'clock train" for number in range(40)]


def _shapes(text: str) -> list[Record]:
    """A memory that says the text in one of the places where it could."""
    return [
        a_memory(text),
        a_memory({"note": text, "n": 1}),
        a_memory({"a": [1, {"b": text}]}),
        a_memory({text: 1}),
        a_memory({"a": [{"b": {text: "tea"}}]}),
        a_memory("tea", metadata={"kv": {"key": text, "bytes": 7}}),
        a_memory("tea", metadata={"list": [text, None]}),
        a_memory("tea", metadata={text: "tea"}),
        a_memory("tea", source=text),
        a_memory("tea", tags=("one", text)),
    ]


def _groups(items: list[Any], random: Random, size: int = 24) -> list[list[Any]]:
    random.shuffle(items)
    return [items[at : at + size] for at in range(0, len(items), size)]


def test_no_sign_slips_through_among_others() -> None:
    random = Random(8)
    texts = [*chain.from_iterable(ADDRESSED.values()), *ORDINARY, *DISGUISED, "\x1b[8mtea", "identity.role"]
    records = [record for text in texts for record in _shapes(text)]
    records += [a_memory(text) for text in _CALM * 4]
    for group in _groups(records, random):
        clear = cleared(group, signless)
        assert [
            one.content for one, is_clear in zip(group, clear, strict=True) if is_clear and _seen(one)
        ] == []


def _seen(record: Record) -> bool:
    return bool(screen(places(record)))


@pytest.mark.parametrize("order", ADDRESSED[next(iter(ADDRESSED))][:3])
def test_an_instruction_is_seen_where_it_names_a_field_of_a_content(order: str) -> None:
    for content in ({order: 1}, {"steps": [{order: "tea"}]}, {"outer": {order: []}}):
        assert screen(places(a_memory(content))), content
    assert not screen(places(a_memory({"name": "tea", "states": ["cold", "hot"], "n": 1})))


def test_calm_memories_are_cleared_by_one_look_and_a_sign_costs_only_its_neighbours_a_second() -> None:
    calm = [a_memory(text) for text in _CALM]
    looks: list[int] = []

    def looked(records: Any) -> bool:
        looks.append(len(records))
        return signless(records)

    assert cleared(calm, looked) == [True] * 40
    assert looks == [40]
    assert cleared([*calm, a_memory(ORDER)], looked) == [True] * 40 + [False]
    assert signless([])


@pytest.mark.parametrize("place", ["content", "field", "metadata", "source", "tag", "id", "intent"])
def test_no_secret_slips_through_among_others(place: str) -> None:
    random, redactor = Random(9), Redactor()
    requests = [_asking(sample.text, place) for sample in random.sample(_samples(), 600)]
    requests += [_asking(text, place) for text in _CALM * 4]
    for group in _groups(requests, random):
        clear = cleared(group, lambda some: are_innocent(some, redactor))
        missed = [
            one for one, is_clear in zip(group, clear, strict=True) if is_clear and _found(one, redactor)
        ]
        assert missed == []


def _asking(text: str, place: str) -> Remember:
    given: dict[str, Any] = {"scope": ANA, "type": MemoryType.SEMANTIC, "content": "tea"}
    spoken = {
        "content": {"content": text},
        "field": {"content": {"api_key": text}},
        "metadata": {"metadata": {"note": [text]}},
        "source": {"source": text},
        "tag": {"tags": (text,)},
        "id": {"id": text},
        "intent": {"privacy_intent": {"note": text}},
    }
    return Remember(**(given | spoken[place]))


def _found(request: Remember, redactor: Redactor) -> bool:
    return bool(redact_remember(request, redactor)[1])


_POLICIES = {
    "balanced": 'profile = "balanced"',
    "strict": 'profile = "strict"',
    "open": 'profile = "open"',
    "own": """
        profile = "balanced"
        [trust]
        "web:*" = "untrusted"
        [[rule]]
        name = "tags"
        verdict = "hold"
        tags = ["health*"]
        [[rule]]
        name = "unsure"
        verdict = "refuse"
        confidence_below = 0.3
        not = {source = ["chat"]}
        [[rule]]
        name = "mine"
        verdict = "hold"
        user = ["ben"]
    """,
}


@pytest.mark.parametrize("named", _POLICIES)
def test_a_memory_is_judged_among_others_as_it_is_alone(named: str) -> None:
    policy = policy_from_toml(_POLICIES[named])
    bench, verdicts = Bench(policy, "role:agent"), set()
    for record in _of_every_kind():
        together = bench.judge("remember", record.scope, record)
        assert together == judge(a_case(record, scope=record.scope), policy)
        verdicts.add(together.rule)
    assert len(verdicts) > (named != "open")


def _of_every_kind() -> list[Record]:
    ben = ANA.__class__(agent="assistant", user="ben")
    kinds = product(
        MemoryType, Trust, (None, "chat", "web:x"), ((), ("health",)), (0.2, 1.0), (1, 2), (ANA, ben)
    )
    return [
        a_memory(
            type=kind, trust=trust, source=source, tags=tags, confidence=sure, version=version, scope=scope
        )
        for kind, trust, source, tags, sure, version, scope in kinds
    ]


@pytest.mark.parametrize("asked", ['content_contains = ["tea"]', "similar_to_existing = true"])
def test_a_policy_that_asks_for_words_is_not_asked_for_many_at_once(asked: str) -> None:
    assert Bench(policy_from_toml('profile = "balanced"'), "me").can_tell
    for rule in (asked, f'operation = ["remember"]\nnot = {{{asked}}}'):
        policy: Policy = policy_from_toml(f'[[rule]]\nname = "words"\nverdict = "hold"\n{rule}\n')
        assert not Bench(policy, "me").can_tell
