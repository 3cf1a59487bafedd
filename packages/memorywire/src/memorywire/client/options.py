"""The optional arguments of each verb, written once for the async and the blocking client.

Names and meanings are those of the wire; what is left out takes the wire's default.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from memorywire.model.errors import InvalidRequest
from memorywire.model.governance import GovernanceClient
from memorywire.model.record import Json
from memorywire.wire.filters import check_moment

TypeName = Literal["semantic", "episodic", "procedural", "emotional"]
KindName = Literal[
    "constraint",
    "preference",
    "identity",
    "relation",
    "possession",
    "plan",
    "event",
    "procedure",
    "decision",
    "configuration",
]
HelpedName = Literal["useful", "wrong", "outdated"]
VerbName = Literal["approve", "edit", "reject", "merge", "supersede", "forget_similar", "reopen"]
FilterJson = Mapping[str, Any]

_MOMENTS = frozenset({"created_at", "expires_at", "occurred_at", "as_of", "since", "until"})


class ScopeOption(TypedDict, total=False):
    user_id: str | None


class RememberOptions(ScopeOption, total=False):
    team: str
    type: TypeName
    metadata: Mapping[str, Any]
    confidence: float
    source: str
    expires_at: int | datetime
    approval_required: bool
    reasoning: str
    id: str
    idempotency_key: str
    occurred_at: int | datetime
    tags: Sequence[str]
    session_id: str
    supersedes: str | Sequence[str]
    derived_from: str | Sequence[str]
    trust: Literal["untrusted", "standard", "trusted"]
    if_version: int
    privacy_intent: Mapping[str, Any]
    kind: KindName
    slot: str
    pinned: bool


class _Origin(TypedDict, total=False):
    """What a recall is asked for: `why` tells it, and `recalls` selects by it."""

    session_id: str
    run_id: str
    trace_id: str


class RecallOptions(ScopeOption, _Origin, total=False):
    scope: Literal["user", "agent", "user_and_agent", "team", "all"]
    team: str
    k: int
    types: Sequence[TypeName]
    hops: int
    fusion: Literal["rrf", "max", "weighted", "legs"]
    filter: FilterJson
    fresher_than_days: int
    min_relevance: float | Literal["auto", "off"]
    explain: bool
    quorum_k: int
    as_of: int | datetime
    include: Sequence[Literal["archived"]]
    max_tokens: int
    rank: Mapping[str, float]
    dedup: Mapping[str, Any]
    approval_required: bool
    sign: bool


class ContextOptions(ScopeOption, _Origin, total=False):
    recent: int


class WriteOptions(ScopeOption, total=False):
    """What every change but a remember takes: hold it for a person, and why it is wanted."""

    approval_required: bool
    reasoning: str


class ForgetOptions(WriteOptions, total=False):
    filter: FilterJson
    hard_delete: bool
    reason: str
    dry_run: bool
    max_affected: int


class MergeOptions(WriteOptions, total=False):
    strategy: Literal["keep_canonical", "merge_content", "keep_highest_confidence"]
    if_version: int


class ExpireOptions(WriteOptions, total=False):
    action: Literal["forget", "archive", "demote"]
    dry_run: bool
    max_affected: int


class ReachOptions(ScopeOption, total=False):
    """Whose proposals and recalls: this agent's, unless `all_agents` asks for the whole tenant's."""

    all_agents: bool


class ProposalsOptions(ReachOptions, total=False):
    states: Sequence[Literal["pending", "stale", "approved", "rejected", "expired"]]
    batch: str
    held_by: str
    text: str
    by_risk: bool
    after: str
    limit: int


class AuditOptions(ReachOptions, total=False):
    """Which entries of the ledger: those that name this memory, ended so, since then and before then."""

    operation: str
    kind: str
    actor: str
    memory: str
    since: int | datetime
    until: int | datetime


class DecideOptions(ReachOptions, total=False):
    reason: str
    confirm: str
    seen: str
    target: str
    edit: Mapping[str, Any]


class TrialOptions(ScopeOption, total=False):
    days: int


class FacetOptions(ScopeOption, total=False):
    filter: FilterJson
    types: Sequence[TypeName]
    include: Sequence[Literal["archived"]]


class ListOptions(FacetOptions, total=False):
    after: str
    limit: int
    order: Literal["oldest", "newest"]


class RecallsOptions(ReachOptions, _Origin, total=False):
    memory_id: str
    before: str
    limit: int


class FeedbackOptions(ReachOptions, total=False):
    reason: str


def default_scope(payload: Mapping[str, Json]) -> str:
    """Whose memories a recall covers if it does not say so: never those of another user."""
    if "team" in payload:
        return "team"
    return "agent" if payload.get("user_id") is None else "user_and_agent"


def plain(name: str, value: Any) -> Json:
    """An argument as JSON has it: tuples are lists, a moment is epoch milliseconds.

    Raises InvalidRequest for a moment without a time zone, which would be another one elsewhere.
    """
    if isinstance(value, tuple):
        return list(value)
    if name not in _MOMENTS or not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise InvalidRequest(
            f"{name} has no time zone", field=name, fix="give one: datetime.now(UTC), or moment.astimezone()"
        )
    return round(value.timestamp() * 1000)


def read_prompt(prompt: str | Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """A prompt or a conversation as the fields of the wire.

    Messages may have the forms of common APIs: other keys beside role and content, and content in parts, of
    which only the text counts.
    """
    if isinstance(prompt, str):
        return {"prompt": prompt}
    if isinstance(prompt, Mapping):
        prompt = [prompt]
    if not isinstance(prompt, Iterable):
        fix = "give a text, or a list of messages with role and content"
        raise InvalidRequest(f"prompt has the wrong type: {type(prompt).__name__}", field="prompt", fix=fix)
    return {"messages": [_read_message(message, place) for place, message in enumerate(prompt)][-_MESSAGES:]}


_MESSAGES = 20
"""The last messages that are sent: earlier messages do not belong to the task."""


def _read_message(message: Any, place: int) -> dict[str, Json]:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise InvalidRequest(
            "a message needs role and content",
            field=f"messages.{place}",
            fix='{"role": "user", "content": ...}',
        )
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part if isinstance(part, str) else _read_part(part) for part in parts]
    return {"role": message["role"], "content": "\n".join(text for text in texts if text)}


def _read_part(part: Any) -> str:
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else ""


def moments(**given: Any) -> dict[str, Any]:
    """The same for verbs that no schema speaks for: a value that is not a time is refused."""
    values = {name: plain(name, value) for name, value in given.items()}
    for name in sorted(_MOMENTS & values.keys()):
        if values[name] is not None and type(values[name]) is not int:
            raise InvalidRequest(
                f"{name} must be epoch milliseconds or a datetime with a time zone", field=name
            )
        check_moment(values[name], name)
    return values


def check_opening(
    *, tenant: str | None, floor: float | None, match: float | None, secrets: Mapping[str, str] | None
) -> None:
    """Refuse arguments that could only fail later, or would silently do nothing."""
    if tenant is not None and (not isinstance(tenant, str) or not tenant):
        raise InvalidRequest("tenant must be a name", field="tenant", fix="leave it out for `default`")
    for name, share in (("floor", floor), ("match", match)):
        if share is not None and not (isinstance(share, int | float) and 0 <= share <= 1):
            raise InvalidRequest(f"{name} must be a number from 0 to 1", field=name)
    if not isinstance(secrets, Mapping | None):
        raise InvalidRequest("secrets must map labels to values", field="secrets", fix='{"label": "value"}')


def read_reviewers(reviewers: GovernanceClient | Sequence[GovernanceClient]) -> tuple[GovernanceClient, ...]:
    """The reviewers as a tuple; raises InvalidRequest for what cannot review."""
    each = tuple(reviewers) if isinstance(reviewers, Sequence) else (reviewers,)
    for one in each:
        if not callable(getattr(one, "review", None)):
            detail = f"a reviewer has a method `review`, and {type(one).__name__} has none"
            raise InvalidRequest(detail, field="reviewers", fix="see memorywire.GovernanceClient")
    return each
