"""The client of a memorywire server: the methods of `Memory`, called over HTTP."""

import builtins
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, Unpack
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app import DEFAULT_AGENT
from memorywire.client.bulk import Result
from memorywire.client.kv import KeyValue, SearchOptions, SetOptions, owner_kind
from memorywire.client.kv import Result as KeyResult
from memorywire.client.layer import AddOptions, AskOptions, Layer
from memorywire.client.memory import Memory, shorten_traceback
from memorywire.client.options import AuditOptions, ScopeOption, default_scope, moments
from memorywire.client.oversight import refuse_filters
from memorywire.client.sync import Memory as BlockingMemory
from memorywire.model.answers import (
    Chain,
    ChangeLog,
    Hit,
    HitSignature,
    Page,
    Recalled,
    Remembered,
    WordMatch,
)
from memorywire.model.capabilities import Capabilities, Feature, StoreCapabilities
from memorywire.model.change import Change, Version
from memorywire.model.codec import load
from memorywire.model.consolidation import Dreamed, Promotion
from memorywire.model.errors import (
    CapabilityUnsupported,
    InvalidRequest,
    MemorywireError,
    NotFound,
    StoreCorrupt,
)
from memorywire.model.kv import (
    Deleted,
    Entry,
    Kept,
    Limits,
    Listing,
    Match,
    Owner,
    OwnerKind,
    Reembedded,
    Searched,
    Setting,
    Stats,
)
from memorywire.model.layer import Event, EventState, FoundFact, FoundFacts, Kind
from memorywire.model.oversight import Given, PersonExport, Reasons, RecallPage, RecallSummary
from memorywire.model.proposal import ProposalPage, Reviewed
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope
from memorywire.model.space import Space
from memorywire.runtime.portal import Portal
from memorywire.stores.remote.client import Link, locate
from memorywire.stores.remote.protocol import error_of
from memorywire.wire import validate
from memorywire.wire.codec import decode_record

if TYPE_CHECKING:
    from memorywire.journal.audit import Examination


A = TypeVar("A")


class Transport(Struct, frozen=True):
    """Asks over a link; without a tenant the server takes the token's."""

    link: Link
    tenant: str | None

    async def ask(
        self, method: str, *parts: str, body: Mapping[str, Any] | None = None, **query: Any
    ) -> dict[str, Json]:
        """The answer of the address made of these parts; fields that are None are left out."""
        path = "/v0/" + "/".join(quote(part, safe="") for part in parts)
        options = urlencode(drop_missing(query))
        address = f"{path}?{options}" if options else path
        answer: dict[str, Json] = await self.link.ask(method, address, body, tenant=self.tenant)
        return answer

    async def ask_for(
        self, kind: type[A], method: str, *parts: str, body: Mapping[str, Any] | None = None
    ) -> A:
        value: A = load(kind, await self.ask(method, *parts, body=body))
        return value


