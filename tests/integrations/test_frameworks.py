"""The adapters on the real frameworks, which have an environment of their own."""

import pytest

from tests.vendors.environments import judged
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products

ADAPTERS = (
    "adapter_anthropic",
    "adapter_langchain",
    "adapter_langgraph",
    "adapter_openai_agents",
    "adapter_pydantic_ai",
)


@pytest.mark.parametrize(("adapter", "claim"), [(name, claim) for name in ADAPTERS for claim in claims(name)])
def test_adapter(adapter: str, claim: str) -> None:
    assert judged("frameworks", adapter)[claim] is None
