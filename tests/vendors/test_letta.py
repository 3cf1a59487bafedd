"""Letta, for real: the whole kit, and its traps, on a server of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vendors.environments import examined, judged, keeps_every_promise, needs_everything
from tests.vendors.inside.judge import claims
from tests.vendors.inside.letta import SERVER
from tests.vendors.letta_server import a_letta_server

pytestmark = pytest.mark.products

pytestmark = needs_everything("letta")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with a_letta_server() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv(SERVER, url)
        yield url


@pytest.mark.timeout(3600)  # every memory is embedded by the server, one by one
def test_letta_keeps_every_promise(server: str, tmp_path: Path) -> None:
    keeps_every_promise(examined("letta", server % tmp_path))


@pytest.mark.parametrize("claim", claims("letta"))
def test_letta(server: str, claim: str) -> None:
    assert judged("letta", "letta")[claim] is None
