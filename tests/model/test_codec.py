"""JSON that we write is read back, by us and by the standard library."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import DecodeError

from memorywire.journal.entries import canonical
from memorywire.model.codec import read_json, write_json
from memorywire.model.record import MemoryType

_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(_VALUES)
def test_what_is_written_as_json_is_read_back(value: Any):
    text = write_json(value)
    assert read_json(text) == json.loads(text) == value
    assert read_json(json.dumps(value)) == value


def test_json_is_compact_and_keeps_characters_beyond_ascii():
    assert write_json([MemoryType.SEMANTIC, ("é", 1)]) == '["semantic",["é",1]]'


@given(st.dictionaries(st.text(), _VALUES, max_size=4))
def test_the_fast_way_to_the_one_spelling_leads_to_the_same(value: Any):
    assert canonical(value) == canonical(MappingProxyType(value))


@pytest.mark.parametrize("text", ["", " ", "{", "1 2", '{"a":1}x', "[1,]", "nul", "'a'"])
def test_damaged_json_is_refused(text: str):
    with pytest.raises(DecodeError):
        read_json(text)
