"""The operations, and their requests and answers from and to JSON."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields, replace

from memorywire.model.answers import (
    HIT_FIELDS,
    Chain,
    ChangeLog,
    ContextBlock,
    Expired,
    Forgotten,
    Grants,
    Hit,
    Merged,
    Page,
    Profile,
    Recalled,
    Remembered,
    Shared,
    Undone,
)
from memorywire.model.capabilities import Capabilities, openwop, probe
from memorywire.model.change import Change, Version
from memorywire.model.codec import load
from memorywire.model.errors import InvalidRequest
from memorywire.model.governance import ReviewRequest
from memorywire.model.grant import RESERVED
from memorywire.model.label import Kind
from memorywire.model.oversight import (
    ActivateRule,
    AgentList,
    Agents,
    Erase,
    Erased,
    FacetCounts,
    Facets,
    Feedback,
    Helped,
    Judged,
    Oversight,
    Reasons,
    RecallPage,
    Recalls,
    RecallSummary,
    Reverted,
    RevertRule,
    RuleBook,
    Rules,
    RuleTrial,
    SetRules,
    TryRule,
    Why,
)
from memorywire.model.proposal import (
    Decide,
    Decided,
    Examine,
    Inbox,
    Proposal,
    ProposalPage,
    Reach,
    Reviewed,
    State,
    Verb,
)
from memorywire.model.record import DEFAULT_TENANT, Json, MemoryType, Record, Scope, Trust
from memorywire.model.requests import (
    METADATA_BYTES_MAX,
    Action,
    BuildContext,
    Changes,
    Dedup,
    DedupMode,
    Expire,
    Forget,
    Fusion,
    Get,
    History,
    List,
    Merge,
    Message,
    Order,
    Owners,
    Policy,
    RankWeights,
    ReadProfile,
    Recall,
    Remember,
    Request,
    Share,
    Shares,
    Strategy,
    Undo,
    Unshare,
    Write,
)
from memorywire.wire import spec, strict
from memorywire.wire.filters import decode_filter, encode_filter


class Operation(Struct, frozen=True):
    """An operation of the wire: the types of its request and answer.

    `core` marks the five verbs of the specification. `oversight` marks operations for people: a server for
    agents need not offer them. `capabilities` has no request type.
    """

    request: type[Any] | None
    answer: type[Struct]
    core: bool = False
    oversight: bool = False


OPERATIONS: Mapping[str, Operation] = {
    "remember": Operation(Remember, Remembered, core=True),
    "recall": Operation(Recall, Recalled, core=True),
    "forget": Operation(Forget, Forgotten, core=True),
    "merge": Operation(Merge, Merged, core=True),
    "expire": Operation(Expire, Expired, core=True),
    "context": Operation(BuildContext, ContextBlock),
    "profile": Operation(ReadProfile, Profile),
    "get": Operation(Get, Record),
    "list": Operation(List, Page),
    "history": Operation(History, Chain),
    "undo": Operation(Undo, Undone),
    "changes": Operation(Changes, ChangeLog),
    "share": Operation(Share, Shared),
    "unshare": Operation(Unshare, Shared),
    "shares": Operation(Shares, Grants),
    "capabilities": Operation(None, Capabilities),
    "proposals": Operation(Inbox, ProposalPage, oversight=True),
    "proposal": Operation(Examine, Reviewed, oversight=True),
    "decide": Operation(Decide, Decided, oversight=True),
    "why": Operation(Why, Reasons, oversight=True),
    "rules": Operation(Rules, RuleBook, oversight=True),
    "set_rules": Operation(SetRules, RuleBook, oversight=True),
    "test_rule": Operation(TryRule, RuleTrial, oversight=True),
    "activate_rule": Operation(ActivateRule, RuleBook, oversight=True),
    "revert_rule": Operation(RevertRule, Reverted, oversight=True),
    "agents": Operation(Agents, AgentList, oversight=True),
    "facets": Operation(Facets, FacetCounts, oversight=True),
    "recalls": Operation(Recalls, RecallPage, oversight=True),
    "feedback": Operation(Feedback, Judged, oversight=True),
    "erase": Operation(Erase, Erased, oversight=True),
}

# Visible characters of the most common scripts; one is enough. The schema has the complete list.
_VISIBLE = "[!-~\u00a1-\u00ac\u00ae-\u034e\u0370-\u0600\u3041-\ud7ff]"
_Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]
_User: TypeAlias = Annotated[str, Meta(max_length=256)]


class _PlainRemember(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `remember` of text. It omits fields that need the schema, such as times and unique items."""

    agent_id: _Name
    user_id: _User = ""
    type: Literal["semantic", "episodic", "emotional"]
    content: Annotated[str, Meta(max_length=65_536, pattern=_VISIBLE)]
    metadata: Annotated[dict[str, Any], Meta(max_length=256)] = {}
    confidence: Annotated[float, Meta(ge=0, le=1)] = 1.0
    source: Annotated[str, Meta(max_length=1024)] = ""
    session_id: _Name = "-"
    idempotency_key: _Name = "-"
    approval_required: bool = False
    reasoning: Annotated[str, Meta(max_length=4096)] = ""
    pinned: bool = False