def drop_missing(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


async def refuse_local() -> NoReturn:
    """Raise CapabilityUnsupported: a client of a server has no container."""
    detail = "this needs the store itself, and only the server has it"
    raise CapabilityUnsupported(detail, field="store", fix="run it where the store is")


def _owner(document: Mapping[str, Json], scope: Scope) -> Scope:
    agent = document.get("agent_id", scope.agent)
    return Scope(agent=agent, user=document.get("user_id"), tenant=scope.tenant)


def _read_owned(kind: type[Any], document: Mapping[str, Json], scope: Scope) -> Any:
    """A value whose scope the wire spells out as `agent_id` and `user_id`."""
    fields = {name: value for name, value in document.items() if name not in ("agent_id", "user_id")}
    return replace(load(kind, {**fields, "scope": {"agent": ""}}), scope=_owner(document, scope))


def _read_recalled(answer: Mapping[str, Json], scope: Scope) -> Recalled:
    hits = tuple(
        Hit(
            record=decode_record({**hit, "agent_id": hit.get("lender", scope.agent)}, scope),
            lender=hit.get("lender"),
            score=hit["score"],
            stores=tuple(hit["stores"]),
            supporting=tuple(hit["supporting"]),
            signals=hit["explain"]["signals"] if "explain" in hit else None,
            words=load(tuple[WordMatch, ...], hit["explain"]["words"])
            if "words" in hit.get("explain", ())
            else None,
            signed=load(HitSignature, hit["signed"]) if "signed" in hit else None,
        )
        for hit in answer["results"]
    )
    rest = {name: value for name, value in answer.items() if name != "results"}
    recalled: Recalled = load(Recalled, {**rest, "hits": []})
    return replace(recalled, hits=hits)


def _read_page(answer: Mapping[str, Json], scope: Scope) -> Page:
    items = tuple(decode_record(item, scope) for item in answer["items"])
    notes = tuple(answer["notes"]) if "notes" in answer else None
    return Page(items=items, total=answer["total"], next=answer.get("next"), notes=notes)


def _read_version(id: str, document: Mapping[str, Json], scope: Scope) -> Version:
    """A version; its commit sequence is known to the server alone, and reads as 0."""
    fields = {**document, "id": id, "began": 0, "record": None}
    record = document.get("record")
    version: Version = load(Version, fields)
    return version if record is None else replace(version, record=decode_record(record, scope))


def _read_reasons(answer: Mapping[str, Json], scope: Scope) -> Reasons:
    hits: list[Given] = []
    for document in answer["results"]:
        hit: Given = load(Given, {**document, "memory": None})
        memory = document.get("memory")
        hits.append(hit if memory is None else replace(hit, memory=decode_record(memory, scope)))
    reasons: Reasons = _read_owned(Reasons, {**answer, "results": []}, scope)
    return replace(reasons, results=tuple(hits))


def _read_capabilities(answer: Mapping[str, Json], scope: Scope) -> Capabilities:
    return Capabilities(
        stores=tuple(load(StoreCapabilities, store) for store in answer["stores"]),
        space=load(Space, answer["embedding"]),
        overseen="proposals" in answer["operations"],
        together=frozenset(map(Feature, answer["features"])),
        extracts=answer["contracts"]["memory_layer"],
        hosting=answer["openwop"]["served"],
    )


_READERS: Mapping[type, Callable[[Mapping[str, Json], Scope], Any]] = {
    Record: decode_record,
    Capabilities: _read_capabilities,
    Page: _read_page,
    Recalled: _read_recalled,
    Chain: lambda answer, scope: Chain(
        id=answer["id"],
        versions=tuple(_read_version(answer["id"], version, scope) for version in answer["versions"]),
    ),
    ChangeLog: lambda answer, scope: ChangeLog(
        changes=tuple(_read_owned(Change, change, scope) for change in answer["changes"])
    ),
    RecallPage: lambda answer, scope: RecallPage(
        items=tuple(_read_owned(RecallSummary, item, scope) for item in answer["items"])
    ),
    Reasons: _read_reasons,
}


class RemoteKeyValue(KeyValue):
    """As `KeyValue`, within the server's limits."""

    def __init__(self, transport: Transport, owner: Owner, *, user: str | None = None) -> None:
        super().__init__(refuse_local, owner, Limits(), user=user)
        self._transport = transport

    @property
    def _of(self) -> tuple[str, str]:
        self._refuse_unsaid()
        return self.owner.kind.value, self.owner.id

    def of(self, kind: str, id: str) -> "RemoteKeyValue":
        return RemoteKeyValue(self._transport, replace(self.owner, kind=owner_kind(kind), id=id))

    def area(self, prefix: str, limits: Limits) -> "RemoteKeyValue":
        """The same keys: a server has limits of its own."""
        return self

    async def get(self, key: str) -> Entry | None:
        try:
            return _read_entry(await self._transport.ask("GET", "kv", *self._of, key))
        except NotFound:
            return None

    async def set(self, key: str, value: Json, **options: Unpack[SetOptions]) -> Kept:
        body = {"value": value, **drop_missing(options)}
        return await self._transport.ask_for(Kept, "PUT", "kv", *self._of, key, body=body)

    async def keep_each(self, settings: builtins.list[Setting]) -> builtins.list[KeyResult]:
        entries = [_document(setting) for setting in settings]
        answer = await self._transport.ask("POST", "kv", *self._of, body={"entries": entries})
        items = answer["items"]
        return [error_of(one["problem"]) if "problem" in one else load(Kept, one["answer"]) for one in items]

    async def incr(self, key: str, by: float = 1) -> Kept:
        return await self._transport.ask_for(Kept, "POST", "kv", *self._of, key, body={"by": by})

    async def delete(self, key: str) -> Deleted:
        return await self._transport.ask_for(Deleted, "DELETE", "kv", *self._of, key)

    async def touch(self, key: str) -> Entry | None:
        raise CapabilityUnsupported(
            "a server cannot extend the life of entries", fix="set the value again with a ttl"
        )

    async def list(self, prefix: str = "", *, limit: int = 100, after: str | None = None) -> Listing:
        page = await self._transport.ask("GET", "kv", *self._of, prefix=prefix, limit=limit, after=after)
        entries = tuple(_read_entry(one) for one in page["entries"])
        return Listing(entries=entries, truncated=page["truncated"], next=page.get("next"))

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> Searched:
        body = {"query": query, **drop_missing(options)}
        document = await self._transport.ask("POST", "kv-search", *self._of, body=body)
        answer: Searched = load(Searched, {**document, "matches": []})
        matches = [
            Match(
                entry=_read_entry({name: one[name] for name in one.keys() - {"score", "merged_from"}}),
                score=one["score"],
                merged_from=tuple(map(_read_entry, one.get("merged_from", ()))),
            )
            for one in document["matches"]
        ]
        return replace(answer, matches=tuple(matches))

    async def stats(self) -> Stats:
        return await self._transport.ask_for(Stats, "GET", "kv-stats", *self._of)

    async def reembed(self) -> Reembedded:
        return await self._transport.ask_for(Reembedded, "POST", "kv-reembed", *self._of, body={})


def _document(setting: Setting) -> dict[str, Json]:
    options = {
        "ttl": setting.ttl,
        "embed": setting.embed,
        "embed_text": setting.text,
        "source": setting.source,
        "if_version": setting.if_version,
        "index": setting.index.value,
        "redact": setting.redact or None,
    }
    return {"key": setting.key, "value": setting.value, **drop_missing(options)}


def _read_entry(document: Mapping[str, Json]) -> Entry:
    """The entry with its value exactly as it came."""
    entry: Entry = load(Entry, {**document, "value": None})
    return replace(entry, value=document["value"])


class RemoteLayer(Layer):
    """As `Layer`; the server reads what waits, so there is no `work` here."""

    def __init__(self, transport: Transport, scope: Scope) -> None:
        super().__init__(refuse_local, scope)
        self._transport = transport

    async def add(self, messages: Sequence[Mapping[str, Any]], **options: Unpack[AddOptions]) -> Event:
        turns = [drop_missing(message) for message in messages]
        body = {**self._named(), "messages": turns, **drop_missing(options)}
        return self._event(await self._transport.ask("POST", "layer", "add", body=body))

    async def event(self, event_id: str, **options: Unpack[ScopeOption]) -> Event:
        scope = {**self._named(), **drop_missing(options)}
        return self._event(await self._transport.ask("GET", "layer", "events", event_id, **scope))

    async def recall(self, query: str, **options: Unpack[AskOptions]) -> FoundFacts:
        body = {**self._named(), "query": query, **drop_missing(options)}
        body.setdefault("scope", default_scope(body))
        document = await self._transport.ask("POST", "layer", "recall", body=body)
        facts: FoundFacts = load(FoundFacts, {**document, "facts": []})
        kinds = [FoundFact(**{**one, "kind": Kind(one["kind"])}) for one in document["facts"]]
        return replace(facts, facts=tuple(kinds))

    def _named(self) -> dict[str, Json]:
        return drop_missing({"agent_id": self.scope.agent, "user_id": self.scope.user})

    def _event(self, document: Mapping[str, Json]) -> Event:
        """What the server tells of an event; that it is of this scope is only known of one's own."""
        return Event(
            id=document["event_id"],
            scope=self.scope,
            at=document["at"],
            state=EventState(document["status"]),
            memories=tuple(document["memories"]),
            held=tuple(document["held"]),
            turns=tuple(document.get("turns", ())),
            forgotten=tuple(document.get("forgotten", ())),
            error=document.get("error"),
        )


_AT_ONCE = 32
"""Memories in one request: that many of the longest still fit into it."""


class Client(Memory):
    """An agent's memory at a server: `memorywire serve` opens it, and this client only asks.

    The verbs answer as `Memory` answers, and so do `kv` and `layer`. All operations of the wire are there as
    plain JSON, through `call`; reviewing is there in that form only. What needs the store itself raises
    CapabilityUnsupported. The token decides about the tenant; one of several tenants chooses with `tenant`,
    or with `?tenant=` in the address.
    """

    def __init__(
        self,
        url: str,
        agent_id: str = DEFAULT_AGENT,
        *,
        token: str | None = None,
        user_id: str | None = None,
        tenant: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        place = locate(url, token)
        requested_tenant = tenant or place.tenant
        super().__init__(agent_id, user_id=user_id, tenant=requested_tenant or DEFAULT_TENANT)
        # A connection for each request: what is sent on one that broke might be done twice.
        self._transport = Transport(Link(place, timeout=timeout, keep=0), requested_tenant)

    async def call(self, operation: str, payload: Mapping[str, Json]) -> dict[str, Json]:
        if not operation.isidentifier():
            raise InvalidRequest("there is no such operation", field="operation")
        return await self._transport.ask("POST", operation, body=dict(payload))

    async def capabilities(self) -> Capabilities:
        """What is wired at the server."""
        return await self._ask(Capabilities, "capabilities", {"agent_id": self.agent_id})

    async def owed(self) -> list[dict[str, Json]]:
        """What stores of the server have still to write, without what it says; takes the right to review."""
        pending: list[dict[str, Json]] = (await self._transport.ask("GET", "debts"))["debts"]
        return pending

    async def audit_log(
        self,
        *,
        subject: str | None = None,
        before: int | None = None,
        limit: int = 20,
        **filters: Unpack[AuditOptions],
    ) -> tuple[dict[str, Json], ...]:
        """As `Memory` answers, without the tenant; takes the right to review."""
        if subject is not None:
            refuse_filters("subject", filters)
        fields: dict[str, Any] = moments(**filters)
        if fields.get("user_id") is None:
            fields["user_id"] = self.user_id
        if not fields.pop("all_agents", False):
            fields["agent_id"] = self.agent_id
        parameters = {**fields, "before": before, "limit": limit} if subject is None else {"subject": subject}
        answer = await self._transport.ask("GET", "audit", **parameters)
        names = {"agent_id": "agent", "user_id": "user"}  # as the ledger spells them
        return tuple(
            {names.get(name, name): value for name, value in entry.items()} for entry in answer["entries"]
        )

    async def audit_verify(self, *, checkpoint: str | None = None, state: bool = False) -> "Examination":
        """What the server says of its own ledger; takes the right to manage all tenants."""
        from memorywire.journal.audit import Examination
        from memorywire.journal.signed_notes import parse_verifier
        from memorywire.journal.state import Difference, StateReport
        from memorywire.journal.verify import Fault, Report

        parameters: dict[str, Any] = {"checkpoint": checkpoint} | ({"state": True} if state else {})
        answer = await self._transport.ask("GET", "audit", "verify", **parameters)
        report = Report(
            entries=answer["entries"],
            root=bytes.fromhex(answer["root"]),
            checkpoints=answer["checkpoints"],
            sealed=answer["sealed"],
            origin=answer.get("origin"),
            fault=Fault(**answer["fault"]) if "fault" in answer else None,
        )
        key = parse_verifier(answer["key"]) if "key" in answer else None
        comparison = None
        if "state" in answer:
            differences = tuple(Difference(**one) for one in answer["state"]["differences"])
            fields = {name: answer["state"][name] for name in ("versions", "rows")}
            comparison = StateReport(entries=report.entries, differences=differences, **fields)
        unreadable = answer.get("unreadable", 0)
        return Examination(report=report, key=key, unreadable=unreadable, state=comparison)

    async def audit_checkpoint(self) -> str:
        """As `Memory` answers; takes the right to manage all tenants."""
        return str((await self.signed())["checkpoint"])

    async def audit_key(self) -> str:
        """As `Memory` answers; takes the right to manage all tenants."""
        return str((await self.signed())["key"])

    async def signed(self) -> dict[str, Json]:
        """The newest checkpoint of the server's ledger and the public key to it."""
        return await self._transport.ask("GET", "audit", "checkpoint")

    async def proof(self, entry: int) -> list[str]:
        """The lines that prove one entry of the server's ledger; takes the right to review."""
        lines: list[str] = (await self._transport.ask("GET", "audit", "proof", seq=entry))["lines"]
        return lines

    async def dream(self, *, dry_run: bool = False, **options: Unpack[ScopeOption]) -> Dreamed:
        """As `Memory` answers, with the settings of the server; takes the right to manage."""
        body = self._payload(options, dry_run=dry_run)
        return self._read(Dreamed, "dream", await self._transport.ask("POST", "dream", body=body))

    async def promote(
        self, *, window: int | None = None, dry_run: bool = False, **options: Unpack[ScopeOption]
    ) -> Promotion:
        """As `Memory` answers; takes the right to manage."""
        body = self._payload(options, window=window, dry_run=dry_run)
        return self._read(Promotion, "promote", await self._transport.ask("POST", "promote", body=body))

    async def start_consolidation(self, **options: Any) -> NoReturn:
        """Not for a client: the server does this work, by its settings."""
        raise CapabilityUnsupported(
            "a server consolidates on its own schedule", fix="memorywire serve --window 50"
        )

    async def export(self, user_id: str, *, agent_id: str | None = None) -> PersonExport:
        """As `Memory` answers; takes the right to manage."""
        answer = await self._transport.ask("GET", "export", user_id=user_id, agent_id=agent_id)
        return self._read(PersonExport, "export", answer)

    @property
    def kv(self) -> RemoteKeyValue:
        owner = Owner(kind=OwnerKind.AGENT, id=self.agent_id, tenant=self.tenant)
        return RemoteKeyValue(self._transport, owner, user=self.user_id)

    @property
    def layer(self) -> RemoteLayer:
        return RemoteLayer(self._transport, self._scope())

    async def close(self) -> None:
        await self._transport.link.close()

    async def __aenter__(self) -> Self:
        return self

    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A:
        if kind in (ProposalPage, Reviewed):  # sent without the requests and changes they consist of
            raise CapabilityUnsupported(
                f"a client returns the answer to {operation} as JSON alone",
                fix=f'use call("{operation}", {{...}})',
            )
        try:
            answer = await self.call(operation, payload)
        except MemorywireError as error:
            raise shorten_traceback(error) from error.__cause__
        return self._read(kind, operation, answer)

    def _read(self, kind: type[A], operation: str, answer: Mapping[str, Json]) -> A:
        try:
            reader, scope = _READERS.get(kind), Scope(tenant=self.tenant, agent=self.agent_id)
            value: A = load(kind, dict(answer)) if reader is None else reader(answer, scope)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreCorrupt(f"the answer to {operation} cannot be read", fix="use call") from error
        return value

    async def _keep_each(self, payloads: Iterable[Mapping[str, Json]]) -> AsyncIterator[Sequence[Result]]:
        source = iter(payloads)
        while some := list(islice(source, _AT_ONCE)):
            unfit = [_find_fault(payload) for payload in some]
            items = [
                {"operation": "remember", "payload": payload}
                for payload, problem in zip(some, unfit, strict=True)
                if problem is None
            ]
            answers = iter(
                (await self._transport.ask("POST", "batch", body={"items": items}))["items"] if items else ()
            )
            yield [problem or self._read_result(next(answers)) for problem in unfit]

    def _read_result(self, item: Mapping[str, Json]) -> Result:
        if "problem" in item:
            return error_of(item["problem"])
        return self._read(Remembered, "batch", item["answer"])

    async def _open(self) -> NoReturn:
        await refuse_local()


class BlockingClient(BlockingMemory):
    """The methods of `Client` for code without an event loop; threads can share one."""

    def __init__(
        self,
        url: str,
        agent_id: str = DEFAULT_AGENT,
        *,
        token: str | None = None,
        user_id: str | None = None,
        tenant: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Takes the arguments of `Client`."""
        self._memory = self._client = Client(
            url, agent_id, token=token, user_id=user_id, tenant=tenant, timeout=timeout
        )
        self._portal = Portal()

    def owed(self) -> list[dict[str, Json]]:
        return self._run(self._client.owed())

    def signed(self) -> dict[str, Json]:
        return self._run(self._client.signed())

    def proof(self, entry: int) -> list[str]:
        return self._run(self._client.proof(entry))


def _find_fault(payload: Mapping[str, Json]) -> MemorywireError | None:
    """Why this item cannot be sent: as a part of one request it would fail the others, too."""
    try:
        validate.check("remember", payload)
    except MemorywireError as problem:
        return problem
    return None
