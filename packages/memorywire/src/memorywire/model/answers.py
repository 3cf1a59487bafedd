"""Answers: receipts of writes, hits of recalls, and an outcome for each store."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import TypeAlias

from msgspec import Struct

from memorywire.model.change import Change, Version
from memorywire.model.record import Json, MemoryType, Record
from memorywire.model.requests import Action, Fusion, Strategy


def build_table(headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return an HTML table with these cells."""
    from html import escape  # imports a table of 2,000 entities, which only notebooks need

    def build_row(row: Sequence[object]) -> str:
        cells = (f'<td style="text-align:left">{escape(_write(value))}</td>' for value in row)
        return f"<tr>{''.join(cells)}</tr>"

    head = "".join(f"<th>{escape(name)}</th>" for name in headers)
    body = "".join(map(build_row, rows))
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def build_summary(value: Struct) -> str:
    """Return a table of the fields that have a value."""
    fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return build_table(
        ("field", "value"), [one for one in fields if one[1] not in (None, ())], type(value).__name__
    )


class Displayed(Struct, frozen=True, kw_only=True):
    """A value that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return build_summary(self)


def _write(value: object) -> str:
    match value:
        case Enum():
            return str(value.value)
        case float():
            return f"{value:.3g}"
        case tuple():
            return ", ".join(map(_write, value))
        case Struct():
            fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
            return ", ".join(f"{name}: {_write(one)}" for name, one in fields if one not in (None, ()))
        case Mapping():
            return ", ".join(f"{name}: {_write(one)}" for name, one in value.items())
    return str(value)


class Status(StrEnum):
    """How a write ended."""

    COMMITTED = "committed"
    STAGED = "staged"
    DEFERRED = "deferred"
    DUPLICATE = "duplicate"
    FAILED = "failed"


class Verdict(StrEnum):
    """Whether anything in memory answers the query."""

    MATCH = "match"
    WEAK = "weak"
    NO_MATCH = "no_match"


class Outcome(Struct, frozen=True, kw_only=True, gc=False):
    """The result of a request in one store; `error` is None when it succeeded."""

    store: str
    count: int = 0
    error: str | None = None


class Redacted(Struct, frozen=True, kw_only=True):
    """A secret that was redacted: its kind and its place, never its value."""

    kind: str
    place: str


class Remembered(Displayed, frozen=True, kw_only=True):
    """The receipt of a remember; `rule` names the rule that held it, `redacted` the removed secrets."""

    id: str
    version: int
    stored_at: int
    status: Status
    stores: tuple[str, ...]
    outcomes: tuple[Outcome, ...] = ()
    change_id: str | None = None
    pending_approval: bool = False
    approval_url: str | None = None
    proposal_id: str | None = None
    rule: str | None = None
    degraded: tuple[str, ...] = ()
    similar: tuple[str, ...] | None = None
    redacted: tuple[Redacted, ...] | None = None


class Forgotten(Displayed, frozen=True, kw_only=True):
    """The receipt of a forget; without `change_id` nothing was changed.

    While the change waits for a person, `forgotten_ids` is empty. `would_forget_ids` names the memories that
    end once it is approved, or that a dry run would have forgotten.
    """

    forgotten_ids: tuple[str, ...]
    missing_ids: tuple[str, ...]
    hard_delete: bool
    stores: tuple[Outcome, ...]
    status: Status | None = None
    change_id: str | None = None
    dry_run: bool = False
    pending_approval: bool = False
    approval_url: str | None = None
    proposal_id: str | None = None
    rule: str | None = None
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] | None = None
    would_forget_ids: tuple[str, ...] | None = None


class Merged(Displayed, frozen=True, kw_only=True):
    """The receipt of a merge; `canonical` is the record that survives.

    While the change waits for a person, `merged_ids` is empty and `would_merge_ids` names the memories that
    end once it is approved.
    """

    canonical: str
    version: int
    merged_count: int
    merged_ids: tuple[str, ...]
    strategy_used: Strategy
    stores: tuple[str, ...]
    status: Status
    outcomes: tuple[Outcome, ...] = ()
    change_id: str | None = None
    pending_approval: bool = False
    approval_url: str | None = None
    proposal_id: str | None = None
    rule: str | None = None
    degraded: tuple[str, ...] = ()
    would_merge_ids: tuple[str, ...] | None = None


class Expired(Displayed, frozen=True, kw_only=True):
    """The receipt of an expire; without `change_id` nothing was changed.

    While the change waits for a person, `action_taken` is None and `action_requested` is what happens to the
    memories once it is approved.
    """

    matched_count: int
    matched_ids: tuple[str, ...]
    action_taken: Action | None = None
    stores: tuple[str, ...]
    status: Status | None = None
    outcomes: tuple[Outcome, ...] = ()
    change_id: str | None = None
    dry_run: bool = False
    pending_approval: bool = False
    approval_url: str | None = None
    proposal_id: str | None = None
    rule: str | None = None
    degraded: tuple[str, ...] = ()
    action_requested: Action | None = None


class Undone(Displayed, frozen=True, kw_only=True):
    """The receipt of an undo: itself a change, so it can be undone.

    While it waits for a person, `restored_ids` and `ended_ids` are empty; `would_restore_ids` and
    `would_end_ids` say what happens once it is approved.
    """

    change_id: str | None
    undone: str
    restored_ids: tuple[str, ...]
    ended_ids: tuple[str, ...]
    stores: tuple[str, ...]
    status: Status = Status.COMMITTED
    outcomes: tuple[Outcome, ...] = ()
    pending_approval: bool = False
    approval_url: str | None = None
    proposal_id: str | None = None
    rule: str | None = None
    degraded: tuple[str, ...] = ()
    would_restore_ids: tuple[str, ...] | None = None
    would_end_ids: tuple[str, ...] | None = None


class Shared(Displayed, frozen=True, kw_only=True):
    """The receipt of a share or of its revocation: `share_id` names the grant."""

    share_id: str
    borrower: str
    stores: tuple[str, ...]
    status: Status
    outcomes: tuple[Outcome, ...] = ()
    change_id: str | None = None
    pending_approval: bool = False
    approval_url: str | None = None
    proposal_id: str | None = None
    rule: str | None = None
    degraded: tuple[str, ...] = ()


class Grant(Struct, frozen=True, kw_only=True):
    """A grant in force: `agent_id` shares with the agent `borrower` the memories that meet all conditions.

    Without `user_id` it shares memories that belong to no user; with one, those of this user.
    """

    share_id: str
    agent_id: str
    borrower: str
    created_at: int
    user_id: str | None = None
    ids: tuple[str, ...] = ()
    types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    expires_at: int | None = None


class Grants(Struct, frozen=True, kw_only=True):
    """The grants in force that an agent gave, or was given; oldest first."""

    items: tuple[Grant, ...]

    def __iter__(self) -> Iterator[Grant]:
        return iter(self.items)


HIT_FIELDS = (
    *("id", "type", "content", "metadata", "created_at", "confidence", "source", "tags"),
    *("occurred_at", "session_id", "user_id", "version", "trust"),
)
"""The fields of a hit in the wire format, which its signature covers."""


class HitSignature(Struct, frozen=True, kw_only=True):
    """The signature of a hit by the ledger's key; `verify_hit` checks it."""

    recall_id: str
    digest: str
    signature: str


