"""What products keep behind an address becomes memories: a database one of them wrote, and their APIs."""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import psycopg
import pytest

from memorywire import Memory
from memorywire.migrate.importers import Origin, Service, read_service, read_source, recognise_service
from memorywire.migrate.run_import import ImportRequest, import_memories
from memorywire.model.errors import InvalidRequest, StoreCorrupt, StoreUnavailable
from memorywire.model.record import Json, Record, Scope
from memorywire.pipeline.context import Context
from tests.bundle.story import on
from tests.http.elsewhere import Exchange, answering
from tests.postgres.desk import Server
from tests.vendors.environments import needs_everything, python_of
from tests.vendors.letta_server import a_letta_server

Answer = Callable[[str, Mapping[str, str], Any, Mapping[str, str]], Json]
"""What a service says to a path, its query, a body and headers; None where it knows no such path."""


def _read(url: str, kind: str = "auto", **more: Any) -> dict[str, Record]:
    """The memories behind an address, by what they say."""
    scope = Scope(agent="agent", user=more.pop("user", None))
    service = Service(url=url, scope=scope, **more)
    source = read_service(recognise_service(service) if kind == "auto" else kind, service)
    records = [put.record for change in source.changes() for put in change.put]
    assert len({record.id for record in records}) == len(records)
    return {record.words: record for record in records}


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """The URL of an empty database."""
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("DROP DATABASE IF EXISTS theirs")
        db.execute("CREATE DATABASE theirs")
        yield server.dsn.replace("/postgres?", "/theirs?")
        db.execute("DROP DATABASE theirs WITH (FORCE)")


_BY_LANGGRAPH = """
import sys
from langgraph.store.postgres import PostgresStore
with PostgresStore.from_conn_string(sys.argv[1]) as store:
    store.setup()
    store.put(("users", "ana"), "drink", {"text": "Ana likes tea", "deep": {"n": [1, 2.5]}})
    store.put(("users", "ana"), "trip", {"place": "Lisbon"}, ttl=60)
    store.put(("users", "ben"), "gone", {"text": "is gone"})
    store.delete(("users", "ben"), "gone")
"""


def test_items_that_langgraph_wrote_to_postgres_come_in(database: str) -> None:
    subprocess.run([python_of("langgraph"), "-c", _BY_LANGGRAPH, database], check=True)
    found = _read(database)
    assert set(found) == {"Ana likes tea", '{"place": "Lisbon"}'}
    tea = found["Ana likes tea"]
    assert tea.metadata["namespace"] == ["users", "ana"]
    assert tea.metadata["value"]["deep"] == {"n": [1, 2.5]}
    assert tea.created_at > 1_700_000_000_000
    trip = found['{"place": "Lisbon"}']
    assert trip.expires_at is not None
    assert 0 < trip.expires_at - trip.created_at <= 61 * 60_000

    async def story(memory: Memory, context: Context) -> None:
        for changes in (2, 0):
            answer = await import_memories(
                ImportRequest(address=database, agent="agent"), context, lambda done, total: None
            )
            assert answer["changes"] == changes
        assert (await memory.list()).total == 2

    on("sqlite://", story)


def test_points_that_mem0_keeps_in_postgres_come_in(database: str) -> None:
    payload = {
        "data": "Ana likes tea",
        "user_id": "ana",
        "created_at": "2026-01-02T03:04:05+00:00",
        "mood": "calm",
    }
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
        # As mem0 2.2 makes its collections.
        db.execute('CREATE TABLE "my memories" (id UUID PRIMARY KEY, vector vector(3), payload JSONB)')
        db.execute(
            "INSERT INTO \"my memories\" VALUES ('00000000-0000-0000-0000-000000000001', '[1,2,3]', %s)",
            [json.dumps(payload)],
        )
    found = _read(database)["Ana likes tea"]
    assert (found.scope.user, found.metadata["mood"], found.created_at) == ("ana", "calm", 1_767_323_045_000)


def test_a_database_of_nobody_known_is_refused_and_one_that_is_away_is_said_to_be(database: str) -> None:
    with pytest.raises(InvalidRequest, match="no tables of a known product"):
        _read(database)
    with pytest.raises(StoreUnavailable):
        _read("postgresql://nobody:secret@127.0.0.1:9/none")


