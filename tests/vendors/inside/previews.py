"""The rooms nobody could examine: they keep to what the documentation of their products shows."""

import os
from pathlib import Path

from memorywire.model.capabilities import Feature
from memorywire.model.errors import CapabilityUnsupported, StoreUnavailable
from memorywire.model.record import Scope
from memorywire.stores.contract import SupportsHistory
from memorywire.stores.registry import open_store
from memorywire_adapters.products import Ref, VendorStore, key_of
from memorywire_testing.expect import refused
from memorywire_testing.samples import SPACE, a_query, a_record, a_vector, end, keep
from tests.vendors.inside.replaying import replayed

ANA = Scope(agent="assistant", user="ana")
# Every header a service looks for the key in, by the scheme of its room.
HEADERS = {"mem9": "X-API-Key", "zep": "Authorization"}


async def keeps_to_its_documentation(scheme: str, options: str, folder: Path) -> None:
    """A memory is kept, read, found among others', forgotten, and not there any more."""
    os.environ[f"{scheme.upper()}_API_KEY"] = "secret"
    with replayed(scheme, HEADERS[scheme]) as host:
        store = await open_store(f"{scheme}://{host}{folder}?preview=1{options}", space=SPACE)
        assert isinstance(store, VendorStore)
        record = a_record(ANA, "Ana likes green tea")
        await keep(store, record, vector=a_vector(1))
        assert await store.get(ANA, [record.id]) == [record]
        (found,) = await store.search(a_query(ANA, "tea", a_vector(1)), 5)
        assert found.record == record
        line = await store._thread.do(lambda: store._sidecar.line("default", record.id))
        await end(store, record)
        assert await store.get(ANA, [record.id]) == []
        gone = Ref(key=key_of(record), scope=ANA, handle=line.handle)
        assert await store._product.fetch([gone]) == []
        assert Feature.HARD_DELETE not in store.features
        assert not isinstance(store, SupportsHistory)
        await store.close()


async def is_not_opened_by_accident(scheme: str) -> None:
    for options in ("", "?preview=0"):
        with refused(CapabilityUnsupported, field="store"):
            await open_store(f"{scheme}://127.0.0.1:9{options}", space=SPACE)


async def says_when_nobody_answers(scheme: str, options: str, folder: Path) -> None:
    store = await open_store(f"{scheme}://127.0.0.1:9{folder}?preview=1{options}", space=SPACE)
    with refused(StoreUnavailable):
        await keep(store, a_record(ANA))
    await store.close()
