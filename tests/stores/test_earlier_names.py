"""The optional protocols of a store answer to their names of 0.1.0 for one release."""

import pytest

from memorywire.stores import contract


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
