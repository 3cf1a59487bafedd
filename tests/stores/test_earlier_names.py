"""The optional protocols of a store answer to their names of 0.1.0 for one release."""

import pytest

from memorywire.stores import contract, wrappers
from memorywire_testing import faults


@pytest.mark.parametrize(
    ("earlier", "name"),
    [
        ("Historian", "SupportsHistory"),
        ("Chronicler", "SupportsChangeLog"),
        ("Surveyor", "SupportsListing"),
        ("Glancer", "SupportsPeek"),
        ("Gatherer", "SupportsBulkWrite"),
        ("LateAsker", "SupportsDeferredQuery"),
        ("Fanned", "SupportsReplicas"),
    ],
)
def test_a_protocol_answers_to_its_earlier_name(earlier: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=name):
        assert getattr(contract, earlier) is getattr(contract, name)


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="Librarian"):
        _ = contract.Librarian
    with pytest.raises(AttributeError, match="Librarian"):
        _ = wrappers.Librarian


@pytest.mark.parametrize("name", ["Fault", "Faults", "with_faults"])
def test_the_store_that_fails_on_purpose_is_found_where_it_was(name: str) -> None:
    with pytest.warns(DeprecationWarning, match="memorywire_testing.faults"):
        assert getattr(wrappers, name) is getattr(faults, name)
