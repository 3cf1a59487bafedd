"""Names under which callers act and the ledger lists them: a kind, a colon, and a name."""

AGENT = "agent:"
"""How the name of a program begins that acts for a model. It proposes changes and decides none."""

UNVERIFIED = "person:unverified"
"""How the name of a person begins whom nothing identified but the connection that carried the answer."""


def is_agent(name: str) -> bool:
    return name.startswith(AGENT)
