"""The data export of Claude: what was said, and what it keeps about its user."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from memorywire.migrate.sources.documents import CONVERSATIONS, document, is_export
from memorywire.migrate.sources.found import Found, Origin, Source, moment, source, written_at
from memorywire.model.record import Json, MemoryType

WANTED = "the zip of the export, its folder, or its conversations.json"


def recognises(path: Path) -> bool:
    return is_export(path, "chat_messages")


def read(origin: Origin) -> Source:
    losses = ("attached files", "projects", "which answer was thrown away for another")
    return source("claude", origin, lambda: _found(origin.path), losses)


def _found(path: Path) -> Iterator[Found]:
    for conversation in document(path, CONVERSATIONS) or ():
        started = moment(conversation.get("created_at"), 0)
        for message in conversation.get("chat_messages", ()):
            said = message.get("text") or _texts(message.get("content") or [])
            at = moment(message.get("created_at"), started)
            role = "user" if message.get("sender") == "human" else "assistant"
            yield Found(
                key=str(message["uuid"]),
                content=said,
                at=at,
                occurred_at=at,
                type=MemoryType.EPISODIC,
                session=str(conversation["uuid"]),
                metadata={"role": role, "title": conversation.get("name") or ""},
            )
    for number, kept in enumerate(document(path, "memories.json") or ()):
        yield from _memories(kept, number, written_at(path))


def _memories(kept: Mapping[str, Json], number: int, at: int) -> Iterator[Found]:
    """What Claude wrote down about its user, in general and for each project."""
    said = {"": kept.get("conversations_memory"), **(kept.get("project_memories") or {})}
    for project, words in said.items():
        if isinstance(words, str) and words.strip():
            metadata = {"project": project} if project else {}
            yield Found(
                key=f"memory {number} {project}", content=words, at=at, tags=("memory",), metadata=metadata
            )


def _texts(parts: list[Mapping[str, Json]]) -> str:
    return "\n".join(str(part["text"]) for part in parts if part.get("type") == "text" and part.get("text"))
