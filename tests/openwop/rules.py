"""The rules of the OpenWOP host, one name each, and how each is broken on purpose."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import pytest
from msgspec.structs import replace

from memorywire.journal.runs import Run, Runs
from memorywire.model.change import Put
from memorywire.model.query import Where
from memorywire.model.record import Record
from memorywire.model.requests import Remember
from memorywire.policy.redact import Redactor, redact_remember
from memorywire_openwop import adapter, discovery, host, refs, snapshot, vault


class Rule(StrEnum):
    """A host keeps all of them."""

    SNAPSHOT = "a run sees memory as it was when the run began"
    SECRETS = "a secret that the run resolved is not stored"
    OVERLAP = "of two overlapping secrets the longer one is redacted"
    SECRETS_IN_TAGS = "secrets are not stored in tags"
    FLOOR = "a secret too short to be distinguished from words is refused"
    MARKERS = "markers of other hosts are rewritten to our form"
    EXPIRY = "expired entries are not shown"
    FUTURE_ONLY = "an entry that has already expired is refused"
    ISOLATION = "the memory of another tenant reads as empty and cannot be written"
    WELL_FORMED = "a malformed reference is refused"
    BINDING = "a run can access only the memories that it was bound to when it began"
    SIZE = "an entry is not larger than the advertised limit"
    OWN_IDS = "every put creates an entry, with an id and a time set by the host"
    NEWEST_FIRST = "lists are ordered newest first"
    BLANK_TAGS = "empty tags are dropped"
    DEFAULT_LIMIT = "a limit of 0 means the default limit"
    DELETION = "the next run does not see a deleted entry"
    EVENTS = "each write of a run is reported, without content"
    RUN_LIFE = "scratchpad and conversation are erased at the end of their run"
    DEADLINE = "the host ends a run that is not ended in time"
    REPLAY = "a replay repeats the reported events and writes nothing"
    ERASURE = "a replay is refused if something that the run saw was erased"
    DEGRADATION = "an agent that needs more than the host supports is marked as degraded"
    NAMES = "backends and dimensions have the names of the schemas"
    PROFILE = "the profile follows from the advertised features"


@contextmanager
def broken(rule: Rule | None) -> Iterator[None]:
    """While this lasts, hosts of this process do not keep the rule."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, instead in () if rule is None else _BROKEN[rule]:
            patch.setattr(module, name, instead)
        yield


async def _do_nothing(*arguments: Any, **fields: Any) -> None:
    pass


async def _list_now(where: Where, behind: str | None, context: Any) -> list[Record]:
    return await snapshot.list_matching(where, None, context)


async def _get_now(where: Where, id: str, behind: str | None, context: Any) -> Record | None:
    return await snapshot.get_matching(where, id, None, context)


def _redact_shortest_first(own: vault.Vault, request: Remember) -> tuple[Remember, tuple[Any, ...]]:
    for id, value in sorted(own._values.items(), key=lambda item: len(item[1])):
        request, _ = redact_remember(request, Redactor({id: value}, patterns=False))
    return request, ()


def _leave_tags(request: Remember, redactor: Redactor) -> tuple[Remember, tuple[Any, ...]]:
    clean, findings = redact_remember(request, redactor)
    return replace(clean, tags=request.tags), findings


def _call_long_term_differently(running: host.Host) -> tuple[dict[str, Any], dict[str, Any]]:
    memory, agents = _families(running)
    return memory, {**agents, "memoryBackends": ["longTerm" for _ in agents["memoryBackends"]]}


async def _begin_anew(runs: Runs, run: Run, source: Run, mint: Callable[[], str]) -> None:
    event = host.RunEvent(
        id=mint(), run=run.id, at=run.at, type="run.started", payload={"workflowId": source.workflow}
    )
    await runs.begin(run, event)


_families = discovery._families
_newest_first = adapter._sort_newest_first

_BROKEN: Mapping[Rule, Sequence[tuple[object, str, object]]] = {
    Rule.SNAPSHOT: [(adapter, "list_matching", _list_now), (adapter, "get_matching", _get_now)],
    Rule.SECRETS: [(vault, "redact_remember", lambda request, redactor: (request, ()))],
    Rule.OVERLAP: [(vault.Vault, "redact", _redact_shortest_first)],
    Rule.SECRETS_IN_TAGS: [(vault, "redact_remember", _leave_tags)],
    Rule.FLOOR: [(vault, "CHARS_MIN", 0)],
    Rule.MARKERS: [(vault, "_rewrite_markers", lambda text: text)],
    Rule.EXPIRY: [(adapter.Adapter, "_where", lambda own, scope: Where(scope=scope, alive_at=0))],
    Rule.FUTURE_ONLY: [(adapter.Adapter, "_check_expiry", lambda own, entry: None)],
    Rule.ISOLATION: [(adapter.Adapter, "_is_own", lambda own, scope: True)],
    Rule.WELL_FORMED: [
        (refs, "_is_agent_path", lambda name, *, path: True),
        (refs, "REF_CHARS", 1_000_000),
    ],
    Rule.BINDING: [(adapter.Adapter, "_is_bound", lambda own, ref, scope: True)],
    Rule.SIZE: [(adapter.Adapter, "_check_size", lambda own, entry: None)],
    Rule.OWN_IDS: [(adapter, "Put", lambda **fields: Put(**fields | {"unique": True}))],
    Rule.NEWEST_FIRST: [(adapter, "_sort_newest_first", lambda records: _newest_first(records)[::-1])],
    Rule.BLANK_TAGS: [(adapter, "_clean_tags", lambda tags: tuple(dict.fromkeys(tags)))],
    Rule.DEFAULT_LIMIT: [(adapter, "LIMIT", 0)],
    Rule.DELETION: [(adapter, "perform", _do_nothing)],
    Rule.EVENTS: [(adapter.Adapter, "_report_write", _do_nothing)],
    Rule.RUN_LIFE: [(host, "erase_run_memory", _do_nothing)],
    Rule.DEADLINE: [(host.Host, "_overdue_before", 0)],
    Rule.REPLAY: [(Runs, "repeat", _begin_anew)],
    Rule.ERASURE: [(host.Host, "_check_reads", _do_nothing)],
    Rule.DEGRADATION: [(discovery, "degraded", lambda *arguments, **fields: ())],
    Rule.NAMES: [(discovery, "_families", _call_long_term_differently)],
    Rule.PROFILE: [(discovery, "profiles", lambda build_document: (discovery.CORE, discovery.MEMORY))],
}
"""What is replaced, and by what, in a host that does not keep the rule."""

assert _BROKEN.keys() == set(Rule)
