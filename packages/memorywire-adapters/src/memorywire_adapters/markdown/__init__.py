"""Memories as Markdown files, one each, that people can read, edit and keep in git: `markdown:///folder`."""

from memorywire.model.errors import InvalidRequest
from memorywire.model.space import Space
from memorywire_adapters.markdown.folder import Folder
from memorywire_adapters.markdown.store import MarkdownStore
from memorywire_adapters.sidecar import OneThread, Sidecar, WriteLock, locate

__all__ = ["MarkdownStore", "open_store"]


async def open_store(url: str, *, space: Space) -> MarkdownStore:
    """Open the store in this folder, creating it if it does not exist."""
    root = locate(url).path
    if root is None:
        raise InvalidRequest("the URL does not name a folder", field="store", fix="write markdown:///folder")
    folder, thread = Folder(root), OneThread("markdown")

    def open_sidecar() -> Sidecar:
        folder.prepare()
        return Sidecar(folder.own / "books.db", space)

    sidecar = await thread.do(open_sidecar)
    return MarkdownStore(folder, sidecar, WriteLock(folder.own / "turn"), thread, space)
