"""JSON files: helpers to read them safely, and the importers of ChatGPT, Claude and the MCP memory server."""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from memorywire.migrate.importers.source import ImportedMemory, build_importer, parse_time, read_file_time
from memorywire.model.codec import parse_json
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, MemoryType

_CONVERSATIONS = "conversations.json"
_EXPORT = "the zip of the export, its folder, or its conversations.json"
_MIB = 1024 * 1024
_MEMBER_BYTES_MAX = 1024 * _MIB
# Text compresses about ten times; a hundred times, in a large member, is a decompression bomb.
_RATIO_CHECK_BYTES, _RATIO_MAX = 32 * _MIB, 100


def read_json(path: Path, name: str) -> Json:
    """Read the JSON file `name`: `path` itself, or a file in the folder or zip `path`; None without one."""
    text = _read_text(path, name)
    if text is None:
        return None
    try:
        return parse_json(text)
    except ValueError as error:
        raise InvalidRequest(f"{name} is not JSON: {error}", field="file") from error


def _read_text(path: Path, name: str) -> str | None:
    if path.is_dir():
        member = path / name
        return member.read_text(encoding="utf-8") if member.is_file() else None
    if not zipfile.is_zipfile(path):
        return path.read_text(encoding="utf-8") if path.name == name else None
    with zipfile.ZipFile(path) as archive:
        file = next((one for one in archive.namelist() if one.rpartition("/")[2] == name), None)
        return None if file is None else _unpack(archive, archive.getinfo(file))


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """Return the text of a file in an archive; raises before unpacking if it would not fit into memory."""
    ratio = member.file_size / max(member.compress_size, 1)
    is_bomb = member.file_size > _RATIO_CHECK_BYTES and ratio > _RATIO_MAX
    if member.file_size > _MEMBER_BYTES_MAX or is_bomb:
        raise InvalidRequest(
            f"{member.filename} takes {member.file_size // _MIB} MiB, {ratio:.0f} times as much as packed",
            field="file",
            fix="if you trust the archive, unpack it and pass the folder",
        )
    return archive.read(member).decode("utf-8")


def parse_if_json(value: Json) -> Json:
    """Return the value, parsed if it is a string or bytes with JSON."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def as_object(value: Json) -> dict[str, Json]:
    """Return the object in a column; an empty one if the column has another value."""
    content = parse_if_json(value)
    return dict(content) if isinstance(content, Mapping) else {}


def _is_export(path: Path, field: str) -> bool:
    """Whether the JSON is an assistant's export, whose conversations have this field."""
    if path.suffix not in (".zip", ".json") and not path.is_dir():
        return False
    conversations = read_json(path, _CONVERSATIONS)
    return isinstance(conversations, list) and any(field in one for one in conversations[:1])


def _list_chatgpt_messages(path: Path) -> Iterator[ImportedMemory]:
    for conversation in read_json(path, _CONVERSATIONS) or ():
        started = parse_time(conversation.get("create_time"), 0)
        session = str(conversation.get("conversation_id") or conversation.get("id") or started)
        for id, message in _list_branch(conversation):
            role = message["author"]["role"]
            parts = (message.get("content") or {}).get("parts") or ()
            text = "\n".join(part for part in parts if isinstance(part, str)).strip()
            at = parse_time(message.get("create_time"), started)
            if role in ("user", "assistant") and text:
                yield ImportedMemory(
                    key=id,
                    content=text,
                    at=at,
                    occurred_at=at,
                    type=MemoryType.EPISODIC,
                    session=session,
                    metadata={"role": role, "title": conversation.get("title") or ""},
                )


def _list_branch(conversation: Mapping[str, Json]) -> list[tuple[str, Mapping[str, Json]]]:
    """Return the messages on the branch that was shown last, oldest first."""
    nodes, messages = conversation["mapping"], []
    id = conversation.get("current_node") or next(reversed(nodes), None)
    while id is not None and id in nodes:
        node = nodes[id]
        if node.get("message"):
            messages.append((str(id), node["message"]))
        id = node.get("parent")
    return messages[::-1]


