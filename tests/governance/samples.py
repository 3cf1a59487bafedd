"""Memories and cases to judge, with everything ordinary filled in."""

from typing import Any

from memorywire.model.record import MemoryType, Record, Scope, Trust
from memorywire.policy.judge import Case

ANA = Scope(agent="assistant", user="ana")


def a_memory(content: Any = "Ana drinks green tea", **given: Any) -> Record:
    plain = {"id": "m1", "scope": ANA, "type": MemoryType.SEMANTIC, "created_at": 1, "updated_at": 1}
    return Record(**(plain | given), content=content)


def a_case(*records: Record, **given: Any) -> Case:
    """A remember of these memories by the agent, unless said otherwise."""
    return Case(**({"operation": "remember", "scope": ANA, "caller": "role:agent"} | given), records=records)


def untrusted(content: Any = "Ana drinks green tea", **given: Any) -> Record:
    return a_memory(content, **({"source": "web:example", "trust": Trust.UNTRUSTED} | given))
