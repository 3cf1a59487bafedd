"""Reads the log of a coding agent's session: only the messages of the person and of the agent.

Claude Code, Codex and Cursor each write one JSON object a line. Tool results, side conversations and the
blocks that hosts put around a prompt are not messages.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from memorywire.hooks.hosts import Briefing
from memorywire.model.answers import ContextLine, Hit
from memorywire.model.codec import parse_json
from memorywire.model.record import Json, Record, Trust
from memorywire.model.text import storable
from memorywire.search.render import render, render_lines
from memorywire.search.token_budget import cost

MOST_CHARS = 16_000

_TEXTS = frozenset({"text", "input_text", "output_text"})
_AROUND = (
    "system-reminder|command-name|command-message|command-args|local-command-stdout|local-command-stderr|"
    "local-command-caveat|environment_context|user_instructions|INSTRUCTIONS|task-notification"
)
_BLOCK = re.compile(rf"<({_AROUND})>.*?(?:</\1>|\Z)", re.DOTALL)
_WRAPPING = re.compile(r"</?user_query>")


def messages(lines: Iterable[bytes]) -> list[dict[str, Json]]:
    """Return the turns in these lines for the message layer; skips unknown lines."""
    turns: list[dict[str, Json]] = []
    for line in lines:
        try:
            document = parse_json(line)
        except ValueError:
            continue
        if not isinstance(document, dict) or document.get("isMeta") or document.get("isSidechain"):
            continue
        inner = document.get("payload" if document.get("type") == "response_item" else "message")
        message = inner if isinstance(inner, dict) else document
        role, words = message.get("role", document.get("role")), _words(message.get("content"))
        if role not in ("user", "assistant") or not words:
            continue
        at = _moment(document.get("timestamp"))
        turns.append({"role": role, "content": words, **({} if at is None else {"at": at})})
    return turns


def _words(content: Json) -> str:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") in _TEXTS]
    text = "\n".join(text for text in texts if isinstance(text, str))
    return storable(_WRAPPING.sub("", _BLOCK.sub("", text)).strip()[:MOST_CHARS])


def _moment(stamp: Json) -> int | None:
    """Return an ISO time in epoch milliseconds; None if it is invalid or before the epoch."""
    try:
        moment = int(datetime.fromisoformat(stamp).timestamp() * 1000)
    except (TypeError, ValueError, OverflowError):
        return None
    return moment if moment >= 0 else None


START_TOKENS = 800
PROMPT_TOKENS = 600
_FIRST = ("blacklist", "do")
_OPENING_TAGS = ("pinned", "know", *_FIRST)
"""Tags of what every session should know, do and never do, as consolidation sets them."""

PINNED = {
    "or": [
        {"metadata.pinned": True},
        {"metadata.fact.pinned": True},
        *({"tags": {"contains": tag}} for tag in _OPENING_TAGS),
    ],
}


def opening(pinned: Sequence[Record], *, total: int, waiting: int) -> Briefing:
    """Build the briefing of a session: pinned memories within the budget, and counts with those to review.

    A memory from an untrusted source is never shown at the start of a session, even if it is pinned.
    """
    if not total and not waiting:
        return Briefing()
    counts = f"memorywire keeps {_count_memories(total)}; the tool `recall` finds the others."
    # Prohibitions first, then instructions, because the budget cuts the end.
    trusted = [one for one in pinned if one.trust is not Trust.UNTRUSTED]
    trusted.sort(
        key=lambda one: next((rank for rank, tag in enumerate(_FIRST) if tag in one.tags), len(_FIRST))
    )
    hits = [Hit(record=record, score=1.0, stores=()) for record in trusted]
    block = render(hits, max_tokens=START_TOKENS - cost(counts))
    ids = tuple(hit.id for hit in hits if f'<memory id="{hit.id}"' in block)  # others did not fit
    verb = "awaits" if waiting == 1 else "await"
    notice = f"{_count_memories(waiting)} {verb} review: memorywire review" if waiting else ""
    return Briefing(context="\n".join(part for part in (counts, block) if part), shown=ids, notice=notice)


def answering(lines: Sequence[ContextLine], *, already: Collection[str]) -> Briefing:
    """Build a briefing of the context lines that the model has not seen yet, within the budget."""
    news = [line for line in lines if line.id not in already]
    contents = [one.content for one in news]
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in contents]
    places, block = render_lines(texts, PROMPT_TOKENS)
    return Briefing(context=block, shown=tuple(news[place].id for place in places))


def _count_memories(number: int) -> str:
    return f"{number} {'memory' if number == 1 else 'memories'}"
