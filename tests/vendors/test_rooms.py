"""What all rooms share: names nobody can confuse, URLs, and products that are not installed."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorywire.model.errors import InvalidRequest, StoreCorrupt, StoreUnavailable
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.stores.registry import open_store
from memorywire_adapters.products import (
    Entry,
    Kept,
    Ref,
    Seen,
    VendorStore,
    agent_label,
    key_of,
    locate,
    need,
    user_label,
)
from memorywire_testing.samples import SPACE, a_change, a_record, ending, keep

_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
_scopes = st.builds(Scope, tenant=_names, agent=_names, user=st.none() | _names)


@given(_scopes, _scopes)
def test_two_scopes_have_the_same_labels_only_if_they_are_one(one: Scope, other: Scope) -> None:
    labels = [(agent_label(scope), user_label(scope)) for scope in (one, other)]
    assert (labels[0] == labels[1]) == (one == other)


@given(_scopes)
def test_a_label_is_plain_short_and_never_an_agents_and_a_users(scope: Scope) -> None:
    agent, user = agent_label(scope), user_label(scope)
    for label in (agent, user):
        assert re.fullmatch(r"[A-Za-z0-9_-]{2,260}", label)
    assert agent[:2] == "a-"
    assert user[:2] != "a-"


def test_names_that_look_alike_have_labels_that_do_not() -> None:
    names = [
        "a",
        " a",
        "a ",
        "A",
        "a_b",
        "a__b",
        "a-b",
        "a.b",
        "á",
        "a\u0301",
        "",
        "nobody",
        "x" * 256,
        "x" * 255,
    ]
    assert len({user_label(Scope(agent="one", user=name)) for name in names}) == len(names)
    crossed = [Scope(tenant="a", agent="b__c"), Scope(tenant="a__b", agent="c")]
    assert len({agent_label(scope) for scope in crossed}) == 2


def test_every_version_of_a_memory_has_a_key_of_its_own() -> None:
    record = a_record(Scope(agent="one"), id="m")
    others = [
        a_record(Scope(agent="one"), id="m", version=2),
        a_record(Scope(agent="one", tenant="t"), id="m"),
    ]
    assert len({key_of(one) for one in (record, *others)}) == 3
    assert key_of(record) == key_of(a_record(Scope(agent="one"), "other words", id="m"))


def test_an_entry_comes_back_from_its_payload() -> None:
    record = a_record(
        Scope(agent="one"), {"steps": [1, {"a": None}]}, metadata={"$": "Kept", "record": 2**60}
    )
    assert Kept.read(Entry(record=record).payload).record == record
    for nonsense in ("{", "7", "[]", '{"record": 7}', '{"record": {}, "vector": 3}', '{"words": "x"}'):
        with pytest.raises(StoreCorrupt):
            Kept.read(nonsense)


def test_an_option_nobody_knows_is_refused() -> None:
    assert locate("mem0:///x?config=a%2Fb", options=frozenset({"config"})).options == {"config": "a/b"}
    for url in ("mem0:///x?confg=a", "mem0:///x?config=a&config=b", "mem0:///x#y"):
        with pytest.raises(InvalidRequest):
            locate(url, options=frozenset({"config"}))


def test_a_product_that_is_not_installed_is_named_with_its_extra() -> None:
    with pytest.raises(StoreUnavailable) as caught:
        need("a_product_nobody_has", store="mem0", extra="mem0")
    extra = "memorywire-adapters[mem0]"
    assert caught.value.fix == f"pip install '{extra}' (in a clone: pip install './packages/{extra}')"


def test_telemetry_is_off_before_a_product_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYWIRE_TEST_TELEMETRY", "on")
    with pytest.raises(StoreUnavailable):
        need("a_product_nobody_has", store="x", extra="x", silence={"MEMORYWIRE_TEST_TELEMETRY": "off"})
    assert os.environ["MEMORYWIRE_TEST_TELEMETRY"] == "off"


@pytest.mark.parametrize("scheme", ["chroma", "langgraph", "mem0"])
def test_a_room_can_be_asked_for_without_its_product(scheme: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        asyncio.run(open_store(f"{scheme}://", space=SPACE))
    assert f"memorywire-adapters[{scheme}]" in str(caught.value.fix)


class Drawer:
    """The smallest product: entries in a dictionary, where `stuck` ones do not leave."""

    name = "drawer"
    errors = (OSError,)

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.stuck = False

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        self.entries.update({entry.key: entry for entry in entries})
        return [entry.key for entry in entries]

    async def drop(self, refs: Sequence[Ref]) -> None:
        for ref in () if self.stuck else refs:
            self.entries.pop(ref.key, None)

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        here = [self.entries[ref.key] for ref in refs if ref.key in self.entries]
        return [Seen(key=entry.key, payload=entry.payload) for entry in here]

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        return []

    async def health(self) -> Mapping[str, Json]:
        return {"ok": True}

    async def close(self) -> None: ...


def test_an_erased_memory_that_the_product_still_has_is_not_called_erased() -> None:
    async def story() -> None:
        drawer = Drawer()
        store = await VendorStore.opened(drawer, SPACE, books=None)
        record = a_record(Scope(agent="one"))
        await keep(store, record)
        drawer.stuck = True
        erasing = a_change(record.scope, ending(record), erase=(record.id,))
        with pytest.raises(StoreUnavailable, match="drawer still has the memories that were to be erased"):
            await store.write(erasing)
        drawer.stuck = False
        await store.write(erasing)
        assert drawer.entries == {}
        await store.close()

    asyncio.run(story())
