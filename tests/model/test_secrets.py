"""A value that holds secrets does not show them, and neither do values made of it."""

from typing import ClassVar

import pytest
from msgspec.structs import replace

from memorywire.model.secrets import Confidential


class Login(Confidential, frozen=True, kw_only=True):
    HIDDEN: ClassVar = frozenset({"password"})

    name: str
    password: str
    attempts: int = 3


LOGIN = Login(name="ana", password="s3cret")


def test_a_hidden_field_is_neither_in_the_repr_nor_shown_by_rich() -> None:
    assert repr(LOGIN) == "Login(name='ana', attempts=3)"
    assert dict(LOGIN.__rich_repr__()) == {"name": "ana", "attempts": 3}
    assert "s3cret" not in repr((replace(LOGIN, attempts=1),))


def test_a_hidden_field_counts_in_comparisons() -> None:
    assert LOGIN == Login(name="ana", password="s3cret") != replace(LOGIN, password="other")
    assert hash(LOGIN) == hash(Login(name="ana", password="s3cret"))


def test_a_value_is_never_changed_in_place() -> None:
    name = "password"
    with pytest.raises(AttributeError, match="immutable"):
        setattr(LOGIN, name, "other")
