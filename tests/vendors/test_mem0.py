"""mem0, for real: the whole kit, its traps, and the set-ups that would lose memories."""

import json
from pathlib import Path

import pytest

from memorywire.model.errors import InvalidRequest
from memorywire_adapters.mem0 import configuration
from memorywire_adapters.products import locate
from memorywire_testing.samples import SPACE
from tests.vendors.environments import examined, judged, keeps_every_promise
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products


def test_mem0_keeps_every_promise() -> None:
    keeps_every_promise(examined("mem0", "mem0://"))


@pytest.mark.parametrize("claim", claims("mem0"))
def test_mem0(claim: str) -> None:
    assert judged("mem0", "mem0")[claim] is None


def _configured(folder: Path, provider: str, **config: str) -> dict[str, object]:
    (folder / "own.json").write_text(json.dumps({"vector_store": {"provider": provider, "config": config}}))
    url = f"mem0://{folder}/books?config={folder}/own.json"
    return configuration(locate(url, options=frozenset({"config"})), SPACE)


def test_a_vector_store_that_filters_after_it_chose_is_refused(tmp_path: Path) -> None:
    dsn = "postgresql://localhost/mem0"
    for provider, config in (("faiss", {"path": "x"}), ("pgvector", {"connection_string": dsn})):
        with pytest.raises(InvalidRequest, match="loses memories") as caught:
            _configured(tmp_path, provider, **config)
        assert "hnsw.iterative_scan" in str(caught.value.fix)


def test_the_same_store_is_taken_when_it_may_go_on_searching(tmp_path: Path) -> None:
    dsn = "postgresql://localhost/mem0?options=-c%20hnsw.iterative_scan%3Dstrict_order"
    taken = _configured(tmp_path, "pgvector", connection_string=dsn)
    assert taken["vector_store"] == {"provider": "pgvector", "config": {"connection_string": dsn}}


def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text("{")
    with pytest.raises(InvalidRequest, match=r"own\.json"):
        configuration(locate(f"mem0:///x?config={tmp_path}/own.json", options=frozenset({"config"})), SPACE)
