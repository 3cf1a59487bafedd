"""What a record says, and when two of them say the same."""

import hashlib
from typing import Any

import pytest
from msgspec.structs import replace

from memorywire.model.record import MemoryType, Record, Scope, Standing


def _record(content: Any = "tea at five", **fields: Any) -> Record:
    values = {
        "id": "m",
        "scope": Scope(agent="ana"),
        "type": MemoryType.SEMANTIC,
        "created_at": 1,
        "updated_at": 1,
    }
    return Record(content=content, **(values | fields))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tea at five", "  tea\tat \n five "),
        ("caf\u00e9", "cafe\u0301"),
        ({"a": 1, "b": {"c": [1, 2], "d": 0}}, {"b": {"d": 0, "c": [1, 2]}, "a": 1}),
    ],
)
def test_the_same_thing_said_differently_has_one_digest(one: Any, other: Any) -> None:
    assert _record(one).digest == _record(other).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tea at five", "Tea at five"),
        ("tea at five", "tea at six"),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_different_things_have_different_digests(one: Any, other: Any) -> None:
    assert _record(one).digest != _record(other).digest


def test_type_and_event_time_are_part_of_what_is_said() -> None:
    record = _record()
    assert replace(record, type=MemoryType.EPISODIC).digest != record.digest
    assert replace(record, occurred_at=1).digest != record.digest
    assert replace(record, occurred_at=1).digest != replace(record, occurred_at=2).digest


def test_everything_else_is_not() -> None:
    record = _record()
    same = replace(
        record,
        id="n",
        scope=Scope(agent="ben"),
        created_at=9,
        updated_at=9,
        version=4,
        confidence=0.1,
        metadata={"a": 1},
        tags=("x",),
        source="chat",
        expires_at=9,
        standing=Standing.ARCHIVED,
    )
    assert same.digest == record.digest


def test_the_digest_is_stable_across_releases() -> None:
    said = b'["semantic", "tea at five", null]'
    assert _record().digest == hashlib.blake2b(said, digest_size=16).hexdigest()


def test_the_text_of_structured_content_is_its_names_and_strings() -> None:
    record = _record({"steps": [{"do": "boil"}, "pour", 3, None, True], "note": {"why": "thirst"}})
    assert record.text == "steps do boil pour note why thirst"


def test_what_is_indexed_tells_when_and_who_and_what_is_embedded_only_the_name() -> None:
    named = replace(_record("tea at five"), occurred_at=0, metadata={"speaker": "Ana", "role": "user"})
    assert named.text == "[12:00 am on 1 January, 1970] Ana: tea at five"
    assert named.meaning == "Ana: tea at five"
    by_role = replace(named, metadata={"role": "user"})
    assert by_role.text.endswith("] user: tea at five")
    assert by_role.meaning == "tea at five"


def test_a_record_is_alive_until_the_moment_it_expires() -> None:
    record = _record(expires_at=10)
    assert record.alive(9)
    assert not record.alive(10)
    assert _record().alive(2**60)
