"""The requests of the wire format. A test compares every default with the schema."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct, field

from memorywire.model.label import Kind
from memorywire.model.query import EVERYTHING, Filter
from memorywire.model.record import Json, MemoryType, Scope, Trust


class Fusion(StrEnum):
    """How rankings of several stores are fused; LEGS fuses the vector and text rankings of one store."""

    RRF = "rrf"
    MAX = "max"
    WEIGHTED = "weighted"
    LEGS = "legs"


class Order(StrEnum):
    """Ids rise with time, so `newest` is simply the order of ids reversed."""

    OLDEST = "oldest"
    NEWEST = "newest"


class Strategy(StrEnum):
    KEEP_CANONICAL = "keep_canonical"
    MERGE_CONTENT = "merge_content"
    KEEP_HIGHEST_CONFIDENCE = "keep_highest_confidence"


class Action(StrEnum):
    FORGET = "forget"
    ARCHIVE = "archive"
    DEMOTE = "demote"


class DedupMode(StrEnum):
    DROP = "drop"
    MERGE = "merge"
    KEEP = "keep"


METADATA_BYTES_MAX = 65_536
"""The limit in bytes of compact JSON in UTF-8, which a schema cannot express."""

MinRelevance: TypeAlias = float | Literal["auto", "off"]


class Remember(Struct, frozen=True, kw_only=True, gc=False):
    scope: Scope
    type: MemoryType
    content: str | Mapping[str, Json]
    metadata: Mapping[str, Json] = field(default_factory=dict)
    confidence: float = 1.0
    source: str | None = None
    expires_at: int | None = None
    approval_required: bool = False
    id: str | None = None
    idempotency_key: str | None = None
    occurred_at: int | None = None
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    supersedes: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    trust: Trust | None = None
    if_version: int | None = None
    privacy_intent: Mapping[str, Json] | None = None
    kind: Kind | None = None
    slot: str | None = None
    pinned: bool | None = None
    reasoning: str | None = None
    """The caller's reason for this write: shown to reviewers, stored with the change, removed by an erase."""


class RankWeights(Struct, frozen=True, kw_only=True):
    """Weights of the ranker's signals; recency halves every `half_life_days`."""

    semantic: float = 1.0
    recency: float = 0.0
    half_life_days: float = 30.0
    source: float = 0.0
    frequency: float = 0.0


class Dedup(Struct, frozen=True, kw_only=True):
    mode: DedupMode
    threshold: float = 0.95


class Owners(StrEnum):
    """Whose memories a recall covers, among those of the agent."""

    USER = "user"
    AGENT = "agent"
    USER_AND_AGENT = "user_and_agent"
    TEAM = "team"
    ALL = "all"


class Recall(Struct, frozen=True, kw_only=True):
    scope: Scope
    query: str
    k: int = 5
    types: tuple[MemoryType, ...] = ()
    hops: int = 0
    fusion: Fusion = Fusion.RRF
    filter: Filter = EVERYTHING
    fresher_than_days: int | None = None
    min_relevance: MinRelevance = "auto"
    explain: bool = False
    quorum_k: int = 1
    as_of: int | None = None
    include: tuple[str, ...] = ()
    max_tokens: int | None = None
    rank: RankWeights | None = None
    dedup: Dedup | None = None
    owners: Owners | None = None
    """None means the user of the scope, or all users of the agent."""
    approval_required: bool = False
    sign: bool = False
    session_id: str | None = None
    run_id: str | None = None
    trace_id: str | None = None
    """The trace of the recall; it is logged with the recall and does not select memories."""


class Message(Struct, frozen=True, kw_only=True):
    """One message of a conversation: who said it, and the words."""

    role: str
    content: str


class BuildContext(Struct, frozen=True, kw_only=True):
    """Request a context block for a `prompt`, or for the `messages` so far; `budget` is in tokens.

    It is built from the memories of the scope's user and the agent's own; without a user, only the latter.
    """

    scope: Scope
    prompt: str | None = None
    messages: tuple[Message, ...] = ()
    budget: int = 512
    session_id: str | None = None
    recent: int = 0
    run_id: str | None = None
    trace_id: str | None = None


class ReadProfile(Struct, frozen=True, kw_only=True):
    """Request the slots of a person, or, without a user, of the agent itself."""

    scope: Scope


class Forget(Struct, frozen=True, kw_only=True):
    """At least one of `ids` and `filter` is given; an absent filter (None) selects nothing by itself."""

    scope: Scope
    ids: tuple[str, ...] = ()
    filter: Filter | None = None
    hard_delete: bool = False
    reason: str | None = None
    dry_run: bool = False
    max_affected: int | None = None
    approval_required: bool = False
    reasoning: str | None = None


class Merge(Struct, frozen=True, kw_only=True):
    scope: Scope
    canonical: str
    duplicates: tuple[str, ...]
    strategy: Strategy = Strategy.KEEP_CANONICAL
    if_version: int | None = None
    approval_required: bool = False
    reasoning: str | None = None


class Policy(Struct, frozen=True, kw_only=True):
    """Conditions that must all hold; at least one is given."""

    older_than_days: int | None = None
    type: MemoryType | None = None
    confidence_below: float | None = None
    no_recall_in_days: int | None = None


class Expire(Struct, frozen=True, kw_only=True):
    scope: Scope
    policy: Policy
    action: Action = Action.FORGET
    dry_run: bool = False
    max_affected: int | None = None
    approval_required: bool = False
    reasoning: str | None = None


class Get(Struct, frozen=True, kw_only=True):
    scope: Scope
    id: str


class List(Struct, frozen=True, kw_only=True):
    """Request a page of memories after the id `after`, in id order or reversed."""

    scope: Scope
    filter: Filter = EVERYTHING
    types: tuple[MemoryType, ...] = ()
    include: tuple[str, ...] = ()
    after: str | None = None
    limit: int = 100
    order: Order = Order.OLDEST


class History(Struct, frozen=True, kw_only=True):
    scope: Scope
    id: str


class Undo(Struct, frozen=True, kw_only=True):
    scope: Scope
    change_id: str
    approval_required: bool = False
    reasoning: str | None = None


class Changes(Struct, frozen=True, kw_only=True):
    """Request the newest changes, newest first."""

    scope: Scope
    limit: int = 20


class Share(Struct, frozen=True, kw_only=True):
    """Let another agent recall memories: the agent's own, or those of the scope's user.

    A memory is shared if it meets all given conditions: its id, its type, one of the tags.
    """

    scope: Scope
    borrower: str
    ids: tuple[str, ...] = ()
    types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    expires_at: int | None = None
    approval_required: bool = False
    reasoning: str | None = None


class Unshare(Struct, frozen=True, kw_only=True):
    """Revoke a grant of the agent."""

    scope: Scope
    share_id: str
    approval_required: bool = False
    reasoning: str | None = None


class Shares(Struct, frozen=True, kw_only=True):
    """Request the grants in force that the agent gave, and those that it received."""

    scope: Scope


Write: TypeAlias = Remember | Forget | Merge | Expire | Undo | Share | Unshare
"""The requests that change memory; each can demand a review and give its reasoning."""

Request: TypeAlias = (
    Remember
    | Recall
    | BuildContext
    | ReadProfile
    | Forget
    | Merge
    | Expire
    | Get
    | List
    | History
    | Undo
    | Changes
    | Share
    | Unshare
    | Shares
)
