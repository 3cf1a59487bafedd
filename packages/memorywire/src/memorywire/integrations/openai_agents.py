"""`memorywire_frameworks.openai_agents` under its name of 0.1.0."""

from memorywire.integrations import forward


def __getattr__(name: str) -> object:
    return forward("openai_agents", name)