class WordMatch(Struct, frozen=True):
    """The match of a query word in a memory: `nearest` is the memory's word, `match` their similarity.

    The products of `weight` and `match` add up to the signal `words`. Words compared exactly have weight 0.
    """

    word: str
    weight: float
    match: float
    answered: bool
    nearest: str | None = None


class Hit(Struct, frozen=True, kw_only=True):
    """A memory that matches the query, with its score and the stores that returned it.

    `signals` and `words` explain the score.
    """

    record: Record
    score: float
    stores: tuple[str, ...]
    supporting: tuple[str, ...] = ()
    signals: Mapping[str, float] | None = None
    words: tuple[WordMatch, ...] | None = None
    signed: HitSignature | None = None
    lender: str | None = None
    """The agent that shares the memory; None for a memory of the requesting agent."""

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def content(self) -> str | Mapping[str, Json]:
        """The content as it was remembered: a string for a text, a mapping for an object."""
        return self.record.content

    @property
    def text(self) -> str:
        """The content as a string; of an object, its keys and strings."""
        return self.record.words

    def _repr_html_(self) -> str:
        return build_table(_HIT_COLUMNS, [_build_row(self)])


class NearMiss(Struct, frozen=True, kw_only=True):
    """A candidate below the floor, and the reason; returned with `explain`."""

    id: str
    score: float
    reason: str
    signals: Mapping[str, float]
    words: tuple[WordMatch, ...] | None = None


