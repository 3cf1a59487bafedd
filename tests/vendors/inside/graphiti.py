"""What the real Graphiti does with what it is given, and what its room does about it."""

from pathlib import Path

from memorywire.model.capabilities import Feature
from memorywire.model.errors import CapabilityUnsupported, StoreBusy
from memorywire.model.record import Scope
from memorywire.stores.contract import Ingester, SupportsHistory
from memorywire.stores.registry import open_store
from memorywire_testing.expect import refused
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_query,
    a_record,
    a_scope,
    a_vector,
    end,
    everything,
    ids,
    keep,
)
from tests.vendors.inside import erasing
from tests.vendors.inside.speaking import Request, a_service, schema_of

SAID = [{"role": "user", "content": "Ana drinks gyokuro."}]


async def nothing_is_told_to_the_vendor(folder: Path) -> None:
    store = await open_store("graphiti://", space=SPACE)
    from graphiti_core.telemetry.telemetry import is_telemetry_enabled

    assert not is_telemetry_enabled()
    await store.close()


async def what_is_far_is_found_where_graphiti_would_leave_it_out(folder: Path) -> None:
    store = await open_store("graphiti://", space=SPACE)
    record = a_record(a_scope())
    await keep(store, record, vector=a_vector(-1))
    from graphiti_core.search.search_utils import DEFAULT_MIN_SCORE

    assert DEFAULT_MIN_SCORE > 0
    assert len(await store._product.nearest(a_query(record.scope, "", a_vector(1)), 5)) == 1
    assert ids(await store.search(a_query(record.scope, "", a_vector(1)), 5)) == [record.id]
    await store.close()


async def its_filter_by_property_is_ignored_and_ours_by_user_is_not(folder: Path) -> None:
    from graphiti_core.search.search_filters import ComparisonOperator, PropertyFilter, SearchFilters
    from graphiti_core.search.search_utils import edge_similarity_search

    store = await open_store("graphiti://", space=SPACE)
    ana = a_record(a_scope(user="ana"), "ana's")
    ben = a_record(Scope(agent=ana.scope.agent, user="ben"), "ben's")
    await keep(store, ana, ben, vector=a_vector(1))
    only = PropertyFilter(
        property_name="fact", property_value="ana's", comparison_operator=ComparisonOperator.equals
    )
    asked, driver = [1.0, *[0.0] * 7], store._product._driver
    loose = await edge_similarity_search(
        driver, asked, None, None, SearchFilters(property_filters=[only]), None, 9, -2.0
    )
    assert sorted(edge.fact for edge in loose) == ["ana's", "ben's"]
    strict = await store._product.nearest(a_query(ana.scope, "", a_vector(1)), 9)
    assert len(strict) == 1
    await store.close()


async def graphitis_own_reader_finds_the_fact_and_its_times(folder: Path) -> None:
    from graphiti_core.edges import EntityEdge

    store = await open_store("graphiti://", space=SPACE)
    record = a_record(a_scope(), "the kettle is blue", occurred_at=NOW - 5, expires_at=NOW + 5)
    beyond = a_record(record.scope, "beyond the calendar", expires_at=10**18)
    await keep(store, record, beyond)
    edges = await EntityEdge.get_by_group_ids(store._product._driver, [f"a-default__{record.scope.agent}"])
    kettle, strange = sorted(edges, key=lambda edge: "beyond" in edge.fact)
    assert kettle.fact.endswith("the kettle is blue")
    assert (kettle.invalid_at - kettle.valid_at).total_seconds() == 0.01
    assert strange.invalid_at is None
    assert await store.get(beyond.scope, [beyond.id]) == [beyond]
    await store.close()


async def kuzu_leaves_the_bytes_of_what_is_deleted_so_erasure_is_not_promised(folder: Path) -> None:
    store = await open_store(f"graphiti://{folder}", space=SPACE)
    scope = a_scope()
    gone, *others = [a_record(scope, f"{name} flies") for name in ("archaeopteryx", *"abcdefgh")]
    await keep(store, gone, *others, vector=a_vector(1))
    await end(store, gone)
    assert Feature.HARD_DELETE not in store.features
    assert await store.get(scope, [gone.id]) == []
    await store.close()
    # Once this fails the feature can be promised.
    assert erasing.holding(folder, "archaeopteryx") == ["graph.kuzu"]


async def a_graph_is_opened_once_at_a_time(folder: Path) -> None:
    store = await open_store(f"graphiti://{folder}", space=SPACE)
    with refused(StoreBusy, field="store"):
        await open_store(f"graphiti://{folder}", space=SPACE)
    await store.close()
    await (await open_store(f"graphiti://{folder}", space=SPACE)).close()


def _script(request: Request) -> object:
    ana, tea = {"name": "Ana", "entity_type_id": 0}, {"name": "gyokuro", "entity_type_id": 0}
    fact = {
        "relation_type": "DRINKS",
        "source_entity_name": "Ana",
        "target_entity_name": "gyokuro",
        "source_entity_id": 0,
        "target_entity_id": 1,
        "fact": "Ana drinks gyokuro",
        "valid_at": None,
        "invalid_at": None,
    }
    scripted = {"ExtractedEntities": {"extracted_entities": [ana, tea]}, "ExtractedEdges": {"edges": [fact]}}
    return scripted.get(schema_of(request), _smallest(request))


def _smallest(request: Request) -> object:
    """An answer of the schema asked for that says nothing."""
    wanted = request.get("response_format", {}).get("json_schema", {}).get("schema", {})
    empty = {"array": [], "string": "", "integer": 0, "number": 0, "boolean": False, "object": {}}
    return {
        name: empty.get(part.get("type", "string")) for name, part in wanted.get("properties", {}).items()
    }


async def what_it_finds_in_a_conversation_is_told_and_not_kept(folder: Path) -> None:
    with a_service(_script) as address:
        store = await open_store(f"graphiti://{folder}?llm={address}&model=scripted", space=SPACE)
        assert isinstance(store, Ingester)
        scope = a_scope(user="ana")
        assert await store.ingest(scope, SAID) == ["Ana drinks gyokuro"]
        assert await store.count(everything(scope)) == 0
        assert (await store.health())["entries"] == 0
        await store.close()
    assert erasing.holding(folder, "gyokuro") == []


async def without_a_language_model_a_conversation_is_not_said_to_hold_nothing(folder: Path) -> None:
    store = await open_store("graphiti://", space=SPACE)
    with refused(CapabilityUnsupported, field="store"):
        await store.ingest(a_scope(), SAID)
    await store.close()


async def there_is_no_history_to_promise(folder: Path) -> None:
    store = await open_store("graphiti://", space=SPACE)
    assert not isinstance(store, SupportsHistory)
    await store.close()
