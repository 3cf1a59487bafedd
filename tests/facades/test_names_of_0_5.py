"""Code that was written for memorywire 0.5.0: its names import, or fail with one line that names ours."""

import asyncio
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.compat_0_5 import ALIASES, REPLACED
from memorywire.model.errors import NotFound
from tests.engine.quick import Quick

PUBLIC = {
    "memorywire": "Capability ExpireAction ExpireRequest ForgetRequest FusionAlgorithm Memory MemoryRouter "
    "MemoryStore MemoryType MergeRequest MergeStrategy Recall RecallHit RecallRequest RememberRequest",
    "memorywire.api": "Memory",
    "memorywire.models": "MemoryType FusionAlgorithm MergeStrategy ExpireAction GovernanceOperation "
    "RememberRequest RecallRequest ForgetRequest MergeRequest ExpirePolicy ExpireRequest RememberResponse "
    "RecallHit RecallResponse ForgetStoreResult ForgetResponse MergeResponse ExpireResponse MemoryRecord "
    "SemanticMemory EpisodicMemory ProceduralMemory EmotionalMemory ProcedureTransition ProcedureSpec",
    "memorywire.router": "MemoryRouter Neighborable",
    "memorywire.store": "Capability MemoryStore",
    "memorywire.store.base": "Capability MemoryStore",
    "memorywire.store.sqlite_vec": "SqliteVecStore",
    "memorywire.store.mem0_adapter": "Mem0Store",
    "memorywire.store.letta_adapter": "LettaStore",
    "memorywire.store.cognee_adapter": "CogneeStore",
    "memorywire.store.pgvector_adapter": "PgVectorStore",
    "memorywire.procedural": "Procedure ProcedureRunner validate_procedure_dict",
    "memorywire.transformer": "STMItem STMToLTMTransformer TickResult",
    "memorywire.recovery": "Recoverer RecoveryReport EntryVerdict MemoryRecord Verdict classify "
    "directive_detector",
    "memorywire.graph": "build_graph render_html",
    "memorywire.integrations.langchain": "MemorywireChatMessageHistory",
}
"""The public names of 0.5.0, by module."""


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in PUBLIC.items() for name in names.split()]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_public_name_of_0_5_imports_or_names_ours(module: str, name: str):
    found = importlib.import_module(module)
    if name in REPLACED:
        with pytest.raises(ImportError, match=f"^{name} of memorywire 0.5.0 does not exist here: [^\n]+$"):
            getattr(found, name)
    else:
        assert getattr(found, name) is not None


def test_an_alias_says_what_to_use():
    with pytest.warns(DeprecationWarning, match=r"use memorywire\.model\.requests\.Strategy"):
        from memorywire import MergeStrategy
    assert MergeStrategy.KEEP_CANONICAL == "keep_canonical"
    with pytest.raises(ImportError, match="give Memory several stores"):
        __import__("memorywire", fromlist=["MemoryRouter"])
    assert not ALIASES.keys() & REPLACED.keys()


def test_an_unknown_name_is_no_attribute():
    import memorywire

    assert not hasattr(memorywire, "nonsense")


FACTS = [("Alice loves dark roast coffee.", "alice"), ("Bob prefers tea over coffee.", "bob")]


@pytest.mark.filterwarnings("ignore:MemoryType:DeprecationWarning")
def test_its_quickstart_runs(tmp_path: Path):
    """The calls of its first example: a store with a function as embedder, recall, forget, health."""
    from memorywire import MemoryType
    from memorywire.store.sqlite_vec import SqliteVecStore

    with pytest.warns(DeprecationWarning, match="give Memory a URL"):
        store = SqliteVecStore(str(tmp_path / "quickstart.db"), embedder=_vector)

    async def story() -> None:
        memory = Memory(agent_id="quickstart", stores=[store])
        for content, user in FACTS:
            await memory.remember(content, type=MemoryType.SEMANTIC, user_id=user)
        hits = await memory.recall("coffee", k=5)
        assert all(hit.score >= 0 and hit.content for hit in hits)
        forgotten = await memory.forget(filter={"user_id": "bob"})
        assert len(forgotten.forgotten_ids) + len(forgotten.would_forget_ids or ()) == 1
        health = await memory.health()
        assert health["status"] == "ok"
        assert all("name" in row for row in health["stores"])
        await memory.close()

    asyncio.run(story())


def _vector(text: str) -> list[float]:
    return [float(text.count(letter)) for letter in "abcdefghijklmnop" * 24]


FLIGHT = {
    "name": "book-flight",
    "initial": "searching",
    "states": ["searching", "comparing", "selecting", "paying", "confirmed", "cancelled"],
    "transitions": [
        {"trigger": "found_options", "source": "searching", "dest": "comparing"},
        {"trigger": "picked", "source": "comparing", "dest": "selecting"},
        {"trigger": "paid", "source": "selecting", "dest": "paying"},
        {"trigger": "receipt", "source": "paying", "dest": "confirmed"},
        {"trigger": "cancel", "source": "*", "dest": "cancelled"},
    ],
    "metadata": {"version": "1.0.0"},
}


def test_its_procedure_runs():
    """The calls of its second example: steps, a way out of every state, a round trip, a snapshot."""
    from memorywire.procedural import Procedure, ProcedureRunner

    procedure = Procedure(**FLIGHT)
    procedure.validate()
    runner = ProcedureRunner(procedure)
    for trigger in ("found_options", "picked", "paid", "receipt"):
        runner.trigger(trigger)
    assert runner.current == "confirmed"
    second = ProcedureRunner(procedure)
    second.replay(["found_options", "picked"])
    assert set(second.available_triggers) == {"paid", "cancel"}
    second.do("cancel")
    assert second.current == "cancelled"
    assert Procedure.from_dict(json.loads(json.dumps(procedure.to_dict()))) == procedure
    third = ProcedureRunner(procedure)
    third.trigger("found_options")
    assert third.snapshot().current == "comparing"


def test_a_merge_by_the_name_of_an_entity_says_what_to_do():
    async def story() -> None:
        async with Memory("agent", "memory://", embedder=Quick()) as memory:
            await memory.remember("Alice likes tea")
            with pytest.raises(NotFound) as caught:
                await memory.merge("Alice", ["alice"])
            assert "ids of memories" in (caught.value.fix or "")

    asyncio.run(story())


def test_an_import_of_the_package_loads_none_of_it():
    code = "import memorywire, sys; print([name for name in sys.modules if name.startswith('memorywire.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