@contextmanager
def _serving(answer: Answer) -> Iterator[str]:
    """A service on the loopback that answers so."""

    def reply(asked: Exchange, body: bytes) -> None:
        parts = urlsplit(asked.path)
        said = answer(parts.path, dict(parse_qsl(parts.query)), json.loads(body or "null"), asked.headers)
        words = b"<html>" if said == "garbage" else json.dumps(said).encode()
        asked.reply(404 if said is None else 200, words)

    with answering(reply) as place:
        yield f"http://{place}"


def _memory(number: int) -> dict[str, Json]:
    return {
        "id": f"m{number}",
        "memory": f"fact {number}",
        "user_id": "ana",
        "metadata": {"mood": "calm"},
        "categories": ["food"],
        "created_at": "2026-01-02T03:04:05-08:00",
        "updated_at": "2026-01-03T03:04:05-08:00",
        "expiration_date": "2030-01-01",
    }


def _platform(path: str, asked: Mapping[str, str], body: Any, headers: Mapping[str, str]) -> Json:
    """As the client of mem0 2.2 asks the platform, and reads what it says."""
    assert headers["Authorization"] == "Token secret"
    if path == "/v1/entities/":
        return {"results": [{"type": "user", "name": "ana"}, {"type": "agent", "name": "barista"}]}
    if path != "/v3/memories/":
        return None
    if body == {"filters": {"agent_id": "barista"}}:
        return {"results": [_memory(0)], "next": None}
    assert body == {"filters": {"user_id": "ana"}}
    page, size = int(asked["page"]), int(asked["page_size"])
    some = [_memory(number) for number in range(250)][(page - 1) * size : page * size]
    return {"results": some, "next": "more" if page * size < 250 else None}


def test_the_platform_of_mem0_is_read_to_the_end_and_each_memory_once() -> None:
    with _serving(_platform) as url:
        found = _read(url, "mem0", key="secret")
    assert len(found) == 250
    one = found["fact 249"]
    assert (one.scope.user, one.tags, one.metadata) == ("ana", ("food",), {"mood": "calm", "mem0_id": "m249"})
    assert (one.created_at, one.expires_at) == (1_767_351_845_000, 1_893_456_000_000)


def _own_server(path: str, asked: Mapping[str, str], body: Any, headers: Mapping[str, str]) -> Json:
    return {"results": [_memory(1)]} if path == "/memories" and asked["user_id"] == "ana" else None


def test_a_server_of_ones_own_is_asked_for_a_user() -> None:
    with _serving(_own_server) as url:
        assert set(_read(url, "mem0", user="ana", key="secret")) == {"fact 1"}
        with pytest.raises(InvalidRequest, match="one user at a time"):
            _read(url, "mem0")


def test_what_is_no_answer_is_a_problem_with_a_name() -> None:
    with _serving(lambda *asked: "garbage") as url, pytest.raises(StoreCorrupt, match="not JSON"):
        _read(url, "letta")
    with _serving(lambda *asked: {"detail": "x"}) as url, pytest.raises(StoreCorrupt, match="not a list"):
        _read(url, "letta")
    with _serving(lambda *asked: None) as url, pytest.raises(StoreUnavailable, match="404"):
        _read(url, "letta")
    with pytest.raises(StoreUnavailable, match="does not answer"):
        _read("http://127.0.0.1:9", "letta")
    with pytest.raises(InvalidRequest, match="Unrecognised service"):
        _read("http://127.0.0.1:9")
    with pytest.raises(InvalidRequest, match="cannot be read from that address") as caught:
        _read("http://127.0.0.1:9", "chroma")
    assert "letta, mem0" in str(caught.value.fix)


_BEGAN = "2026-01-01T00:00:00Z"


