"""A record: one version of one memory, and the scope it belongs to."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, TypeAlias

from msgspec import Struct, field

Json: TypeAlias = Any  # a JSON value; a recursive type would let mypy check nothing more here

END_OF_CALENDAR = 253_402_300_800_000
"""The year 10,000: Python's datetime cannot represent this moment or a later one."""

DEFAULT_TENANT = "default"

LOCAL = "local"
"""The caller when no authentication took place: the one user of this machine."""

PERSON = "person:local"
"""The caller of a command: the person at this machine, with the rights of an operator."""

ENTRY_TEXT = ""
"""The name of the indexed text in the content of an entry; it cannot be a key, because keys are not empty."""

ENTRY_FORM, ENTRY_FORM_AT = "8", 14
"""RFC 9562: the version digit of ids with a custom format, such as those of entries, and its index."""

_SILENT = frozenset({int, float, bool, type(None)})  # values without words

_in_order = json.JSONEncoder(sort_keys=True).encode

# Not strftime, which depends on the locale.
_MONTHS = "January February March April May June July August September October November December".split()


class MemoryType(StrEnum):
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    EMOTIONAL = "emotional"


class Standing(StrEnum):
    """The role of a live record in recall: full score, a quarter of its score, or only on request."""

    ACTIVE = "active"
    DEMOTED = "demoted"
    ARCHIVED = "archived"


class Trust(StrEnum):
    """The trust in the source of a memory. A derived memory is trusted no more than its sources."""

    UNTRUSTED = "untrusted"
    STANDARD = "standard"
    TRUSTED = "trusted"

    @staticmethod
    def lowest(*levels: "Trust") -> "Trust":
        return min(levels, key=list(Trust).index) if len(levels) > 1 else levels[0]


RECALLABLE = frozenset({Standing.ACTIVE, Standing.DEMOTED})
DEMOTED_FACTOR = 0.25


# gc=False, here and in other values of a write: they hold no cycles, and thousands of them in a bulk write
# would be traversed again and again by the garbage collector (a tenth of its time).
class Scope(Struct, frozen=True, kw_only=True, gc=False):
    """The owner of memories: an agent of a tenant, and one of its users or (None) all of them."""

    agent: str
    user: str | None = None
    tenant: str = DEFAULT_TENANT

    def covers(self, other: "Scope") -> bool:
        """Whether a request in this scope may see a record that lives in `other`."""
        return self is other or (
            self.tenant == other.tenant
            and self.agent == other.agent
            and (self.user is None or self.user == other.user)
        )


class Record(Struct, frozen=True, kw_only=True, gc=False):
    """One version of a memory, the same in every store and for every reader."""

    id: str
    scope: Scope
    type: MemoryType
    content: str | Mapping[str, Json]
    created_at: int
    updated_at: int
    version: int = 1
    confidence: float = 1.0
    metadata: Mapping[str, Json] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    source: str | None = None
    session_id: str | None = None
    occurred_at: int | None = None
    expires_at: int | None = None
    standing: Standing = Standing.ACTIVE
    supersedes: tuple[str, ...] = ()
    merged_from: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    trust: Trust = Trust.STANDARD
    recalled_at: int | None = None

    def alive(self, at: int) -> bool:
        return self.expires_at is None or at < self.expires_at

    @property
    def moment(self) -> int:
        """When it happened, if known; otherwise when it was created."""
        return self.created_at if self.occurred_at is None else self.occurred_at

    @property
    def speaker(self) -> str | None:
        """The speaker, by convention `metadata.speaker`, otherwise `metadata.role`."""
        if not self.metadata:
            return None
        for name in ("speaker", "role"):
            if isinstance(self.metadata.get(name), str):
                return str(self.metadata[name])
        return None

    @property
    def person(self) -> str | None:
        """The name in `metadata.speaker`, if there is one; a role does not count."""
        name = self.metadata.get("speaker")
        return name if isinstance(name, str) else None

    @property
    def conversation(self) -> str | None:
        """The session of which it is a turn; None for memories that are not turns, such as a fact or a rule.

        A mark of the message layer decides; a memory without one is a turn if it has a speaker or a role.
        """
        if self.session_id is None:
            return None
        mark = self.metadata.get("layer")
        kind = mark.get("kind") if isinstance(mark, Mapping) else None
        is_turn = kind == "turn" if isinstance(kind, str) else self.speaker is not None
        return self.session_id if is_turn else None

    @property
    def words(self) -> str:
        """The content as text; of an object, its keys and strings."""
        if isinstance(self.content, str):
            return self.content
        words: list[str] = []
        _gather(self.content, words)
        return " ".join(words)

    @property
    def text(self) -> str:
        """The text to index: time and speaker, where known, then the content."""
        speaker, words = self.speaker, self._indexed_words
        if speaker:
            words = f"{speaker}: {words}"
        return words if self.occurred_at is None else f"{_format_time(self.occurred_at)}{words}"

    @property
    def meaning(self) -> str:
        """The text to embed: the speaker's name and the content. Times and roles would blur the vector."""
        person, words = self.person, self._indexed_words
        return f"{person}: {words}" if person else words

    @property
    def _indexed_words(self) -> str:
        """Return the words to index: all, unless a key-value entry limits them by its `index` setting."""
        if isinstance(self.content, str):
            return self.content
        if self.id[ENTRY_FORM_AT : ENTRY_FORM_AT + 1] != ENTRY_FORM:
            return self.words
        mark = self.metadata.get("kv")
        limit = mark.get("index") if isinstance(mark, Mapping) else None
        if limit is None:
            return self.words
        return str(self.content.get(ENTRY_TEXT, "")) if limit == "text" else ""

    @property
    def digest(self) -> str:
        """A digest of type, normalised content and event time, equal for repeated memories."""
        return digest_content(self.type, self.content, self.occurred_at)


def digest_content(type: MemoryType, content: str | Mapping[str, Json], moment: int | None) -> str:
    """Return the digest of a record with this type, content and event time."""
    if isinstance(content, str):  # the same text as the encoder's, but faster; most memories are text
        words = content if content.isascii() else unicodedata.normalize("NFC", content)
        quotation = quoted(" ".join(words.split()))
        text = f'["{type}", {quotation}, {"null" if moment is None else moment}]'
    else:
        text = _in_order([type, content, moment])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _format_time(moment: int) -> str:
    """Format a time in words, in brackets; empty for a time outside the calendar."""
    if not 0 <= moment < END_OF_CALENDAR:
        return ""
    at = datetime.fromtimestamp(moment // 1000, UTC)
    half = "am" if at.hour < 12 else "pm"
    return f"[{at.hour % 12 or 12}:{at.minute:02} {half} on {at.day} {_MONTHS[at.month - 1]}, {at.year}] "


def _gather(value: Json, words: list[str]) -> None:
    if isinstance(value, str):
        words.append(value)
    elif type(value) is dict or isinstance(value, Mapping):  # the first check is the faster one
        for key, inner in value.items():
            words.append(key)
            if type(inner) is str:
                words.append(inner)
            elif type(inner) not in _SILENT:
                _gather(inner, words)
    elif isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, words)