CHATGPT = build_importer(
    "chatgpt",
    _EXPORT,
    lambda path: _is_export(path, "mapping"),
    _list_chatgpt_messages,
    losses=(
        "pictures and files",
        "branches that were left for another answer",
        "saved memories: no export has them",
    ),
)


def _list_claude_memories(path: Path) -> Iterator[ImportedMemory]:
    for conversation in read_json(path, _CONVERSATIONS) or ():
        started = parse_time(conversation.get("created_at"), 0)
        for message in conversation.get("chat_messages", ()):
            at = parse_time(message.get("created_at"), started)
            role = "user" if message.get("sender") == "human" else "assistant"
            parts = [part for part in message.get("content") or () if part.get("type") == "text"]
            texts = [str(part["text"]) for part in parts if part.get("text")]
            yield ImportedMemory(
                key=str(message["uuid"]),
                content=message.get("text") or "\n".join(texts),
                at=at,
                occurred_at=at,
                type=MemoryType.EPISODIC,
                session=str(conversation["uuid"]),
                metadata={"role": role, "title": conversation.get("name") or ""},
            )
    at = read_file_time(path)
    for number, memories in enumerate(read_json(path, "memories.json") or ()):
        # Claude's summaries of its user, in general and for each project.
        summaries = {"": memories.get("conversations_memory"), **(memories.get("project_memories") or {})}
        for project, text in summaries.items():
            if isinstance(text, str) and text.strip():
                metadata = {"project": project} if project else {}
                key = f"memory {number} {project}"
                yield ImportedMemory(key=key, content=text, at=at, tags=("memory",), metadata=metadata)


CLAUDE = build_importer(
    "claude",
    _EXPORT,
    lambda path: _is_export(path, "chat_messages"),
    _list_claude_memories,
    losses=("attached files", "projects", "which answer was thrown away for another"),
)


def _read_json_lines(path: Path) -> Iterator[Mapping[str, Json]]:
    """Read a file with one object per line."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                content = parse_json(line)
            except ValueError as error:
                raise InvalidRequest(f"line {number} is not JSON: {error}", field="file") from error
            if not isinstance(content, dict):
                raise InvalidRequest(f"line {number} is not a JSON object", field="file")
            yield content


def _recognises_mcp_memory(path: Path) -> bool:
    if not path.is_file() or path.suffix not in (".json", ".jsonl"):
        return False
    try:
        first = next(_read_json_lines(path), None)
    except (InvalidRequest, UnicodeDecodeError):
        return False
    return first is not None and first.get("type") in ("entity", "relation")


def _list_graph(path: Path) -> Iterator[ImportedMemory]:
    """Yield a memory for each relation and observation; for an entity without any, one for its existence."""
    at = read_file_time(path)
    for line in _read_json_lines(path):
        if line.get("type") == "entity":
            name, kind = str(line["name"]), str(line["entityType"])
            observations = [f"{name}: {one}" for one in line.get("observations", ())]
            metadata = {"entity": name, "entity_type": kind}
            for text in observations or [f"{name} is a {kind}"]:
                key = f"{name}\n{text}"
                yield ImportedMemory(key=key, content=text, at=at, tags=(kind,), metadata=metadata)
        elif line.get("type") == "relation":
            subject, target, relation = str(line["from"]), str(line["to"]), str(line["relationType"])
            yield ImportedMemory(
                key=f"{subject}\n{relation}\n{target}",
                content=f"{subject} {relation.replace('_', ' ')} {target}",
                at=at,
                tags=("relation",),
                metadata={"from": subject, "to": target, "relation": relation},
            )


MCP_MEMORY = build_importer(
    "mcp-memory",
    "the file that MEMORY_FILE_PATH names, with an entity or a relation on each line",
    _recognises_mcp_memory,
    _list_graph,
    losses=("when something was learnt: the file does not say, so its own time is taken",),
)
