"""The `[router]` table: read whole, or refused with the key that is wrong."""

import asyncio
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.app.options import Several
from memorywire.app.settings import KEYS, load_settings, several_from
from memorywire.model.errors import InvalidRequest
from memorywire.pipeline.context import Routing, WritePolicy
from memorywire.stores.router import Mount, by_rules, name_mounts
from memorywire.stores.router.router import find_backend
from memorywire.stores.wrappers.seal import SEAL
from tests.engine.quick import Quick
from tests.router.desk import SPACE, MemoryStore

_TABLE = """
store = ["sqlite:///./a.db#a", "sqlite:///./b.db#b"]

[router]
write = "quorum"
deadline = 1.5
writing = 4
hedge = 0.2
register = false
rerank = false
read = "rules"
trim = 1
weights = { a = 2, b = 0.5 }
seals = { b = "SEAL_OF_B" }
"""


def test_every_key_of_the_table_is_read(tmp_path: Path) -> None:
    file = tmp_path / "memorywire.toml"
    file.write_text(_TABLE, encoding="utf-8")
    env = {"MEMORYWIRE_HOME": str(tmp_path), "SEAL_OF_B": "s3cret"}
    assert load_settings(env=env, config=file).several == Several(
        routing=Routing(
            write=WritePolicy.QUORUM, register=False, rerank=False, trim=1, weights={"a": 2.0, "b": 0.5}
        ),
        deadline=1.5,
        writing=4.0,
        hedge=0.2,
        seals={"b": "s3cret"},
        route=by_rules,
    )
    told = load_settings(env=env | {"MEMORYWIRE_WRITE": "primary"}, config=file)
    assert told.several.routing.write is WritePolicy.PRIMARY
    assert load_settings(env={"MEMORYWIRE_HOME": str(tmp_path / "none")}).several == Several()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("write", "most"),
        ("deadline", 0),
        ("deadline", "2"),
        ("writing", True),
        ("hedge", -1),
        ("register", "yes"),
        ("rerank", 1),
        ("read", "guess"),
        ("read", ["rules"]),
        ("trim", 0.5),
        ("weights", {"a": "2"}),
        ("seals", {"a": 1}),
        ("seals", {"a": "NO_SUCH_VARIABLE"}),
        ("dealine", 2),
    ],
)
def test_what_makes_no_sense_is_refused(key: str, value: object) -> None:
    with pytest.raises(InvalidRequest):
        several_from({key: value}, {})


def test_every_key_has_a_default() -> None:
    assert several_from({}, {}) == Several()
    assert len(KEYS) == 11


def test_stores_of_one_kind_are_told_apart_by_where_they_are_in_any_order() -> None:
    one, two = (
        Mount(name="sqlite", store=MemoryStore(SPACE), backend=f"sqlite:/{name}") for name in ("a", "b")
    )
    names = [mount.name for mount in name_mounts([one, two])]
    assert len(set(names)) == 2
    assert [mount.name for mount in name_mounts([two, one])] == names[::-1]
    assert [mount.name for mount in name_mounts([one])] == ["sqlite"]


def test_a_backend_is_where_the_data_is_whoever_asks_and_however() -> None:
    assert find_backend("postgresql://ana:secret@DB.example/m?x=1", 0) == find_backend(
        "postgresql://db.example/m", 1
    )
    assert find_backend("postgresql://db.example/m", 0) != find_backend("postgresql://db.example/n", 0)
    assert find_backend("memory://", 0) != find_backend("memory://", 1)
    assert find_backend("sqlite:///tmp/../tmp/x.db", 0) == find_backend(
        "sqlite:///tmp/x.db?synchronous=normal", 1
    )


def test_a_store_with_a_key_is_sealed_and_no_other(tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in "ab"]

    async def story() -> list[bool]:
        named, several = [f"{urls[0]}#a", f"{urls[1]}#b"], Several(seals={"b": "s3cret"})
        async with Memory("agent", named, policy="open", embedder=Quick(), several=several) as memory:
            await memory.remember("the kettle is blue")
            assert (await memory.recall("kettle", min_relevance="off")).hits[0].stores == ("a", "b")
        sealed = []
        for url in urls:
            async with Memory("agent", [url], policy="open", embedder=Quick()) as alone:
                sealed += [SEAL in record.metadata for record in await alone.list()]
        return sealed

    assert asyncio.run(story()) == [False, True]