def _letta(path: str, asked: Mapping[str, str], body: Any, headers: Mapping[str, str]) -> Json:
    """As Letta 0.16 answers: lists that go on behind an id, and archives that are searched by date."""
    passages = [
        {"id": f"passage-{n:03}", "text": f"passage {n}", "tags": ["t"], "metadata": {"n": n}}
        | {"created_at": f"2026-01-02T03:{n // 60:02}:{n % 60:02}Z"}
        for n in range(230)
    ]
    block = {"id": "block-1", "label": "human", "value": "Ana likes tea", "description": None}
    lists: dict[str, list[dict[str, Json]]] = {
        "/v1/agents/": [{"id": "agent-1", "name": "barista", "created_at": _BEGAN}],
        "/v1/agents/agent-1/core-memory/blocks": [block],
        "/v1/agents/agent-1/archival-memory": passages[:120],
        "/v1/blocks/": [block, block | {"id": "block-2", "value": "Nobody smokes"}],
        "/v1/archives/": [{"id": "archive-1", "created_at": _BEGAN}],
    }
    if path in lists:
        behind = [item for item in lists[path] if str(item["id"]) > asked.get("after", "")]
        return behind[: int(asked["limit"])]
    if path == "/v1/passages/search" and body["archive_id"] == "archive-1":
        since = [one for one in passages if str(one["created_at"]) >= body["start_date"]]
        return [{"passage": one, "score": 0.0} for one in since[: body["limit"]]]
    return None


def test_blocks_and_passages_of_letta_are_read_once_and_keep_whose_they_are() -> None:
    with _serving(_letta) as url:
        found = _read(url, "letta", key="secret")
    assert len(found) == 232
    assert found["Ana likes tea"].created_at == found["Nobody smokes"].created_at == 1_767_225_600_000
    assert found["Ana likes tea"].scope.agent == found["passage 119"].scope.agent == "barista"
    assert found["Nobody smokes"].scope.agent == found["passage 229"].scope.agent == "agent"
    assert (found["passage 229"].tags, found["passage 229"].metadata) == (("archive", "t"), {"n": 229})


_BY_LETTA = """
import sys
from letta_client import Letta
client, endpoint = Letta(base_url=sys.argv[1]), sys.argv[2]
embedding = {"embedding_endpoint_type": "openai", "embedding_endpoint": endpoint, "embedding_model": "m",
             "embedding_dim": 384, "embedding_chunk_size": 300}
archive = client.archives.create(name="shared", embedding_config=embedding)
for first in range(0, 120, 40):
    client.archives.passages.create_many(archive.id, passages=[
        {"text": f"passage {n}", "tags": ["t"], "metadata": {"n": n},
         "created_at": f"2026-01-02T03:04:{n % 60:02d}.{n:06d}+00:00"} for n in range(first, first + 40)])
client.blocks.create(label="house_rules", value="Nobody smokes")
agent = client.agents.create(
    name="barista", memory_blocks=[{"label": "human", "value": "Ana likes tea"}], include_base_tools=False,
    embedding_config=embedding, llm_config={"model": "m", "model_endpoint_type": "openai",
    "model_endpoint": endpoint, "context_window": 8000})
client.agents.passages.create(agent.id, text="Ana was in Lisbon", tags=["trip"])
with open(sys.argv[3], "w") as file:
    file.write(client.agents.export_file(agent.id))
"""


@needs_everything("letta")
@pytest.mark.timeout(3600)  # its server needs a while to come up
def test_a_real_server_of_letta_is_read_over_its_api(tmp_path: Path) -> None:
    with a_letta_server() as store:
        host, _, options = store.removeprefix("letta://").partition("%s?endpoint=")
        url = f"http://{host}"
        agent, endpoint = tmp_path / "barista.af", options.partition("&")[0]
        subprocess.run([python_of("letta"), "-c", _BY_LETTA, url, endpoint, str(agent)], check=True)
        found = _read(url, "letta")
    for text in ("Ana likes tea", "Ana was in Lisbon"):
        assert (found[text].scope.agent, found[text].created_at > 1_700_000_000_000) == ("barista", True)
    assert len(found) == 123
    exported = read_source("auto", Origin(path=agent, scope=Scope(agent="agent")))
    assert "Ana likes tea" in {put.record.words for change in exported.changes() for put in change.put}
    assert found["Nobody smokes"].tags == ("block", "house_rules")
    assert found["passage 119"].metadata == {"n": 119}
    assert found["passage 61"].created_at == 1_767_323_041_000
