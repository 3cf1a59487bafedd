"""Reading the log of a coding agent's session: what a person and the agent said, and nothing around it.

Claude Code, Codex and Cursor each write one JSON object a line. Results of tools, side conversations and the
blocks that hosts put around a prompt are no part of what was said.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from memorywire.integrations.storable import storable
from memorywire.model.jsontext import parse_json
from memorywire.model.record import Json

MOST_CHARS = 16_000

_SPEAKERS = frozenset({"user", "assistant"})
_TEXTS = frozenset({"text", "input_text", "output_text"})
_AROUND = (
    "system-reminder|command-name|command-message|command-args|local-command-stdout|local-command-stderr|"
    "local-command-caveat|environment_context|user_instructions|INSTRUCTIONS|task-notification"
)
_BLOCK = re.compile(rf"<({_AROUND})>.*?(?:</\1>|\Z)", re.DOTALL)
_WRAPPING = re.compile(r"</?user_query>")


def messages(lines: Iterable[bytes]) -> list[dict[str, Json]]:
    """The turns of these lines, as the message layer takes them; what is not understood is left out."""
    read = (_message(document) for document in map(_document, lines) if document is not None)
    return [message for message in read if message is not None]


def _document(line: bytes) -> Mapping[str, Json] | None:
    try:
        found = parse_json(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _message(document: Mapping[str, Json]) -> dict[str, Json] | None:
    if document.get("isMeta") or document.get("isSidechain"):
        return None
    inner = document.get("payload") if document.get("type") == "response_item" else document.get("message")
    said = inner if isinstance(inner, dict) else document
    role = said.get("role", document.get("role"))
    words = _words(said.get("content"))
    if role not in _SPEAKERS or not words:
        return None
    at = _moment(document.get("timestamp"))
    return {"role": role, "content": words, **({} if at is None else {"at": at})}


def _words(content: Json) -> str:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") in _TEXTS]
    said = "\n".join(text for text in texts if isinstance(text, str))
    return storable(_WRAPPING.sub("", _BLOCK.sub("", said)).strip()[:MOST_CHARS])


def _moment(stamp: Json) -> int | None:
    """Epoch milliseconds of an ISO time; None for what is no time, or is before the epoch."""
    try:
        moment = int(datetime.fromisoformat(stamp).timestamp() * 1000)
    except (TypeError, ValueError, OverflowError):
        return None
    return moment if moment >= 0 else None
