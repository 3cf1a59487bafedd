"""What the real mem0 does with what it is given, and what its room does about it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from memorywire.model.errors import SpaceMismatch, StoreUnavailable
from memorywire.model.record import Scope
from memorywire.model.space import Space
from memorywire.stores.contract import Ingester, SupportsHistory
from memorywire.stores.registry import open_store
from memorywire_adapters.products import Entry, Ref
from memorywire_testing.expect import refused
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_query,
    a_record,
    a_scope,
    a_vector,
    everything,
    ids,
    keep,
)
from tests.vendors.inside import erasing


async def erased_words_leave_every_file(folder: Path) -> None:
    await erasing.leaves_every_file(f"mem0://{folder}", folder)


async def nothing_is_told_to_the_vendor(folder: Path) -> None:
    from mem0.memory import telemetry

    store = await open_store(f"mem0://{folder}", space=SPACE)
    await store.close()
    assert telemetry.MEM0_TELEMETRY is False
    assert not any("migrations" in name for name in erasing.names(folder))


async def names_that_mem0_would_trim_stay_apart(folder: Path) -> None:
    store = await open_store("mem0://", space=SPACE)
    scopes = [Scope(agent=agent, user=user) for agent in ("lead", " lead", "lead ") for user in ("a", " a")]
    kept = [a_record(scope, f"said to {number}") for number, scope in enumerate(scopes)]
    for record in kept:
        await keep(store, record, vector=a_vector(1))
    for record in kept:
        assert await store.find(everything(record.scope)) == [record]
        assert ids(await store.search(a_query(record.scope, "said", a_vector(1)), 9)) == [record.id]
    await store.close()


async def a_user_and_an_agent_of_one_name_are_two(folder: Path) -> None:
    store = await open_store("mem0://", space=SPACE)
    record = a_record(Scope(agent="ana", user="assistant"))
    await keep(store, record, vector=a_vector(1))
    assert await store.count(everything(Scope(agent="assistant"))) == 0
    assert await store.count(everything(Scope(agent="assistant", user="ana"))) == 0
    assert await store.count(everything(Scope(agent="ana"))) == 1
    await store.close()


async def a_memory_dies_on_the_millisecond_and_not_at_the_end_of_the_day(folder: Path) -> None:
    store = await open_store("mem0://", space=SPACE)
    record = a_record(a_scope(), expires_at=NOW + 5)
    await keep(store, record, vector=a_vector(1))
    assert await store.count(everything(record.scope, alive_at=NOW + 4)) == 1
    assert await store.count(everything(record.scope, alive_at=NOW + 5)) == 0
    await store.close()


async def metadata_may_have_the_names_mem0_keeps_for_itself(folder: Path) -> None:
    store = await open_store("mem0://", space=SPACE)
    taken = (
        "data",
        "hash",
        "created_at",
        "updated_at",
        "id",
        "user_id",
        "agent_id",
        "role",
        "expiration_date",
    )
    record = a_record(a_scope(), metadata={name: f"my own {name}" for name in taken})
    await keep(store, record)
    assert await store.get(record.scope, [record.id]) == [record]
    await store.close()


async def a_folder_is_opened_once_at_a_time(folder: Path) -> None:
    store = await open_store(f"mem0://{folder}", space=SPACE)
    with refused(StoreUnavailable) as refusals:
        await open_store(f"mem0://{folder}", space=SPACE)
    assert "nobody else" in str(refusals[0].fix)
    await store.close()
    await (await open_store(f"mem0://{folder}", space=SPACE)).close()


async def vectors_of_another_space_are_refused_and_the_folder_is_free_again(folder: Path) -> None:
    await (await open_store(f"mem0://{folder}", space=SPACE)).close()
    with refused(SpaceMismatch):
        await open_store(f"mem0://{folder}", space=Space(model="other", revision="1", dimension=8))
    await (await open_store(f"mem0://{folder}", space=SPACE)).close()


async def what_nobody_heard_the_id_of_is_found_by_our_key_and_dropped(folder: Path) -> None:
    store = await open_store(f"mem0://{folder}", space=SPACE)
    product = store._product
    orphan = Entry(record=a_record(a_scope(), "archaeopteryx"), vector=a_vector(1))
    (handle,) = await product.keep([orphan])
    found = Ref(key=orphan.key, scope=orphan.record.scope, handle=handle)
    assert len(await product.fetch([found])) == 1
    await product.drop([Ref(key=orphan.key, scope=orphan.record.scope)])
    assert await product.fetch([found]) == []
    await product.drop([found])
    await store.close()
    assert erasing.holding(folder, "archaeopteryx") == []


class _Scripted(BaseHTTPRequestHandler):
    """A language model that has one thing to say."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        said = json.dumps({"memory": [{"id": "0", "text": "Ana likes green tea", "attributed_to": "user"}]})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        body = json.dumps(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nobody reads it."""


@contextmanager
def _a_language_model() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Scripted) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


async def what_mem0_finds_in_a_conversation_is_told_and_not_kept(folder: Path) -> None:
    with _a_language_model() as address:
        llm = {"model": "scripted", "openai_base_url": address, "api_key": "none"}
        (folder / "mem0.json").write_text(json.dumps({"llm": {"provider": "openai", "config": llm}}))
        store = await open_store(f"mem0://{folder}/kept?config={folder}/mem0.json", space=SPACE)
        assert isinstance(store, Ingester)
        messages = [{"role": "user", "content": "I only drink gyokuro, the green one."}]
        scope = a_scope(user="ana")
        assert await store.ingest(scope, messages) == ["Ana likes green tea"]
        assert await store.count(everything(scope)) == 0
        memory = store._product._memory
        assert memory.vector_store.list(top_k=10)[0] == []
        assert memory.db.connection.execute("SELECT count(*) FROM messages").fetchone() == (0,)
        assert memory.db.connection.execute("SELECT count(*) FROM history").fetchone() == (0,)
        await store.close()
    assert erasing.holding(folder / "kept", "gyokuro") == []


async def a_language_model_that_is_away_is_a_problem_of_ours(folder: Path) -> None:
    store = await open_store("mem0://", space=SPACE)
    with refused(StoreUnavailable):
        await store.ingest(a_scope(), [{"role": "user", "content": "hello"}])
    await store.close()


async def there_is_no_history_to_promise(folder: Path) -> None:
    store = await open_store("mem0://", space=SPACE)
    assert not isinstance(store, SupportsHistory)
    await store.close()
