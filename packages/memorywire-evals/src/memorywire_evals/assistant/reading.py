"""Measures which facts the built-in extractor finds in messages added by `memory.layer.add`."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorywire.client.memory import Memory
from memorywire.model.clock import DAY_MS
from memorywire.model.record import Json, Record
from memorywire_evals.assistant.data import GoldFact, Message, Words

_NO = re.compile(r"n['’]t\b|\b(?:not?|never|nor|none|nothing|without|cannot|neither)\b", re.IGNORECASE)
_AGAINST = re.compile(r"\b(?:dislik|hate|avoid|loath|detest|refus|intoleran|allerg)", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|my|me|mine|we|our|us)\b")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`")
_BEGIN_MS = 1_780_000_000_000


class Reading(Struct, frozen=True, kw_only=True):
    """What was stored for one message: its facts, and whether the turn itself is stored.

    `earlier` are the facts of the person's message before, `left` those that remain after the message.
    """

    facts: tuple[str, ...] = ()
    is_turn_kept: bool = True
    earlier: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def has_words(text: str, words: Words) -> bool:
    """Return whether a word of each group occurs in the text, as a substring, ignoring case."""
    low = text.casefold()
    return all(any(word.casefold() in low for word in group) for group in words)


def matches(text: str, fact: GoldFact, source: str) -> bool:
    """Return whether a stored text states the fact, with the same polarity as its source."""
    if not has_words(text, fact.words):
        return False
    if fact.negative:
        return bool(_NO.search(text) or _AGAINST.search(text)) or not _NO.search(source)
    return not _NO.search(text) or bool(_NO.search(source))


def score(messages: Sequence[Message], readings: dict[str, Reading]) -> dict[str, float]:
    """Return the figures of the set."""
    sentences = [message for message in messages if message.group == "sentence"]
    others = [message for message in messages if message.group != "sentence"]
    stored = [(message, text) for message in sentences for text in readings[message.id].facts]
    right = [(message, text) for message, text in stored if _is_right(text, message)]
    required = [(message, fact) for message in sentences for fact in message.facts if not fact.optional]
    read = [
        fact
        for message, fact in required
        if any(matches(text, fact, message.text) for text in readings[message.id].facts)
    ]
    told = [message for message in others if any(_ended(message, readings[message.id].earlier))]
    outlived = [message for message in told if any(_ended(message, readings[message.id].left))]
    empty = [message for message in sentences if not message.facts]
    kept = [text for message in others for text in readings[message.id].facts]
    figures: dict[str, float] = {
        "precision": _share(len(right), len(stored)),
        "recall": _share(len(read), len(required)),
        "wrongly kept": len(kept),
        "messages without a fact, a fact kept": sum(bool(readings[one.id].facts) for one in empty),
        "earlier facts ended": _share(len(told) - len(outlived), len(told)),
        "retractions with an earlier fact": len(told),
        "turns lost": sum(not reading.is_turn_kept for reading in readings.values()),
        "third person": _share(sum(not _is_first_person(text) for _, text in stored), len(stored)),
        "facts stored": len(stored),
        "facts to read": len(required),
    }
    return figures


def rows(messages: Sequence[Message], readings: dict[str, Reading]) -> list[dict[str, Json]]:
    """Return what was stored for each message, and its errors."""
    return [_row(message, readings[message.id]) for message in messages]


def _row(message: Message, reading: Reading) -> dict[str, Json]:
    missed = [
        f"{fact.kind}/{fact.slot}"
        for fact in message.facts
        if not fact.optional and not any(matches(text, fact, message.text) for text in reading.facts)
    ]
    return {
        "id": message.id,
        "group": message.group,
        "text": message.text,
        "stored": list(reading.facts),
        "missed": missed,
        "wrong": [text for text in reading.facts if not _is_right(text, message)],
        "not ended": list(_ended(message, reading.left)),
    }


def _is_right(text: str, message: Message) -> bool:
    return any(matches(text, fact, message.text) for fact in message.facts)


def _ended(message: Message, facts: Iterable[str]) -> list[str]:
    """Return the facts that the message retracts."""
    return [text for text in facts if message.ended and has_words(text, message.ended)]


def _is_first_person(text: str) -> bool:
    return bool(_FIRST_PERSON.search(_QUOTED.sub("", text)))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def moment_after(messages: Sequence[Message]) -> int:
    """Return the time a day after the last message."""
    return _BEGIN_MS + len(messages) * DAY_MS


async def read_all(messages: Sequence[Message], memory: Memory) -> dict[str, Reading]:
    """Add each message as a separate user, and return what was stored."""
    return {
        message.id: await _read(message, memory, _BEGIN_MS + place * DAY_MS)
        for place, message in enumerate(messages)
    }


async def _read(message: Message, memory: Memory, at: int) -> Reading:
    user = f"reading-{message.id}"
    if message.before is not None:
        await _say(memory, message.before, user, at - DAY_MS)
    before = await _list_records(memory, user)
    await _say(memory, message.text, user, at)
    after = await _list_records(memory, user)
    earlier = [_text(record) for record in before if _kind(record) == "fact"]
    facts = [_text(record) for record in after if _kind(record) == "fact"]
    turns = [_text(record) for record in after if _kind(record) == "turn"]
    return Reading(
        facts=tuple(text for text in facts if text not in earlier),
        is_turn_kept=any(_is_kept(message.text, turn) for turn in turns),
        earlier=tuple(earlier),
        left=tuple(text for text in facts if text in earlier),
    )


def _is_kept(text: str, turn: str) -> bool:
    """Return whether the turn has the whole text; a marker may replace a secret in it."""
    pattern = r".+".join(re.escape(part) for part in _MARK.split(turn))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


_MARK = re.compile(r"\[REDACTED:[a-z_-]+\]")


async def _say(memory: Memory, text: str, user: str, at: int) -> None:
    event = await memory.layer.add([{"role": "user", "content": text, "at": at}], user_id=user)
    if event.state.value == "pending":
        await memory.layer.work()


async def _list_records(memory: Memory, user: str) -> list[Record]:
    return list(await memory.list(user_id=user, limit=100))


def _kind(record: Record) -> str:
    mark = record.metadata.get("layer")
    return str(mark.get("kind", "")) if isinstance(mark, dict) else ""


def _text(record: Record) -> str:
    return record.content if isinstance(record.content, str) else str(record.content)
