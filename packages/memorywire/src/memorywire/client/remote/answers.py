"""What a server answered, as the values they were before they were sent."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from memorywire.model.answers import Chain, ChangeLog, Hit, Page, Recalled
from memorywire.model.capabilities import Capabilities, Feature, StoreCapabilities
from memorywire.model.change import Change, Version
from memorywire.model.codec import load
from memorywire.model.record import Json, Record, Scope
from memorywire.model.review import ProposalPage, Reviewed
from memorywire.model.rulings import Given, Reasons
from memorywire.model.space import Space
from memorywire.model.survey import RecallPage, RecallSummary

UNREADABLE = (ProposalPage, Reviewed)
"""What is sent without the requests and changes that the value consists of."""

_RECORD = frozenset(Record.__struct_fields__)


def read(kind: type[Any], answer: Mapping[str, Json], scope: Scope) -> Any:
    """The answer as a value of this kind, for a caller who asked with this scope."""
    reader = _READERS.get(kind)
    return load(kind, dict(answer)) if reader is None else reader(answer, scope)


def _owner(document: Mapping[str, Json], scope: Scope) -> Scope:
    agent = document.get("agent_id", scope.agent)
    return Scope(agent=agent, user=document.get("user_id"), tenant=scope.tenant)


def _owned(kind: type[Any], document: Mapping[str, Json], scope: Scope) -> Any:
    """A value whose scope the wire spells out as `agent_id` and `user_id`."""
    said = {name: value for name, value in document.items() if name not in ("agent_id", "user_id")}
    return replace(load(kind, {**said, "scope": {"agent": ""}}), scope=_owner(document, scope))


def _record(document: Mapping[str, Json], scope: Scope) -> Record:
    said = {name: value for name, value in document.items() if name in _RECORD}
    record: Record = load(Record, {"updated_at": document["created_at"], **said, "scope": {"agent": ""}})
    return replace(record, scope=_owner(document, scope))


def _hit(document: Mapping[str, Json], scope: Scope) -> Hit:
    return Hit(
        record=_record(document, scope),
        score=document["score"],
        stores=tuple(document["stores"]),
        supporting=tuple(document["supporting"]),
        signals=document["explain"]["signals"] if "explain" in document else None,
    )


def _recalled(answer: Mapping[str, Json], scope: Scope) -> Recalled:
    rest = {name: value for name, value in answer.items() if name != "results"}
    recalled: Recalled = load(Recalled, {**rest, "hits": []})
    return replace(recalled, hits=tuple(_hit(hit, scope) for hit in answer["results"]))


def _page(answer: Mapping[str, Json], scope: Scope) -> Page:
    items = tuple(_record(item, scope) for item in answer["items"])
    notes = tuple(answer["notes"]) if "notes" in answer else None
    return Page(items=items, total=answer["total"], next=answer.get("next"), notes=notes)


def _chain(answer: Mapping[str, Json], scope: Scope) -> Chain:
    id = answer["id"]
    return Chain(id=id, versions=tuple(_version(id, version, scope) for version in answer["versions"]))


def _version(id: str, document: Mapping[str, Json], scope: Scope) -> Version:
    """A version; its commit sequence is known to the server alone, and reads as 0."""
    said = {**document, "id": id, "began": 0, "record": None}
    kept = document.get("record")
    version: Version = load(Version, said)
    return version if kept is None else replace(version, record=_record(kept, scope))


def _changes(answer: Mapping[str, Json], scope: Scope) -> ChangeLog:
    return ChangeLog(changes=tuple(_owned(Change, change, scope) for change in answer["changes"]))


def _recalls(answer: Mapping[str, Json], scope: Scope) -> RecallPage:
    return RecallPage(items=tuple(_owned(RecallSummary, item, scope) for item in answer["items"]))


def _reasons(answer: Mapping[str, Json], scope: Scope) -> Reasons:
    reasons: Reasons = _owned(Reasons, {**answer, "results": []}, scope)
    return replace(reasons, results=tuple(_given(given, scope) for given in answer["results"]))


def _given(document: Mapping[str, Json], scope: Scope) -> Given:
    given: Given = load(Given, {**document, "memory": None})
    kept = document.get("memory")
    return given if kept is None else replace(given, memory=_record(kept, scope))


def _capabilities(answer: Mapping[str, Json], scope: Scope) -> Capabilities:
    return Capabilities(
        stores=tuple(load(StoreCapabilities, store) for store in answer["stores"]),
        space=load(Space, answer["embedding"]),
        overseen="proposals" in answer["operations"],
        together=frozenset(map(Feature, answer["features"])),
        extracts=answer["contracts"]["memory_layer"],
        hosting=answer["openwop"]["served"],
    )


_READERS: Mapping[type, Callable[[Mapping[str, Json], Scope], Any]] = {
    Record: _record,
    Capabilities: _capabilities,
    Page: _page,
    Recalled: _recalled,
    Chain: _chain,
    ChangeLog: _changes,
    RecallPage: _recalls,
    Reasons: _reasons,
}
