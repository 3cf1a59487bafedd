"""The encoders that are made once write what the library would write."""

import json
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memorywire.journal.canonical import canonical
from memorywire.model.jsontext import encoder
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
