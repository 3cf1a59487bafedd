"""A LangGraph store over memorywire's keys and values: `MemorywireStore(memory)`.

Items are entries of the agent's keys, so each put is judged, recorded in the ledger and can be undone.
"""

import asyncio
import operator
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote, unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from langgraph.store.base.embed import get_text_at_path

from memorywire.client.blocking_contracts import BlockingKeyValue
from memorywire.client.kv import SetOptions
from memorywire.client.sync import Memory, asynchronous
from memorywire.model.errors import CapabilityUnsupported, Conflict, InvalidRequest
from memorywire.model.kv import Entry, Limits
from memorywire.model.record import Json
from memorywire_frameworks.calling import ADAPTER_LIMITS, Caller

_ROOT = "langgraph/"
_PAGE = 1_000
_MINUTE = 60
_QUERY_CHARS_MAX = 8_192
_SPECIAL = "%/="
_UTF8 = ("utf-8", "surrogatepass")

_COMPARISONS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


class MemorywireStore(BaseStore):
    """The items of one agent.

    `index` names the fields to index, as in LangGraph's own stores: None means the whole item, False no
    index. `put(index=...)` overrides it for one item. Items that are not indexed are found by `get`, by
    filters and by listing, never by a query. `ttl` is in minutes, counted from the last read or write, or
    from the last write only if `refresh_ttl` or `refresh_on_read` is false.

    A put that a rule holds takes effect when a person approves it. A put with a secret is refused; with
    `redact` a marker replaces the secret instead.
    """

    supports_ttl = True

    __slots__ = ("_fields", "_limits", "_memory", "_redact", "_root", "ttl_config")

    def __init__(
        self,
        memory: Memory,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        redact: bool = False,
        limits: Limits = ADAPTER_LIMITS,
    ) -> None:
        self._memory = memory
        self._fields = _read_fields(index)
        self._redact = redact
        self._limits = limits
        self._root = Caller(memory).prefix(_ROOT)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Answer the reads, then put, as stores of LangGraph do; the last of several puts to a key wins."""
        operations = list(ops)
        answers = [None if isinstance(op, PutOp) else self._answer(op) for op in operations]
        puts = {(op.namespace, op.key): op for op in operations if isinstance(op, PutOp)}
        for put in puts.values():
            self._put(put)
        return answers

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        return await asyncio.to_thread(self.batch, ops)

    def _answer(self, op: Any) -> Any:
        if isinstance(op, GetOp):
            entry = self._keys.get(self._address(op.namespace, op.key))
            return None if entry is None else Item(**self._item(self._refresh(entry, op.refresh_ttl)))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            spaces = {self._place(entry.key)[0] for entry in self._entries(self._root)}
            conditions = op.match_conditions or ()
            fitting = {
                space[: op.max_depth] for space in spaces if all(_matches(one, space) for one in conditions)
            }
            return sorted(fitting)[op.offset : op.offset + op.limit]
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _put(self, op: PutOp) -> None:
        address, keys = self._address(op.namespace, op.key), self._keys
        if op.value is None:
            keys.delete(address)
            return
        before = keys.get(address) if op.ttl is None else None
        if before is not None and before.expires_at is not None:
            keys.delete(address)  # a set would keep the expiry, but an item put without ttl must not expire
        options = self._indexing(op)
        options["redact"] = self._redact
        options["ttl"] = None if op.ttl is None else op.ttl * _MINUTE
        keys.set(address, _lists(op.value), **options)

    def _indexing(self, op: PutOp) -> SetOptions:
        """Return the index options: the fields of the put, or else those of the store."""
        fields = self._fields if op.index is None else op.index
        if fields is None:
            return {"embed": True}
        texts = [text for path in fields or () for text in get_text_at_path(op.value, path)]
        if not any(text.strip() for text in texts):
            return {"index": "none"}
        return {"embed": True, "index": "text", "embed_text": "\n".join(texts)}

    def _search(self, op: SearchOp) -> list[SearchItem]:
        scores: dict[str, float] = {}
        entries: Iterable[Entry]
        if op.query and op.query.strip():
            query = op.query[:_QUERY_CHARS_MAX]
            prefix = self._prefix(op.namespace_prefix)
            most = self._limits.top_k  # a filter drops some hits; without one, only as many as needed
            most = most if op.filter else max(1, min(most, op.offset + op.limit))
            matches = self._keys.search(query, prefix=prefix, top_k=most).matches
            scores = {match.entry.key: match.score for match in matches}
            entries = [match.entry for match in matches]
        else:
            entries_below = self._entries(self._prefix(op.namespace_prefix))
            entries = sorted(entries_below, key=lambda entry: (-entry.updated_at, entry.key))
        fitting = [entry for entry in entries if _fits(entry.value, op.filter or {})]
        page = fitting[op.offset : op.offset + op.limit]
        fresh = [self._refresh(entry, op.refresh_ttl) for entry in page]
        return [SearchItem(**self._item(entry), score=scores.get(entry.key)) for entry in fresh]

    def _refresh(self, entry: Entry, refresh: bool) -> Entry:
        """Return the entry; restart its time to live if it has one and reads count."""
        if not refresh or entry.expires_at is None:
            return entry
        try:
            return self._keys.touch(entry.key) or entry
        except (Conflict, CapabilityUnsupported):  # changed by another client, or not supported by a server
            return entry

    def _entries(self, prefix: str) -> Iterator[Entry]:
        after: str | None = None
        while True:
            page = self._keys.list(prefix, limit=_PAGE, after=after)
            yield from page
            if page.next is None:
                return
            after = page.next

    @property
    def _keys(self) -> BlockingKeyValue:
        user = asynchronous(self._memory).user_id
        keys = self._memory.kv if user is None else self._memory.kv.of("user", user)
        return keys.area(self._root, self._limits)

    def _prefix(self, namespace: tuple[str, ...]) -> str:
        """Return the key prefix of a namespace and those below it; each label ends with a slash."""
        return self._root + "".join(f"{_escape(label)}/" for label in namespace)

    def _address(self, namespace: tuple[str, ...], key: str) -> str:
        return f"{self._prefix(namespace)}={_escape(key)}"

    def _place(self, address: str) -> tuple[tuple[str, ...], str]:
        labels, _, key = address.removeprefix(self._root).rpartition("/=")
        return tuple(unquote(label, *_UTF8) for label in labels.split("/")), unquote(key, *_UTF8)

    def _item(self, entry: Entry) -> dict[str, Json]:
        namespace, key = self._place(entry.key)
        return {
            "namespace": namespace,
            "key": key,
            "value": entry.value,
            "created_at": datetime.fromtimestamp(entry.created_at / 1000, UTC),
            "updated_at": datetime.fromtimestamp(entry.updated_at / 1000, UTC),
        }


def _read_fields(index: IndexConfig | Literal[False] | None) -> list[str] | Literal[False] | None:
    """Return the fields to index; None means the whole item. Raises InvalidRequest for other options."""
    if index is None or index is False:
        return index
    for name in ("embed", "dims"):
        if name in index:
            raise InvalidRequest(
                f"the memory has its own embedder, so the index cannot take {name}",
                field=f"index.{name}",
                fix=f"leave {name} out, and name the embedder in Memory(embedder=...)",
            )
    fields: list[str] | None = index.get("fields")
    return fields


def _escape(label: str) -> str:
    """Escape the characters that structure a key, and those that a key cannot hold, such as a newline."""
    return "".join(
        quote(one, safe="", encoding=_UTF8[0], errors=_UTF8[1])
        if one in _SPECIAL or not one.isprintable()
        else one
        for one in label
    )


def _lists(value: Json) -> Json:
    """Return the value with tuples as lists, as JSON stores them."""
    if isinstance(value, Mapping):
        return {name: _lists(inner) for name, inner in value.items()}
    return [_lists(inner) for inner in value] if isinstance(value, list | tuple) else value


def _fits(value: Mapping[str, Json], filter: Mapping[str, Json]) -> bool:
    return all(_meets(value.get(name), condition) for name, condition in filter.items())


def _meets(value: Json, condition: Json) -> bool:
    if not isinstance(condition, dict):
        return bool(value == condition)
    if any(name.startswith("$") for name in condition):
        return all(_compares(value, name, operand) for name, operand in condition.items())
    return isinstance(value, dict) and _fits(value, condition)


def _compares(value: Json, name: str, operand: Json) -> bool:
    if name in ("$eq", "$ne"):
        return bool((value == operand) is (name == "$eq"))
    if name not in _COMPARISONS:
        raise ValueError(f"unknown operator {name}")
    try:
        return bool(_COMPARISONS[name](float(value), float(operand)))
    except (TypeError, ValueError):  # values that are not numbers do not compare
        return False


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    part = namespace[start : start + len(path)]
    return all(pattern in ("*", label) for pattern, label in zip(path, part, strict=True))
