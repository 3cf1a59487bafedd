"""An extractor that is a store: a product that finds by itself what is worth keeping in a conversation."""

from collections.abc import Sequence

from memorywire.model.layer import Conversation, Fact
from memorywire.model.record import Scope
from memorywire.stores.contract import Ingester


class StoreExtractor:
    """Satisfies Extractor. The product only says what it would remember; we remember it."""

    name = "store"
    local = False

    def __init__(self, store: Ingester) -> None:
        self._store = store

    async def extract(self, conversation: Conversation, scope: Scope) -> Sequence[Fact]:
        messages = [{"role": turn.role, "content": turn.content} for turn in conversation.turns]
        said = await self._store.ingest(scope, messages)
        return [Fact(text=text, occurred_at=conversation.last_at) for text in said if text.strip()]
