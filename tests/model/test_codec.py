"""What is made once writes and reads what the library would write and read."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorywire.journal.canonical import canonical
from memorywire.model.codec import decoded, encoder
from memorywire.model.record import MemoryType

_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(_VALUES, st.booleans(), st.booleans())
def test_an_encoder_writes_what_the_library_writes(value: Any, sort_keys: bool, ensure_ascii: bool):
    given = {"sort_keys": sort_keys, "ensure_ascii": ensure_ascii}
    assert encoder(**given)(value) == json.dumps(value, **given, separators=(",", ":"))
    assert encoder(**given, spaced=True)(value) == json.dumps(value, **given)


def test_a_word_of_the_model_is_written_as_text():
    assert encoder()([MemoryType.SEMANTIC, ("a", 1)]) == '["semantic",["a",1]]'


@given(st.dictionaries(st.text(), _VALUES, max_size=4))
def test_the_fast_way_to_the_one_spelling_leads_to_the_same(value: Any):
    assert canonical(value) == canonical(MappingProxyType(value))


_AROUND = st.sampled_from(["", " ", "\n\t "])


@given(_VALUES, _AROUND, _AROUND)
def test_a_text_is_read_as_the_library_reads_it(value: Any, before: str, behind: str):
    text = f"{before}{json.dumps(value)}{behind}"
    assert decoded(text) == json.loads(text) == value


@pytest.mark.parametrize("text", ["", " ", "{", "1 2", '{"a":1}x', "[1,]", "nul", "'a'"])
def test_what_the_library_refuses_is_refused_in_its_words(text: str):
    with pytest.raises(json.JSONDecodeError) as theirs:
        json.loads(text)
    with pytest.raises(json.JSONDecodeError) as ours:
        decoded(text)
    assert str(ours.value) == str(theirs.value)
