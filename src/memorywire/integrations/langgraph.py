"""A LangGraph store over memorywire's keys and values: `MemorywireStore(memory)`.

Items are entries of the agent's keys, so each put is judged, stands in the ledger and can be taken back.
"""

import asyncio
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.base.embed import get_text_at_path, tokenize_path

from memorywire.model.kv import Entry, Limits
from memorywire.model.record import Json
from memorywire.sync import Memory

_ROOT = "langgraph/"
_PAGE = 1_000
_MOST_FOUND = Limits().top_k
_MINUTE = 60
_ESCAPED = str.maketrans({"%": "%25", "/": "%2F", "=": "%3D"})

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class MemorywireStore(BaseStore):
    """The items of one agent. Items are found by meaning unless they were put with `index=False`.

    A put that a rule holds for a person is not there until they agreed; one that holds a secret is refused.
    `ttl` is in minutes, counted from the put: reading does not prolong it.
    """

    supports_ttl = True

    __slots__ = ("_memory",)

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Answer what is asked, then put, as stores of LangGraph do; the last of several puts wins."""
        asked = list(ops)
        answers = [None if isinstance(op, PutOp) else self._answer(op) for op in asked]
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        for put in puts.values():
            self._put(put)
        return answers

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        return await asyncio.to_thread(self.batch, ops)

    def _answer(self, op: Any) -> Any:
        if isinstance(op, GetOp):
            found = self._memory.kv.get(_address(op.namespace, op.key))
            return None if found is None else Item(**_fields(found))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _put(self, op: PutOp) -> None:
        address, keys = _address(op.namespace, op.key), self._memory.kv
        before = keys.get(address)
        if op.value is None:
            keys.delete(address)
            return
        if before is not None and before.expires_at is not None and op.ttl is None:
            keys.delete(address)  # an entry keeps its end, an item that is put without one has none
        keys.set(
            address,
            dict(op.value),
            embed=op.index is not False,
            embed_text=_indexed(op),
            ttl=None if op.ttl is None else op.ttl * _MINUTE,
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = _prefix(op.namespace_prefix)
        found: list[SearchItem]
        if op.query:
            most = self._memory.kv.search(op.query, prefix=prefix, top_k=self._most(op))
            found = [SearchItem(**_fields(match.entry), score=match.score) for match in most]
        else:
            newest = sorted(self._entries(prefix), key=lambda entry: (-entry.updated_at, entry.key))
            found = [SearchItem(**_fields(entry)) for entry in newest]
        fitting = [item for item in found if _fits(item.value, op.filter or {})]
        return fitting[op.offset : op.offset + op.limit]

    @staticmethod
    def _most(op: SearchOp) -> int:
        """How many to ask for: the most possible if some will be left out, else as many as wanted."""
        return _MOST_FOUND if op.filter else min(_MOST_FOUND, op.offset + op.limit)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        every = {_place(entry.key)[0] for entry in self._entries(_ROOT)}
        wanted = {
            space[: op.max_depth]
            for space in every
            if all(_matches(condition, space) for condition in op.match_conditions or ())
        }
        return sorted(wanted)[op.offset : op.offset + op.limit]

    def _entries(self, prefix: str) -> Iterator[Entry]:
        after: str | None = None
        while True:
            page = self._memory.kv.list(prefix, limit=_PAGE, after=after)
            yield from page
            if page.next is None:
                return
            after = page.next


def _prefix(namespace: tuple[str, ...]) -> str:
    """What the keys of a namespace and of those below it begin with: every label ends with a slash."""
    return _ROOT + "".join(f"{label.translate(_ESCAPED)}/" for label in namespace)


def _address(namespace: tuple[str, ...], key: str) -> str:
    return f"{_prefix(namespace)}={key.translate(_ESCAPED)}"


def _place(address: str) -> tuple[tuple[str, ...], str]:
    labels, _, key = address.removeprefix(_ROOT).rpartition("/=")
    return tuple(unquote(label) for label in labels.split("/")), unquote(key)


def _fields(entry: Entry) -> dict[str, Json]:
    namespace, key = _place(entry.key)
    return {
        "namespace": namespace,
        "key": key,
        "value": entry.value,
        "created_at": datetime.fromtimestamp(entry.created_at / 1000, UTC),
        "updated_at": datetime.fromtimestamp(entry.updated_at / 1000, UTC),
    }


def _indexed(op: PutOp) -> str | None:
    """The words at the paths that the put names; none, when it names none."""
    if not op.index:
        return None
    texts = [text for path in op.index for text in get_text_at_path(op.value, tokenize_path(path))]
    return "\n".join(texts) or None


def _fits(value: Mapping[str, Json], wanted: Mapping[str, Json]) -> bool:
    return all(_meets(value.get(name), condition) for name, condition in wanted.items())


def _meets(value: Json, wanted: Json) -> bool:
    if not isinstance(wanted, dict):
        return bool(value == wanted)
    if any(name.startswith("$") for name in wanted):
        return all(_compares(value, name, bound) for name, bound in wanted.items())
    return isinstance(value, dict) and _fits(value, wanted)


def _compares(value: Json, name: str, bound: Json) -> bool:
    if name in ("$eq", "$ne"):
        return bool((value == bound) is (name == "$eq"))
    if name not in _COMPARISONS:
        raise ValueError(f"unknown operator {name}")
    try:
        return _COMPARISONS[name](float(value), float(bound))
    except (TypeError, ValueError):  # what is no number is neither more nor less
        return False


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
