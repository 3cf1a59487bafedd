"""What other products left behind becomes memories: files the products made, or samples as documented."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.migrate.importers import Origin, read_source
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.pipeline.context import Context
from tests.bundle.story import imported, on

SAMPLES = Path(__file__).parent / "samples"


def _read(path: Path, kind: str = "auto") -> dict[str, Record]:
    """The memories of a file, by what they say now."""
    source = read_source(kind, Origin(path=path, scope=Scope(agent="agent")))
    now = {put.record.id: put.record for change in source.changes() for put in change.put}
    return {record.words: record for record in now.values()}


def _database(path: Path, *statements: str) -> Path:
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()
    return path


def _written(path: Path, said: object) -> Path:
    path.write_text(json.dumps(said), encoding="utf-8")
    return path


def test_mem0_keeps_owners_moments_and_metadata() -> None:
    found = _read(SAMPLES / "mem0")
    assert set(found) == {"Ana prefers jasmine tea", "I live in Lisbon", "Noted"}
    tea = found["Ana prefers jasmine tea"]
    assert (tea.scope.agent, tea.scope.user, tea.metadata["mood"]) == ("barista", "ana", "calm")
    assert tea.updated_at > tea.created_at > 1_700_000_000_000
    assert found["I live in Lisbon"].session_id == "s1"


def test_what_a_memory_of_mem0_said_before_becomes_its_history() -> None:
    async def story(memory: Memory, context: Context) -> None:
        first = await imported(SAMPLES / "mem0", context)
        assert (first["memories"], first["changes"], first["problems"]) == (3, 4, [])
        assert (await imported(SAMPLES / "mem0", context))["already"] == 4
        [tea] = await memory.list()
        said = [version.record.content for version in await memory.history(tea.id) if version.record]
        assert said == ["Ana prefers green tea", "Ana prefers jasmine tea"]

    on("sqlite://", story, agent="barista")


def test_a_mem0_that_keeps_its_vectors_in_faiss_is_read_too() -> None:
    source = read_source("auto", Origin(path=SAMPLES / "mem0-faiss", scope=Scope(agent="agent")))
    said = [(put.record.version, put.record.words) for change in source.changes() for put in change.put]
    assert sorted(said) == [
        (1, "Ana prefers green tea"),
        (1, "I live in Lisbon"),
        (2, "Ana prefers jasmine tea"),
    ]
    assert _read(SAMPLES / "mem0-faiss")["Ana prefers jasmine tea"].metadata["mood"] == "calm"


@pytest.mark.parametrize("shape", [lambda each: {"results": each}, list], ids=["platform", "bare"])
def test_what_get_all_of_mem0_gave_is_read_as_json(tmp_path: Path, shape: Callable[[Any], Any]) -> None:
    tea = {"id": "m1", "memory": "Ana prefers jasmine tea", "user_id": "ana", "metadata": {"mood": "calm"}}
    path = _written(tmp_path / "all.json", shape([tea | {"created_at": "2025-01-01T00:00:00Z"}]))
    kept = _read(path)["Ana prefers jasmine tea"]
    assert (kept.scope.user, kept.created_at) == ("ana", 1_735_689_600_000)
    assert kept.metadata == {"mood": "calm", "mem0_id": "m1"}
    for other in ({"memory": "no list"}, [{"memory": "nameless"}]):
        with pytest.raises(InvalidRequest, match="Unrecognised file format"):
            _read(_written(path, other))


def test_the_history_of_mem0_is_read_where_there_is_nothing_else() -> None:
    found = _read(SAMPLES / "mem0" / "history.db")
    assert set(found) == {"Ana prefers jasmine tea", "I live in Lisbon", "Noted"}

    async def story(memory: Memory, context: Context) -> None:
        await imported(SAMPLES / "mem0" / "history.db", context)
        versions = await memory.history(found["Ana prefers jasmine tea"].id)
        said = [version.record.content for version in versions if version.record]
        assert said == ["Ana prefers green tea", "Ana prefers jasmine tea"]

    on("sqlite://", story)


def test_a_point_that_would_run_something_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "collection" / "mem0"
    folder.mkdir(parents=True)
    evil = b"cos\nsystem\n(S'true'\ntR."
    statement = f"INSERT INTO points VALUES ('x', x'{evil.hex()}')"
    _database(folder / "storage.sqlite", "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)", statement)
    with pytest.raises(InvalidRequest, match=r"os\.system"):
        _read(tmp_path)


def test_chroma_gives_documents_as_they_are_now() -> None:
    found = _read(SAMPLES / "chroma")
    assert set(found) == {"The server moved to Porto", "third"}
    assert found["The server moved to Porto"].metadata["who"] == "z"
    assert found["third"].created_at == 1_767_323_045_000


def test_memorywire_0_keeps_what_was_not_forgotten() -> None:
    found = _read(SAMPLES / "memorywire-0.5.db")
    assert set(found) == {"Ana prefers green tea", "Ana was late today"}
    tea = found["Ana prefers green tea"]
    assert (tea.scope.agent, tea.scope.user, tea.confidence, tea.source) == ("barista", "ana", 0.8, "chat")
    assert found["Ana was late today"].type is MemoryType.EPISODIC


def test_a_file_that_the_mcp_server_wrote_is_recognised_and_read() -> None:
    found = _read(SAMPLES / "mcp-memory.jsonl")
    assert {"Ana: is allergic to peanuts", "Acme is a company", "Ana works at Acme"} < set(found)
    assert len(found) == 5


def test_the_graph_of_the_mcp_server_becomes_sentences(tmp_path: Path) -> None:
    lines: list[Mapping[str, Any]] = [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["likes tea", "is 30"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
    ]
    path = tmp_path / "memory.json"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = _read(path)
    assert set(found) == {"Ana: likes tea", "Ana: is 30", "Acme is a company", "Ana works at Acme"}
    assert found["Ana works at Acme"].metadata["relation"] == "works_at"


def test_notes_become_a_memory_for_each_item_and_paragraph(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(
        "---\ntags: [team]\n---\n# Style\n\nShort sentences.\n\n- tabs are out #lint\n- [ ] see [[Guide]]\n"
        "\n## Code\n```\na\n\nb\n```\n",
        encoding="utf-8",
    )
    found = _read(path)
    code = "Style > Code\n```\na\n\nb\n```"
    assert set(found) == {
        "Style: Short sentences.",
        "Style: tabs are out #lint",
        "Style: see [[Guide]]",
        code,
    }
    assert found["Style: tabs are out #lint"].tags == ("team", "lint")
    assert found["Style: see [[Guide]]"].metadata["links"] == ["Guide"]
    assert found[code].metadata["heading"] == "Style > Code"


def test_a_note_is_found_by_the_words_of_its_heading(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        "# Espresso machine\n\n- descale it on Mondays\n\n# Dishwasher\n\n- run it at night\n",
        encoding="utf-8",
    )

    async def asked(memory: Memory, context: Context) -> str:
        await imported(path, context)
        found = await memory.recall("what is there to know about the espresso machine?", k=1)
        return str(found.hits[0].content)

    assert on("memory://", asked) == "Espresso machine: descale it on Mondays"


def test_files_of_a_folder_that_are_no_notes_are_named_among_the_losses(tmp_path: Path) -> None:
    for name in (
        "a.md",
        "b.txt",
        "sub/c.canvas",
        "NOTE.MD",
        ".hidden/d.txt",
        *(f"z{n}.png" for n in range(4)),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("said", encoding="utf-8")
    origin = Origin(path=tmp_path, scope=Scope(agent="agent"))
    told = "files that are not Markdown (7): NOTE.MD, b.txt, sub/c.canvas, z0.png, z1.png and 2 more"
    assert read_source("auto", origin).losses[1:] == (told,)
    assert len(read_source("auto", replace(origin, path=tmp_path / "a.md")).losses) == 1


def test_basic_memory_keeps_categories_and_relations() -> None:
    found = _read(SAMPLES / "basic-memory", "basic-memory")
    assert found["Coffee > Observations: Pour over is clear #brewing"].tags == ("brewing", "method")
    assert found["Coffee > Observations: Ana prefers tea"].tags == ("brewing", "person")
    assert found["Coffee > Relations: relates_to [[Tea]]"].metadata == {
        "file": "drinks/Coffee.md",
        "heading": "Coffee > Relations",
        "title": "Coffee",
        "permalink": "main/drinks/coffee",
        "links": ["Tea"],
    }


def test_openmemory_keeps_people_and_categories(tmp_path: Path) -> None:
    path = _database(
        tmp_path / "openmemory.db",
        "CREATE TABLE users (id, user_id, name)",
        "CREATE TABLE apps (id, name)",
        "CREATE TABLE memories (id, user_id, app_id, content, metadata, state, created_at, updated_at)",
        "CREATE TABLE categories (id, name)",
        "CREATE TABLE memory_categories (memory_id, category_id)",
        "INSERT INTO users VALUES ('u', 'ana', 'Ana')",
        "INSERT INTO apps VALUES ('p', 'cursor')",
        "INSERT INTO categories VALUES ('c', 'food')",
        "INSERT INTO memory_categories VALUES ('m', 'c')",
        "INSERT INTO memories VALUES ('m','u','p','likes tea','{}','active','2026-01-02 03:04:05',NULL)",
        "INSERT INTO memories VALUES ('d','u','p','is gone','{}','deleted','2026-01-02 03:04:05',NULL)",
    )
    found = _read(path)
    assert set(found) == {"likes tea"}
    tea = found["likes tea"]
    assert (tea.scope.user, tea.tags, tea.metadata["app"]) == ("ana", ("food",), "cursor")


def test_an_agent_file_of_letta_gives_blocks_and_passages(tmp_path: Path) -> None:
    block = {"id": "b1", "label": "human", "value": "Ana likes tea"}
    passage = {"id": "p1", "text": "The trip was long", "created_at": "2026-01-02T03:04:05+00:00"}
    path = _written(
        tmp_path / "ana.af", {"agents": [{"name": "a", "passages": [passage]}], "blocks": [block]}
    )
    found = _read(path)
    assert found["Ana likes tea"].tags == ("block", "human")
    assert found["The trip was long"].created_at == 1_767_323_045_000


def test_the_database_of_letta_gives_the_same(tmp_path: Path) -> None:
    path = _database(
        tmp_path / "letta.db",
        "CREATE TABLE block (id, label, value, description, is_template, is_deleted)",
        "CREATE TABLE archival_passages (id, text, metadata_, created_at, is_deleted)",
        "INSERT INTO block VALUES ('b', 'human', 'Ana likes tea', NULL, 0, 0)",
        "INSERT INTO archival_passages VALUES ('p', 'The trip was long', '{\"a\": 1}', NULL, 0)",
        "INSERT INTO archival_passages VALUES ('q', 'is gone', NULL, NULL, 1)",
    )
    found = _read(path)
    assert set(found) == {"Ana likes tea", "The trip was long"}
    assert found["The trip was long"].metadata == {"a": 1}


def test_items_of_langgraph_keep_their_namespace_and_their_end() -> None:
    found = _read(SAMPLES / "langgraph.db")
    assert set(found) == {"Ana likes tea", '{"place": "Lisbon"}'}
    tea, trip = found["Ana likes tea"], found['{"place": "Lisbon"}']
    assert tea.metadata["namespace"] == ["users", "ana"]
    assert tea.metadata["value"]["deep"] == {"n": [1, 2.5]}
    assert trip.expires_at is not None
    assert 59 * 60_000 < trip.expires_at - trip.created_at < 61 * 60_000


def test_the_export_of_claude_gives_turns_and_what_it_kept(tmp_path: Path) -> None:
    message = {"uuid": "m", "sender": "human", "text": "I like tea", "created_at": "2026-01-02T03:04:05Z"}
    conversation = {"uuid": "c", "name": "Tea", "created_at": "", "chat_messages": [message]}
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([conversation]))
        archive.writestr("memories.json", json.dumps([{"conversations_memory": "Ana likes tea"}]))
    found = _read(path)
    assert (found["I like tea"].session_id, found["I like tea"].metadata["role"]) == ("c", "user")
    assert found["Ana likes tea"].tags == ("memory",)


def test_the_export_of_chatgpt_gives_the_branch_that_was_shown(tmp_path: Path) -> None:
    def node(parent: str | None, role: str, text: str) -> Mapping[str, Any]:
        message = {"author": {"role": role}, "content": {"parts": [text]}, "create_time": 1_767_323_045.5}
        return {"parent": parent, "message": message}

    mapping = {
        "root": {"parent": None, "message": None},
        "q": node("root", "user", "which tea?"),
        "old": node("q", "assistant", "black"),
        "new": node("q", "assistant", "green"),
    }
    said = [{"conversation_id": "c", "title": "Tea", "mapping": mapping, "current_node": "new"}]
    found = _read(_written(tmp_path / "conversations.json", said))
    assert set(found) == {"which tea?", "green"}
    assert found["green"].occurred_at == 1_767_323_045_500


def test_a_file_that_nobody_knows_is_refused_with_the_names_that_are_known(tmp_path: Path) -> None:
    path = tmp_path / "what.bin"
    path.write_bytes(b"\x00\x01")
    with pytest.raises(InvalidRequest) as refusal:
        _read(path)
    assert "mcp-memory" in str(refusal.value.fix)
    assert "memorywire import-lines" in str(refusal.value.fix)


def test_importing_what_a_product_keeps_twice_brings_it_in_once() -> None:
    async def story(memory: Memory, context: Context) -> None:
        first = await imported(SAMPLES / "chroma", context)
        again = await imported(SAMPLES / "chroma", context)
        assert (first["changes"], again["changes"], again["already"]) == (2, 0, 2)
        assert first["losses"] != []
        assert (await memory.list()).total == 2

    on("sqlite://", story)
