"""The adapters on the real frameworks, which have an environment of their own."""

import pytest

from tests.vendors.environments import judged
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products

ADAPTERS = {
    "frameworks": (
        "adapter_anthropic",
        "adapter_langchain",
        "adapter_langgraph",
        "adapter_openai_agents",
        "adapter_pydantic_ai",
    ),
    "frameworks-more": (
        "adapter_ag2",
        "adapter_agno",
        "adapter_autogen",
        "adapter_google_adk",
        "adapter_llama_index",
        "adapter_semantic_kernel",
    ),
    "crewai": ("adapter_crewai",),
}

CLAIMS = [
    (vendor, adapter, claim)
    for vendor, adapters in ADAPTERS.items()
    for adapter in adapters
    for claim in claims(adapter)
]


@pytest.mark.parametrize(("vendor", "adapter", "claim"), CLAIMS)
def test_adapter(vendor: str, adapter: str, claim: str) -> None:
    assert judged(vendor, adapter)[claim] is None
