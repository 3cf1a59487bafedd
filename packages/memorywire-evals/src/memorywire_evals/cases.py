"""Cases: memories, questions about them, and which memories answer them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from msgspec import Struct, field

from memorywire.model.record import Json

STEP_MS = 1_000
"""The time between two turns of a session, so that their order is preserved."""


class Item(Struct, frozen=True, kw_only=True):
    """One memory of a case; `ref` names it inside the case."""

    ref: str
    content: str
    type: str = "episodic"
    session: str | None = None
    occurred_at: int | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    user: str | None = None
    supersedes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text that the baselines index: "[8 May 2023] speaker: words"."""
        speaker = self.metadata.get("speaker") or self.metadata.get("role")
        named = f"{speaker}: {self.content}" if speaker else self.content
        return named if self.occurred_at is None else f"[{day(self.occurred_at)}] {named}"

    @property
    def meaning(self) -> str:
        """The text that the baselines embed: the same, or only the content if a role stands in for a name."""
        unnamed = "role" in self.metadata and not self.metadata.get("speaker")
        return self.content if unnamed else self.text


class Expectation(Struct, frozen=True, kw_only=True):
    """What a recall must return in each tier; None makes no claim about that tier."""

    scopes: tuple[str, ...]
    user: str
    most: int
    only: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    not_pinned: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    not_open: tuple[str, ...] = ()


class Question(Struct, frozen=True, kw_only=True):
    """A question and its evidence.

    `gold` are refs of items, `audited` the same with known label errors fixed. `ages` are groups
    of refs from the oldest statement to the newest. `answers` are strings of which one must occur in the
    recalled texts, `answer` is what a person would say. A question that is not `answerable` may still
    have evidence of its topic.
    """

    id: str
    text: str
    category: str
    gold: tuple[str, ...] = ()
    audited: tuple[str, ...] = ()
    gold_sessions: tuple[str, ...] = ()
    ages: tuple[tuple[str, ...], ...] = ()
    answers: tuple[str, ...] = ()
    answer: str | None = None
    asked_at: int | None = None
    answerable: bool = True
    marks: tuple[str, ...] = ()
    expect: Expectation | None = None


class Pair(Struct, frozen=True, kw_only=True):
    """Two similar memories, which must be kept apart or recognised as the same."""

    id: str
    first: str
    second: str
    contradict: bool


class Case(Struct, frozen=True, kw_only=True):
    """The content of one memory: a conversation, a haystack, a corpus.

    `untrusted` are items that are false without any sign of it. `skipped` counts turns without words, which
    no store keeps.
    """

    id: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    pairs: tuple[Pair, ...] = ()
    untrusted: frozenset[str] = frozenset()
    skipped: int = 0


class Dataset(Struct, frozen=True, kw_only=True):
    """The cases of one split, built one at a time so that a large set need not fit in memory."""

    name: str
    split: str
    digest: str
    case_ids: tuple[str, ...]
    build: Callable[[str], Case]


def day(epoch_ms: int) -> str:
    """Return a date such as "8 May 2023"."""
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return f"{moment.day} {moment:%B} {moment.year}"


def epoch_ms(text: str, form: str) -> int:
    """Parse a dataset's date as UTC, in epoch milliseconds."""
    return round(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp() * 1000)