class _PlainRecall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `recall` without a filter or weights."""

    agent_id: _Name
    user_id: _User = ""
    scope: Literal["user", "agent", "user_and_agent", "team", "all"] = "all"
    query: Annotated[str, Meta(max_length=8192, pattern=_VISIBLE)]
    k: Annotated[int, Meta(ge=1, le=1000)] = 5
    min_relevance: Annotated[float, Meta(ge=0, le=1)] | Literal["auto", "off"] = "auto"
    explain: bool = False
    approval_required: bool = False
    session_id: _Name = "-"
    run_id: _Name = "-"
    trace_id: _Name = "-"


_PLAIN: Mapping[str, type[Struct]] = {"remember": _PlainRemember, "recall": _PlainRecall}


_REQUESTS: Mapping[str, Any] = {name: operation.request for name, operation in OPERATIONS.items()}
_PREVIEW = 200
_OWNERS = frozenset({"agent_id", "user_id", "team"})


def decode(operation: str, payload: Mapping[str, Json], *, tenant: str = DEFAULT_TENANT) -> Request:
    """Decode a payload to a typed request; raises InvalidRequest, naming the field, unless it is valid.

    The schema is authoritative. Compiling and evaluating it takes time, so usual requests are accepted by a
    type that is stricter than their schema; all others are validated by the schema.
    """
    try:
        convert(payload, _PLAIN[operation])
        is_usual = RESERVED.isdisjoint(payload.get("metadata", ()))
    except (KeyError, ValidationError, UnicodeEncodeError):
        is_usual = False
    if is_usual:
        strict.check(payload)
    else:
        from memorywire.wire import validate  # few processes need it and the schema compiler

        validate.check(operation, payload)
    team = payload.get("team")  # a team's memories belong to a separate agent
    agent = str(payload["agent_id"]) if team is None else f"team:{team}"
    scope = Scope(agent=agent, user=payload.get("user_id"), tenant=tenant)
    values = _values(payload)
    if "scope" in values:
        values["owners"] = decode_owners(values.pop("scope"), payload)
    request: Request = _REQUESTS[operation](scope=scope, **values)
    return request


def decode_owners(name: str, payload: Mapping[str, Json]) -> Owners:
    """Decode the owners of a recall; raises InvalidRequest if the user or the team is missing."""
    owners = Owners(name)
    if owners in (Owners.USER, Owners.USER_AND_AGENT) and "user_id" not in payload:
        raise InvalidRequest(
            f"scope {name} needs a user_id", field="user_id", fix="name the user, or use scope agent"
        )
    if (owners is Owners.TEAM) is not ("team" in payload):
        raise InvalidRequest(
            "scope team needs the name of the team" if owners is Owners.TEAM else "team needs scope team",
            field="team" if owners is Owners.TEAM else "scope",
            fix="give scope team and the name of the team, or neither",
        )
    return owners


def decode_oversight(
    operation: str, payload: Mapping[str, Json], *, tenant: str = DEFAULT_TENANT
) -> Oversight:
    """Decode an oversight request, which a person sends; without an agent it covers all agents."""
    kind = _REQUESTS[operation]
    agent, user = payload.get("agent_id"), payload.get("user_id")
    values: dict[str, Any] = _values(payload)
    if "reach" in kind.__struct_fields__:
        values["reach"] = Reach(tenant=tenant, agent=agent, user=user)
    elif "scope" in kind.__struct_fields__:
        values["scope"] = Scope(tenant=tenant, agent=payload["agent_id"], user=user)
    else:
        values["tenant"] = tenant
        named = {"agent_id": agent, "user_id": user}
        values |= {name: value for name, value in named.items() if value is not None}
    request: Oversight = kind(**values)
    return request


def _values(payload: Mapping[str, Json]) -> dict[str, Any]:
    """Decode the fields of a request by name, except those for the owner."""
    values = {}
    for name, value in payload.items():
        if name not in _OWNERS:
            values[name] = _READERS[name](value) if name in _READERS else value
    return values


def _rule(table: Mapping[str, Json]) -> dict[str, Json]:
    counts = ("affects_at_least", "reviewers")
    return {name: int(value) if name in counts else value for name, value in table.items()}


def _policy(document: Mapping[str, Json]) -> Policy:
    return Policy(**{name: _READERS[name](value) for name, value in document.items()})


def _dedup(document: Mapping[str, Json]) -> Dedup:
    return Dedup(**{**document, "mode": DedupMode(document["mode"])})


def _ids(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


# JSON Schema accepts 2.0 as an integer; these fields must be int.
_INTEGERS = (
    "as_of",
    "budget",
    "days",
    "expires_at",
    "fresher_than_days",
    "hops",
    "if_edition",
    "if_version",
    "k",
    "limit",
    "max_affected",
    "max_tokens",
    "no_recall_in_days",
    "occurred_at",
    "older_than_days",
    "quorum_k",
    "recent",
)

_TYPES = {kind.value: kind for kind in MemoryType}  # faster than calling the enumeration

_READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_INTEGERS, int),
    "type": _TYPES.__getitem__,
    "types": lambda names: tuple(map(_TYPES.__getitem__, names)),
    "confidence": float,
    "confidence_below": float,
    "tags": tuple,
    "supersedes": _ids,
    "derived_from": _ids,
    "trust": Trust,
    "kind": Kind,
    "filter": decode_filter,
    "fusion": Fusion,
    "include": tuple,
    "rank": lambda weights: RankWeights(**weights),
    "dedup": _dedup,
    "messages": lambda messages: tuple(Message(**message) for message in messages),
    "ids": tuple,
    "duplicates": tuple,
    "strategy": Strategy,
    "policy": _policy,
    "action": Action,
    "states": lambda names: frozenset(State(name) for name in names),
    "proposal_ids": tuple,
    "verb": Verb,
    "helped": Helped,
    "order": Order,
    "edit": _values,
    "rule": _rule,
    "rules": lambda tables: tuple(_rule(table) for table in tables),
}

_NULLABLE = frozenset({"approval_url", "error"})  # v0 encodes these as null instead of leaving them out


def encode(answer: object) -> Json:
    """Return any answer as plain JSON; absent fields are omitted."""
    special = _ENCODERS.get(type(answer))
    if special is not None:
        return special(answer)
    match answer:
        case Enum():
            return answer.value
        case Mapping():
            return {key: encode(value) for key, value in answer.items()}
        case list() | tuple() | frozenset():
            return [encode(value) for value in answer]
    return _encode_fields(answer) if isinstance(answer, Struct) else answer


def encode_record(record: Record) -> dict[str, Json]:
    """Return a record in the wire format: its scope as `agent_id` and `user_id`."""
    document = _encode_owned(record)
    return {"id": document.pop("id"), **document}


_RECORD = frozenset(Record.__struct_fields__)


def decode_record(document: Mapping[str, Json], scope: Scope) -> Record:
    """Decode a record of the wire format; `scope` has the tenant, and the agent if it is omitted."""
    fields = {name: value for name, value in document.items() if name in _RECORD}
    record: Record = load(Record, {"updated_at": document["created_at"], **fields, "scope": {"agent": ""}})
    agent = document.get("agent_id", scope.agent)
    return replace(record, scope=Scope(agent=agent, user=document.get("user_id"), tenant=scope.tenant))


def _encode_owned(value: Any) -> dict[str, Json]:
    """Return a value with its scope as `agent_id` and `user_id`."""
    document = _encode_fields(value)
    del document["scope"]
    owner = {"agent_id": value.scope.agent}
    if value.scope.user is not None:
        owner["user_id"] = value.scope.user
    return owner | document


def encode_request(request: Request) -> dict[str, Json]:
    """Return the payload that `decode` reads as this request, without fields that have their default."""
    document: dict[str, Json] = {"agent_id": request.scope.agent}
    if request.scope.user is not None:
        document["user_id"] = request.scope.user
    for field in fields(type(request)):
        value = getattr(request, field.name)
        if field.name == "scope" or value == field.default or (value == () and not field.required):
            continue
        name = "scope" if field.name == "owners" else field.name
        if value is Owners.TEAM:
            document["team"] = request.scope.agent.removeprefix("team:")
        document[name] = encode_filter(value) if name == "filter" else encode(value)
    return document


def _encode_review(review: ReviewRequest) -> dict[str, Json]:
    """Return a review request in the wire format."""
    document = _encode_fields(review)
    document["request"] = None if review.request is None else encode_request(review.request)
    return document


_NOTES = ("assignee", "snoozed_until", "comments", "notes")
_INTERNAL = ("request", "change", "features", "key", "proposer", *_NOTES)


def _encode_proposal(proposal: Proposal) -> dict[str, Json]:
    """Return the proposal with the memories that it affects, and only a preview of its content."""
    document = _encode_owned(proposal)
    for internal in _INTERNAL:
        document.pop(internal, None)
    for name in ("secrets", "instructions"):
        document[name] = [{"kind": kind, "place": place} for kind, place in document[name]]
    if proposal.reviewers == 1:  # usual: the approvals repeat the decision
        del document["reviewers"], document["approvals"]
    document["risk"] = proposal.risk.value
    document["memories"] = sorted(proposal.touched)
    if proposal.erases:
        document["erases"] = True
    if proposal.change is not None and proposal.change.put:
        document["preview"] = proposal.change.put[0].record.words[:_PREVIEW]
    if isinstance(proposal.request, Recall):
        document["preview"] = proposal.request.query[:_PREVIEW]
    elif isinstance(proposal.request, Write) and proposal.request.reasoning is not None:
        document["reasoning"] = proposal.request.reasoning
    return {"id": document.pop("id"), **document}


def _encode_reviewed(review: Reviewed) -> dict[str, Json]:
    """Return the proposal under review, with its request in the wire format if it can be edited."""
    document = _encode_fields(review)
    if isinstance(review.proposal.request, Remember):
        request = _encode_owned(review.proposal.request)
        document["request"] = {name: value for name, value in request.items() if value != []}
    return document


def _encode_fields(value: Any) -> dict[str, Json]:
    fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return {name: encode(inner) for name, inner in fields if inner is not None or name in _NULLABLE}


def _encode_hit(hit: Hit) -> dict[str, Json]:
    record = encode_record(hit.record)
    document = {name: record[name] for name in HIT_FIELDS if name in record}
    document |= {
        "score": round(hit.score, 6),
        "supporting": list(hit.supporting),
        "source_store": hit.stores[0],
        "stores": list(hit.stores),
    }
    if hit.lender is not None:
        document["lender"] = hit.lender
    if hit.signed is not None:
        document["signed"] = _encode_fields(hit.signed)
    if hit.signals is not None:
        document["explain"] = {"signals": dict(hit.signals)}
        if hit.words is not None:
            document["explain"]["words"] = [*map(_encode_fields, hit.words)]
    return document


def _encode_version(version: Version) -> dict[str, Json]:
    document = _encode_fields(version)
    for internal in ("id", "began", "ended"):
        document.pop(internal, None)
    return document


def _encode_change(change: Change) -> dict[str, Json]:
    document = {"id": change.id, "operation": change.operation, "at": change.at}
    document |= {"user_id": change.scope.user, "reason": change.reason, "undoes": change.undoes}
    return {name: value for name, value in document.items() if value is not None}


def _encode_capabilities(capabilities: Capabilities) -> dict[str, Json]:
    """Build the answer from the configured parts and the schemas, so that each limit is written once."""
    return {
        "spec": spec.VERSION,
        "operations": [*_list_operations(capabilities), "capabilities"],
        "types": [kind.value for kind in MemoryType],
        "features": encode(sorted(capabilities.features)),
        "stores": [
            {
                "name": store.name,
                "types": encode(store.types),
                "features": encode(sorted(store.features)),
            }
            for store in capabilities.stores
        ],
        "embedding": _encode_fields(capabilities.space),
        "contracts": probe(capabilities),
        "openwop": openwop(capabilities),
        "limits": {
            "content_max": spec.schema("remember.request")["properties"]["content"]["maxLength"],
            "k_max": spec.schema("recall.request")["properties"]["k"]["maximum"],
            "ids_max": spec.schema("forget.request")["properties"]["ids"]["maxItems"],
            "metadata_bytes_max": METADATA_BYTES_MAX,
            "payload_bytes_max": strict.MAX_BYTES,
            "depth_max": strict.MAX_DEPTH,
        },
    }


def _list_operations(capabilities: Capabilities) -> list[str]:
    return [
        name
        for name, operation in OPERATIONS.items()
        if operation.request is not None and (capabilities.overseen or not operation.oversight)
    ]


def _encode_recalled(answer: Recalled) -> dict[str, Json]:
    document = _encode_fields(answer)
    document["results"] = document.pop("hits")
    return document


_ENCODERS: Mapping[type, Callable[[Any], Json]] = {
    Recalled: _encode_recalled,
    Hit: _encode_hit,
    Record: encode_record,
    Version: _encode_version,
    Change: _encode_change,
    Capabilities: _encode_capabilities,
    Proposal: _encode_proposal,
    Reviewed: _encode_reviewed,
    ReviewRequest: _encode_review,
    Reasons: _encode_owned,
    RecallSummary: _encode_owned,
}
