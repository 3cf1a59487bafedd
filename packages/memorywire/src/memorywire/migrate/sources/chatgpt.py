"""The data export of ChatGPT: what was said in its conversations."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from memorywire.migrate.sources.documents import CONVERSATIONS, document, is_export
from memorywire.migrate.sources.found import Found, Origin, Source, moment, source
from memorywire.model.record import Json, MemoryType

WANTED = "the zip of the export, its folder, or its conversations.json"

_SPEAKERS = frozenset({"user", "assistant"})


def recognises(path: Path) -> bool:
    return is_export(path, "mapping")


def read(origin: Origin) -> Source:
    losses = (
        "pictures and files",
        "branches that were left for another answer",
        "saved memories: no export has them",
    )
    return source("chatgpt", origin, lambda: _found(origin.path), losses)


def _found(path: Path) -> Iterator[Found]:
    for conversation in document(path, CONVERSATIONS) or ():
        started = moment(conversation.get("create_time"), 0)
        session = str(conversation.get("conversation_id") or conversation.get("id") or started)
        for id, message in _thread(conversation):
            role = message["author"]["role"]
            said = _words(message.get("content") or {})
            at = moment(message.get("create_time"), started)
            if role in _SPEAKERS and said:
                yield Found(
                    key=id,
                    content=said,
                    at=at,
                    occurred_at=at,
                    type=MemoryType.EPISODIC,
                    session=session,
                    metadata={"role": role, "title": conversation.get("title") or ""},
                )


def _thread(conversation: Mapping[str, Json]) -> list[tuple[str, Mapping[str, Json]]]:
    """The messages on the branch that was shown last, from the first on."""
    nodes, thread = conversation["mapping"], []
    at = conversation.get("current_node") or next(reversed(nodes), None)
    while at is not None and at in nodes:
        node = nodes[at]
        if node.get("message"):
            thread.append((str(at), node["message"]))
        at = node.get("parent")
    return thread[::-1]


def _words(content: Mapping[str, Json]) -> str:
    return "\n".join(part for part in content.get("parts") or () if isinstance(part, str)).strip()
