"""One object says what is provided, and every advertisement is read off it."""

from pathlib import Path
from typing import Any

import pytest

from memorywire.client.remote import BlockingClient
from memorywire.model.capabilities import DIMENSIONS
from memorywire.wire.codec import encode
from tests.http.server import serving
from tests.openwop.stage import good, hosting
from tests.spec.schemas import faults

STORES = {
    "lasting": ("sqlite://{}/memory.db", list(DIMENSIONS)),
    "passing": ("memory://", [name for name in DIMENSIONS if name not in ("long-term", "replay-snapshot")]),
    "without a past": ("markdown://{}/notes", ["read", "search", "retention"]),
}


@pytest.mark.parametrize("kind", STORES)
def test_capabilities_tell_what_the_discovery_document_tells(kind: str, tmp_path: Path) -> None:
    """Proves CP-4."""
    url, dimensions = STORES[kind]
    with hosting(tmp_path, store=url.format(tmp_path), testing=False) as stage:
        answer = good(stage.mine.get("/v0/capabilities"))
        build_document = good(stage.mine.get("/.well-known/openwop"))
    assert faults("capabilities.response", answer) == []
    families = {name: build_document[name] for name in ("memory", "agents")}
    assert answer["openwop"] == {"served": True, **families, "dimensions": dimensions}


def test_a_server_that_is_no_host_says_so_and_what_it_would_provide() -> None:
    with serving("memory://") as server:
        answer: dict[str, Any] = server.client.get("/v0/capabilities").json
        assert server.client.get("/.well-known/openwop").status == 404
    assert faults("capabilities.response", answer) == []
    assert answer["openwop"]["served"] is False
    assert answer["openwop"]["dimensions"] == STORES["passing"][1]


@pytest.mark.parametrize("kind", STORES)
def test_a_client_has_the_capabilities_of_its_server_as_a_value(kind: str, tmp_path: Path) -> None:
    with (
        hosting(tmp_path, store=STORES[kind][0].format(tmp_path), testing=False) as stage,
        BlockingClient(stage.mine.url, token=stage.mine.token) as memory,
    ):
        near = stage.server.container.capabilities
        far = memory.capabilities()
        told = memory.call("capabilities", {})
    assert (far.stores, far.space, far.features) == (near.stores, near.space, near.features)
    assert {**encode(far), "limits": told["limits"]} == told
