"""Requests and records as the redactor sees them: every field that can carry words."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from memorywire.model.errors import SecretLeakage
from memorywire.model.record import Json, Record
from memorywire.model.requests import Remember
from memorywire.policy.redact.redactor import Finding, Redactor


def redact_remember(request: Remember, redactor: Redactor) -> tuple[Remember, tuple[Finding, ...]]:
    """The request without its secrets, and what was found; a secret in an id is refused."""
    if redactor.finds_nothing(_names(request), _said(request)):
        return request, ()
    _refuse_in_names(request, redactor)
    found: list[Finding] = []
    clean = {
        "content": _words(request.content, "content", redactor, found),
        "metadata": _words(request.metadata, "metadata", redactor, found),
        "tags": _labels(request.tags, redactor, found),
        "source": _name(request.source, "source", redactor, found),
        "session_id": _name(request.session_id, "session_id", redactor, found),
        "privacy_intent": _words(request.privacy_intent, "privacy_intent", redactor, found),
    }
    return (replace(request, **clean) if found else request), tuple(found)


def are_innocent(requests: Sequence[Remember], redactor: Redactor) -> bool:
    """Whether one reading shows that `redact_remember` would find nothing in these; False says nothing."""
    names = chain.from_iterable(map(_names, requests))
    return redactor.finds_nothing(names, chain.from_iterable(map(_said, requests)))


def _names(request: Remember) -> tuple[str | None, ...]:
    scope, given = request.scope, (request.id, request.idempotency_key, request.source, request.session_id)
    return (scope.agent, scope.user, *given, *request.supersedes, *request.derived_from)


def _said(request: Remember) -> tuple[Json, ...]:
    return request.content, request.metadata, request.tags, request.privacy_intent


def scan_record(record: Record, redactor: Redactor) -> tuple[Finding, ...]:
    """What a record that is already kept holds, ids included."""
    found: list[Finding] = []
    _words(record.content, "content", redactor, found)
    _words(record.metadata, "metadata", redactor, found)
    _labels(record.tags, redactor, found)
    names = {"source": record.source, "session_id": record.session_id, "id": record.id}
    for place, name in (names | _owners(record)).items():
        _name(name, place, redactor, found)
    return tuple(found)


def _refuse_in_names(request: Remember, redactor: Redactor) -> None:
    lists = {"supersedes": request.supersedes, "derived_from": request.derived_from}
    names = {f"{field}.{at}": id for field, ids in lists.items() for at, id in enumerate(ids)}
    given = {"id": request.id, "idempotency_key": request.idempotency_key}
    for place, name in (given | _owners(request) | names).items():
        _, kinds = ("", ()) if name is None else redactor.identifier(name)
        for kind in kinds:
            raise SecretLeakage(
                f"{place} holds a secret ({kind}), and an id cannot be rewritten",
                field=place,
                fix="choose an id that says nothing, and change the secret where it is used: it was sent",
            )


def _owners(owned: Remember | Record) -> dict[str, str | None]:
    return {"agent_id": owned.scope.agent, "user_id": owned.scope.user}


def _words(value: Json, place: str, redactor: Redactor, found: list[Finding]) -> Json:
    clean, findings = redactor.json(value, place)
    found += findings
    return clean


def _labels(tags: Iterable[str], redactor: Redactor, found: list[Finding]) -> tuple[str, ...]:
    """The tags, each still once."""
    clean = _words(list(tags), "tags", redactor, found)
    return tuple(dict.fromkeys(clean))


def _name(name: str | None, place: str, redactor: Redactor, found: list[Finding]) -> str | None:
    if name is None:
        return None
    clean, kinds = redactor.identifier(name)
    found += [Finding(kind, place) for kind in kinds]
    return clean
