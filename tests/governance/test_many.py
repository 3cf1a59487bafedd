"""Many memories are read in one go, and nothing slips through that a look at each would have found."""

from itertools import chain, product
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import fields, replace

from memorywire.model.record import MemoryType, Record, Trust
from memorywire.model.requests import Remember
from memorywire.policy.documents import policy_from_toml
from memorywire.policy.injection import find_clear, has_no_sign, screen_record
from memorywire.policy.judge import CASE_CHECKS, RECORD_CHECKS, Check, Policy, judge
from memorywire.policy.redact import Redactor, are_innocent, redact_remember
from memorywire.policy.rules import ABOUT_RECORDS, Condition
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
        clear = find_clear(group, has_no_sign)
        assert [
            one.content for one, is_clear in zip(group, clear, strict=True) if is_clear and _seen(one)
        ] == []


def _seen(record: Record) -> bool:
    return bool(screen_record(record))


@pytest.mark.parametrize("order", ADDRESSED[next(iter(ADDRESSED))][:3])
def test_an_instruction_is_seen_where_it_names_a_field_of_a_content(order: str) -> None:
    for content in ({order: 1}, {"steps": [{order: "tea"}]}, {"outer": {order: []}}):
        assert screen_record(a_memory(content)), content
    assert not screen_record(a_memory({"name": "tea", "states": ["cold", "hot"], "n": 1}))


def test_calm_memories_are_cleared_by_one_look_and_a_sign_costs_only_its_neighbours_a_second() -> None:
    calm = [a_memory(text) for text in _CALM]
    looks: list[int] = []

    def looked(records: Any) -> bool:
        looks.append(len(records))
        return has_no_sign(records)

    assert find_clear(calm, looked) == [True] * 40
    assert looks == [40]
    assert find_clear([*calm, a_memory(ORDER)], looked) == [True] * 40 + [False]
    assert has_no_sign([])


@pytest.mark.parametrize("place", ["content", "field", "metadata", "source", "tag", "id", "intent"])
def test_no_secret_slips_through_among_others(place: str) -> None:
    random, redactor = Random(9), Redactor()
    requests = [_asking(sample.text, place) for sample in random.sample(_samples(), 600)]
    requests += [_asking(text, place) for text in _CALM * 4]
    for group in _groups(requests, random):
        clear = find_clear(group, lambda some: are_innocent(some, redactor))
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
def test_a_memory_is_judged_after_others_as_it_is_alone(named: str) -> None:
    policy, verdicts = policy_from_toml(_POLICIES[named]), set()
    for record in _of_every_kind():
        for signs in ((), (("order", "content"),)):
            case = a_case(record, scope=record.scope, instructions=signs)
            after_others = judge(case, policy)
            assert after_others == judge(case, replace(policy))
            verdicts.add(after_others.rule)
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
def test_two_memories_of_one_kind_are_told_apart_by_what_they_say(asked: str) -> None:
    for rule in (asked, f'operation = ["remember"]\nnot = {{{asked}}}'):
        policy: Policy = policy_from_toml(f'[[rule]]\nname = "words"\nverdict = "hold"\n{rule}\n')
        cases = [a_case(a_memory("tea"), similar=("m1",)), a_case(a_memory("rice"), similar=())]
        assert len({judge(case, policy).rule for case in cases}) == 2


def test_every_condition_declares_the_fields_that_it_reads() -> None:
    conditions = {part.name for part in fields(Condition)} - {"unless"}
    assert conditions == {*RECORD_CHECKS, *CASE_CHECKS}
    assert set(RECORD_CHECKS) == ABOUT_RECORDS
    given: dict[str, Any] = {"confidence_below": 0.5, "affects_at_least": 2}
    case = a_case(a_memory("tea", source="chat", tags=("health",)))
    for checks, subject in ((RECORD_CHECKS, case.records[0]), (CASE_CHECKS, case)):
        for name, check in checks.items():
            only = SimpleNamespace(**{field: getattr(subject, field) for field in check.fields})
            wanted = given.get(name, ("tea",))
            assert check.passes(wanted, only) == check.passes(wanted, subject), name


def test_a_condition_that_declares_too_little_fails() -> None:
    record = a_memory("tea", tags=("health",))
    with pytest.raises(TypeError):
        Check((), lambda wanted, tags: wanted in tags).passes("health", record)
    with pytest.raises(AttributeError):
        Check(("type",), lambda wanted, record: wanted in record.tags).passes("health", record)
