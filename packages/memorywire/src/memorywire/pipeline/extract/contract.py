"""What an extractor is."""

from collections.abc import Sequence
from typing import Protocol

from memorywire.model.layer import Conversation, Fact
from memorywire.model.record import Scope


class Extractor(Protocol):
    """Finds the facts that a conversation gives away."""

    @property
    def name(self) -> str:
        """How the memories it leads to call their source: `extractor:NAME`."""
        ...

    @property
    def local(self) -> bool:
        """Whether it answers at once, without asking anybody."""
        ...

    async def extract(self, conversation: Conversation, scope: Scope) -> Sequence[Fact]:
        """The facts, in the order they were said; raises StoreUnavailable when nobody answers now."""
        ...
