"""`memorywire_frameworks.pydantic_ai` under its name of 0.1.0."""

from memorywire.integrations import forward


def __getattr__(name: str) -> object:
    return forward("pydantic_ai", name)
