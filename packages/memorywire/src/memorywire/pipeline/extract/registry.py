"""Chooses an extractor, or a model, by its name or URL."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol
from urllib.parse import SplitResult, parse_qs, urlsplit

from memorywire.model.errors import InvalidRequest
from memorywire.model.layer import Conversation, Fact
from memorywire.model.record import Scope
from memorywire.pipeline.extract import jests
from memorywire.search.embed import Embedder, find_minilm
from memorywire.stores.contract import Ingester, Store, SupportsReplicas

if TYPE_CHECKING:
    from memorywire.pipeline.extract.chat import Chat


_PEOPLE = frozenset({"user", "human"})
"""The roles that frameworks use for a person; facts are read only from turns with these roles."""


class BuiltIn:
    """Satisfies Extractor, without a model."""

    name = "builtin"
    local = True

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def extract(self, conversation: Conversation, scope: Scope) -> Sequence[Fact]:
        from memorywire.facts.reader import Act, read_turn  # loads its grammar, so import it on first use

        is_jest = partial(jests.is_jest, reader=find_minilm(self._embedder))
        facts: list[Fact] = []
        known: set[str] = set()
        for place, turn in enumerate(conversation.turns):
            if turn.role.casefold() not in _PEOPLE:
                continue
            read = partial(read_turn, turn.content, speaker=turn.name, at=turn.at, is_jest=is_jest)
            for statement in await asyncio.to_thread(read):
                is_end = statement.act is Act.RETRACT
                if is_end:
                    known.clear()  # a retracted fact can be stated again
                elif statement.text in known:
                    continue
                known.add(statement.text)
                facts.append(Fact(text=statement.text, occurred_at=turn.at, turn=place, retracts=is_end))
        return facts


class Extractor(Protocol):
    """Extracts facts from a conversation."""

    @property
    def name(self) -> str:
        """The name in the source of its memories: `extractor:NAME`."""
        ...

    @property
    def local(self) -> bool:
        """Whether it answers at once, without a network call."""
        ...

    async def extract(self, conversation: Conversation, scope: Scope) -> Sequence[Fact]:
        """Return the facts in the order they were said; raises StoreUnavailable if the model fails."""
        ...


class StoreExtractor:
    """Satisfies Extractor. The store's product only returns the facts; memorywire remembers them."""

    name = "store"
    local = False

    def __init__(self, store: Ingester) -> None:
        self._store = store

    async def extract(self, conversation: Conversation, scope: Scope) -> Sequence[Fact]:
        messages = [{"role": turn.role, "content": turn.content} for turn in conversation.turns]
        extraction = await self._store.ingest(scope, messages)
        return [Fact(text=text, occurred_at=conversation.last_at) for text in extraction if text.strip()]


DEFAULT_EXTRACTOR = "auto"
BUILT_IN = "builtin"
OFF = "off"

_SCHEMES = ("openai+http", "openai+https", "anthropic+http", "anthropic+https")
_ENDPOINTS = 'use "off", "openai+https://HOST/v1?model=NAME" or "anthropic+https://HOST/v1?model=NAME"'
_FIX = _ENDPOINTS.replace("use ", 'use "auto", "builtin", ')


def open_extractor(
    name: str, store: Store, embedder: Embedder, *, api_key: str | None = None
) -> Extractor | None:
    """Return the extractor with this name; None for `off`. Does not call the model.

    `auto` is a store that extracts facts itself, else the built-in rules.
    """
    if name == OFF:
        return None
    if name == DEFAULT_EXTRACTOR:
        reader = _ingesting(store)
        return BuiltIn(embedder) if reader is None else StoreExtractor(reader)
    if name == BUILT_IN:
        return BuiltIn(embedder)
    # Imported here, so that only users of an endpoint load the HTTP client.
    from memorywire.pipeline.extract.chat import EndpointExtractor

    return EndpointExtractor(open_chat(name, api_key=api_key, field="extractor", fix=_FIX))


def open_chat(url: str, *, api_key: str | None, field: str, fix: str = _ENDPOINTS) -> "Chat":
    """Return a client for the model at this URL; errors name `field`."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in _SCHEMES and bool(parts.hostname) and "@" not in parts.netloc
        sound = sound and parts.port != 0 and parts.path.isascii() and _is_one_word(parts)
        parameters = parse_qs(parts.query)
    except ValueError:
        sound = False
    if not sound or set(parameters) != {"model"} or len(parameters["model"]) != 1:
        raise InvalidRequest(f"unknown {field}", field=field, fix=fix)
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise InvalidRequest(
            f"the key of the {field} contains characters that an HTTP header cannot carry", field=field
        )
    from memorywire.pipeline.extract.chat import Chat, dialect

    speaks, _, scheme = parts.scheme.partition("+")
    return Chat(
        dialect(speaks),
        base=f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}",
        model=parameters["model"][0],
        api_key=api_key,
    )


def _is_one_word(parts: SplitResult) -> bool:
    """Whether host and path are valid in a request; otherwise only the first call would fail."""
    place = f"{parts.netloc}{parts.path}"
    return place.isprintable() and " " not in place


def _ingesting(store: Store) -> Ingester | None:
    """Return the store, or the first of several, that extracts facts itself; None if there is none."""
    each = (
        [store.replica(name) for name in store.replica_names]
        if isinstance(store, SupportsReplicas)
        else [store]
    )
    return next((one for one in each if isinstance(one, Ingester)), None)
