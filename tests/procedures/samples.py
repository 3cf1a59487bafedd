"""Definitions that tests share, and the form of a problem."""

from typing import Any

import pytest

from memorywire.model.errors import InvalidRequest
from memorywire.procedures.parse import check


def refund(**changes: Any) -> dict[str, Any]:
    """A sound definition, or one with some of its parts changed."""
    return {
        "name": "refund",
        "initial": "asked",
        "states": ["asked", {"name": "paid"}, "closed"],
        "transitions": [
            {
                "trigger": "pay",
                "source": "asked",
                "dest": "paid",
                "conditions": ["approved"],
                "unless": "blocked",
            },
            ["ask", ["paid", "closed"], "asked"],
            {"trigger": "close", "source": "*", "dest": "closed"},
            {"trigger": "note", "source": ["asked", "paid"], "dest": None},
            {"trigger": "retry", "source": "paid", "dest": "="},
        ],
        "current": "asked",
        "metadata": {"ticket": 7},
        **changes,
    }


def way(**changes: Any) -> dict[str, Any]:
    """The definition with one transition, or with that transition changed."""
    return refund(transitions=[{"trigger": "pay", "source": "asked", "dest": "paid", **changes}])


def refused(content: Any) -> InvalidRequest:
    """The problem with a content, which says where it is and what to do."""
    with pytest.raises(InvalidRequest) as caught:
        check(content)
    assert caught.value.field is not None
    assert caught.value.field.startswith("content")
    assert caught.value.fix
    return caught.value