class Recalled(Struct, frozen=True, kw_only=True):
    """The result of a recall; iterate it for its hits. It may be empty.

    `notes` are warnings about the request, such as a probable misspelling of a field in a filter.
    """

    recall_id: str
    hits: tuple[Hit, ...]
    verdict: Verdict
    fusion_used: Fusion
    stores_queried: tuple[str, ...]
    latency_ms: int
    outcomes: tuple[Outcome, ...] = ()
    degraded: tuple[str, ...] = ()
    floor: float | None = None
    near_misses: tuple[NearMiss, ...] | None = None
    notes: tuple[str, ...] | None = None

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    def _repr_html_(self) -> str:
        return build_table(_HIT_COLUMNS, map(_build_row, self.hits), f"verdict: {self.verdict.value}")


_HIT_COLUMNS = ("score", "content", "source", "id")


def _build_row(hit: Hit) -> tuple[object, ...]:
    return hit.score, hit.content, hit.record.source or "", hit.id


class Section(StrEnum):
    """The parts of a context block, in the order in which they claim its budget."""

    CONSTRAINT = "constraint"
    PROFILE = "profile"
    MEMORY = "memory"
    RULE = "rule"
    RECENT = "recent"


class ContextLine(Struct, frozen=True, kw_only=True):
    """One memory of a context block, and the reason why it is there."""

    id: str
    content: str | Mapping[str, Json]
    section: Section
    reason: str
    score: float
    kind: str | None = None
    slot: str | None = None
    lender: str | None = None


class ContextBlock(Struct, frozen=True, kw_only=True):
    """The context for a model's answer: `text` to put before the prompt, and the same as `lines`.

    The verdict is `match` if a memory helps with the prompt, `weak` if there are only constraints, rules or
    recent turns, `no_match` if the block is empty. `left_out` counts the lines that did not fit
    into the budget. Iterate the block for its lines.
    """

    recall_id: str
    text: str
    tokens: int
    budget: int
    verdict: Verdict
    lines: tuple[ContextLine, ...]
    left_out: int = 0
    degraded: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ContextLine]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        rows = ((one.section, one.content, one.reason) for one in self.lines)
        return build_table(("section", "content", "reason"), rows, f"{self.tokens} of {self.budget} tokens")


class SlotValue(Struct, frozen=True, kw_only=True):
    """One value of a slot, with the memory that states it. `age_ms` is the time since then."""

    id: str
    version: int
    content: str | Mapping[str, Json]
    value: str | None = None
    since: int
    age_ms: int
    source: str | None = None
    trust: str
    pinned: bool = False
    lender: str | None = None


class PastValue(Struct, frozen=True, kw_only=True):
    """A past value of a slot: its start and end, and how it ended. An erased value has no content."""

    id: str
    version: int
    since: int
    until: int | None = None
    reason: str | None = None
    content: str | Mapping[str, Json] | None = None
    value: str | None = None


class Slot(Struct, frozen=True, kw_only=True):
    """A slot of a profile: its live values, newest first, and the earlier ones.

    `conflict`: the slot can have one value only, and live memories state different ones.
    """

    kind: str
    slot: str
    subject: str | None = None
    values: tuple[SlotValue, ...]
    conflict: bool = False
    history: tuple[PastValue, ...] = ()


class Profile(Struct, frozen=True, kw_only=True):
    """The slots of a person. `unsorted` counts live memories without a slot."""

    slots: tuple[Slot, ...]
    unsorted: int
    at: int

    def __iter__(self) -> Iterator[Slot]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)

    def _repr_html_(self) -> str:
        rows = ((one.slot, "; ".join(str(value.content) for value in one.values)) for one in self.slots)
        return build_table(("slot", "known"), rows)


class Page(Struct, frozen=True, kw_only=True):
    """A page of memories in id order; `next` is the `after` of the next page, None on the last one."""

    items: tuple[Record, ...]
    total: int
    next: str | None = None
    notes: tuple[str, ...] | None = None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Record:
        return self.items[index]

    def _repr_html_(self) -> str:
        rows = ((one.type, one.content, one.source or "", one.id) for one in self.items)
        return build_table(("type", "content", "source", "id"), rows, f"{len(self.items)} of {self.total}")


class Chain(Struct, frozen=True, kw_only=True):
    """All versions of one record, oldest first."""

    id: str
    versions: tuple[Version, ...]


class ChangeLog(Struct, frozen=True, kw_only=True):
    """Committed changes, newest first, without their contents."""

    changes: tuple[Change, ...]


Answer: TypeAlias = (
    Remembered
    | Recalled
    | ContextBlock
    | Profile
    | Forgotten
    | Merged
    | Expired
    | Undone
    | Shared
    | Grants
    | Record
    | Page
    | Chain
    | ChangeLog
)
