"""Another memorywire for tests: a real server whose store is served to us."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from memorywire_server.http.peers import store_mount
from memorywire_testing.samples import SPACE
from tests.http.server import Server, serving


class Mute:
    """Knows its space and embeds nothing: whoever writes to a store brings the vectors."""

    space = SPACE

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        raise AssertionError("nothing is embedded at the other end")

    async def close(self) -> None:
        """Nothing to close."""


@contextmanager
def peer(store: str, **options: Any) -> Iterator[Server]:
    with serving(store, mounts=lambda container: [store_mount(container)], **options) as server:
        yield server
