"""The adapters to frameworks answer to their names of 0.1.0 for one release."""

from importlib import import_module

import pytest

from memorywire.integrations import forward
from memorywire_frameworks.calling import Caller


def test_a_name_is_the_same_under_both_names() -> None:
    with pytest.warns(DeprecationWarning, match="is now memorywire_frameworks.calling"):
        assert forward("calling", "Caller") is Caller


def _load(module: str, name: str) -> object:
    """The value, or the framework that is missing here."""
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        return f"{error.name} is missing"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("anthropic", "MemoryFiles"),
        ("langgraph", "MemorywireStore"),
        ("openai_agents", "MemorywireSession"),
        ("pydantic_ai", "memory_toolset"),
    ],
)
def test_an_adapter_is_found_under_its_earlier_name(module: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"is now memorywire_frameworks.{module}"):
        outcome = _load(f"memorywire.integrations.{module}", name)
    assert outcome == _load(f"memorywire_frameworks.{module}", name)
    assert "memorywire" not in str(outcome) or not isinstance(outcome, str)
