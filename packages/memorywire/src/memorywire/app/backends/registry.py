"""The registry of backends: creates, forks, retires and binds definitions, and serves bound agents."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.journal.definitions import Definitions, hash_definition
from memorywire.journal.entries import Entry
from memorywire.journal.journal import Journal
from memorywire.model.change import Change
from memorywire.model.definition import Definition, Edition, definition_of
from memorywire.model.errors import (
    MemorywireError,
    SecretLeakage,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from memorywire.model.record import Json, Scope
from memorywire.model.secrets import Confidential, find_literal_secret
from memorywire.pipeline.context import Context
from memorywire.pipeline.transaction import keep_redelivering
from memorywire.policy.redact import Redactor
from memorywire.stores.contract import Store

Resolve: TypeAlias = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host."""


class Rules(Confidential, frozen=True, kw_only=True):
    """The permissions of definitions: variables with keys, hosts without public addresses, preview adapters.

    Only what is listed is allowed; MEMORYWIRE_* variables never are. Keys are looked up in `env`; `resolve`
    replaces the system's resolver.
    """

    HIDDEN: ClassVar = frozenset({"env"})

    keys: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()
    previews: frozenset[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict)
    resolve: Resolve | None = None


def rules_from(env: Mapping[str, str]) -> Rules:
    """Build the rules from MEMORYWIRE_BACKEND_KEYS, _HOSTS and _PREVIEWS: comma-separated names."""
    return Rules(
        keys=_names(env, "KEYS"),
        hosts=frozenset(_names(env, "HOSTS")),
        previews=frozenset(_names(env, "PREVIEWS")),
        env=env,
    )


def _names(env: Mapping[str, str], what: str) -> tuple[str, ...]:
    names = env.get(f"MEMORYWIRE_BACKEND_{what}", "").split(",")
    return tuple(name.strip() for name in names if name.strip())


_FIX = (
    "write {key} in its place, put the key into an environment variable and name the variable in key_env; "
    "then change the key, because it was sent in clear"
)


def refuse_secrets(definition: Definition, redactor: Redactor | None) -> None:
    """Raise SecretLeakage, which never contains the value, if a definition has a key in plain text."""
    part = find_literal_secret(definition.url)
    if part is not None:
        raise SecretLeakage(f"{part} in the URL is in plain text", field="url", fix=_FIX)
    if redactor is None:
        return
    document = {**definition.document(), "url": definition.url.replace("{key}", "")}
    for name, value in document.items():
        _, findings = redactor.json(value, name)
        for finding in findings:
            raise SecretLeakage(f"{finding.place} holds a secret ({finding.kind})", field=name, fix=_FIX)


_FRESH_MS = 1_000
_ATTEND_SECONDS = 10.0
_REOPEN_SECONDS = 5.0
_PASSING = (StoreUnavailable, StoreBusy, StoreCorrupt)
"""Errors from opening a backend that are worth a retry; the others need a person."""


def name_of(edition: Edition) -> str:
    """Return the name of an edition's store in receipts and in the outbox.

    It is unique by tenant and definition, so that pending changes never reach another backend.
    """
    mark = hashlib.sha256(f"{edition.tenant}\n{edition.digest}".encode()).hexdigest()
    return f"backend:{edition.definition.name}@{mark[:12]}"


class _Open(Struct):
    """A backend that a tenant uses: its store, its background work, and its last known health.

    `is_away`: the backend could not be opened, and `store` is a stand-in that reads from the fallback.
    """

    store: Store
    tasks: tuple[asyncio.Task[Any], ...]
    healthy: bool | None = None
    is_away: bool = False


class Backends:
    """The definitions and their bindings to agents.

    A change by another process takes effect within a second.
    """

    def __init__(self, journal: Journal, context: Context, rules: Rules) -> None:
        self.rules = rules
        self._journal = journal
        self._definitions = Definitions(journal)
        self._context = context
        self._bound: dict[tuple[str, str], str] = {}
        self._read_at: int | None = None
        self._open: dict[tuple[str, str], _Open] = {}
        self._opening = asyncio.Lock()
        self._attending: asyncio.Task[None] | None = None

    async def create(
        self, tenant: str, document: Mapping[str, Json], by: str, parent: str | None = None
    ) -> Edition:
        """Store a definition and return its edition; an equal definition has the same edition.

        Raises SecretLeakage for a key in plain text: a definition is permanent and visible to operators.
        """
        from memorywire.app.backends.opening import check  # slow to import, and rarely used

        definition = definition_of(document)
        governance = self._context.governance
        refuse_secrets(definition, None if governance is None else governance.redactor)
        await asyncio.to_thread(check, definition, self.rules)
        edition = Edition(
            definition=definition,
            digest=hash_definition(definition),
            tenant=tenant,
            number=0,
            made_at=self._context.clock(),
            made_by=by,
            parent=parent,
        )
        entry = self._build_entry("defined", tenant, by, edition.digest)
        await self._definitions.add(edition, entry)
        self._read_at = None
        return await self.get(tenant, edition.digest)

    async def fork(self, tenant: str, name: str, changes: Mapping[str, Json], by: str) -> Edition:
        """Create a copy of a definition with these fields changed, and the original as its parent."""
        edition = await self.get(tenant, name)
        return await self.create(tenant, {**edition.definition.document(), **changes}, by, edition.digest)

    async def get(self, tenant: str, name: str) -> Edition:
        """Return the edition with that digest, or the newest with that name. Raises NotFound."""
        return await self._definitions.find(tenant, name)

    async def list(self, tenant: str) -> list[Edition]:
        return await self._definitions.list_editions(tenant)

    async def retire(self, tenant: str, name: str, by: str) -> Edition:
        """Retire an edition: no agent can be bound to it any more."""
        edition = await self.get(tenant, name)
        entry = self._build_entry("retired", tenant, by, edition.digest)
        await self._definitions.retire(edition, self._context.clock(), entry)
        self._read_at = None
        return await self.get(tenant, edition.digest)

    async def bind(self, tenant: str, name: str, agent: str, by: str) -> Edition:
        """Store an agent's new memories in the backend; existing ones stay where they are."""
        edition = await self.get(tenant, name)
        entry = self._build_entry("bound", tenant, by, edition.digest, agent)
        await self._definitions.bind(edition, agent, self._context.clock(), by, entry)
        self._read_at = None
        return await self.get(tenant, edition.digest)

    async def unbind(self, tenant: str, agent: str, by: str) -> None:
        """Store an agent's new memories in the default store again."""
        entry = self._build_entry("unbound", tenant, by, None, agent)
        await self._definitions.unbind(tenant, agent, entry)
        self._read_at = None

    async def store_of(self, scope: Scope) -> Store | None:
        """Return the backend that the agent is bound to; None if it is not bound."""
        now = self._context.clock()
        if self._read_at is None or not 0 <= now - self._read_at < _FRESH_MS:
            rows = await self._definitions.list_bindings(None)
            self._bound = {(owner, name): digest for owner, name, digest in rows}
            self._read_at = now
        digest = self._bound.get((scope.tenant, scope.agent))
        return None if digest is None else await self._store(scope.tenant, digest)

    def healthy(self, edition: Edition) -> bool | None:
        """Return the result of the last health check; None if the backend is not open or never checked."""
        backend = self._open.get((edition.tenant, edition.digest))
        return None if backend is None else backend.healthy

    def wake(self) -> None:
        """Deliver pending writes to backends in the background, even if no agent uses them now."""
        if self._attending is None:
            self._attending = asyncio.create_task(self._attend())

    async def close(self) -> None:
        if self._attending is not None:
            self._attending.cancel()
            with suppress(asyncio.CancelledError):
                await self._attending
        for one in self._open.values():
            for task in one.tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            if not one.is_away:
                await one.store.close()
        self._open.clear()

    async def _attend(self) -> None:
        """Periodically open backends with pending changes: an open one has a task that redelivers them."""
        while True:
            editions: list[Edition] = []
            with suppress(StoreError):
                store_names = {entry.store for entry in await self._journal.list_outbox()}
                every = await self._definitions.list_editions(None)
                editions = [edition for edition in every if name_of(edition) in store_names]
            for edition in editions:
                with suppress(MemorywireError):  # unreachable: the next round tries again
                    await self._store(edition.tenant, edition.digest)
            await asyncio.sleep(_ATTEND_SECONDS)

    async def _store(self, tenant: str, digest: str) -> Store:
        async with self._opening:
            if (tenant, digest) not in self._open:
                edition = await self.get(tenant, digest)
                try:
                    self._open[tenant, digest] = await self._open_backend(edition)
                except _PASSING as error:
                    if not edition.definition.fallback:
                        raise
                    self._open[tenant, digest] = self._answer_from_here(edition, error)
            return self._open[tenant, digest].store

    async def _open_backend(self, edition: Edition) -> _Open:
        from memorywire.app.backends.opening import open_backend

        definition, context = edition.definition, self._context
        name = name_of(edition)
        store = await open_backend(
            edition,
            self.rules,
            name=name,
            here=context.store,
            owed=partial(self._list_pending, name),
            space=context.embedder.space,
            clock=context.clock,
        )
        repaying = asyncio.create_task(keep_redelivering(replace(context, store=store)))
        backend = _Open(store, (repaying,))
        if definition.health_seconds:
            backend.tasks = (*backend.tasks, asyncio.create_task(_watch(backend, definition)))
        return backend

    def _answer_from_here(self, edition: Edition, error: StoreError) -> _Open:
        from memorywire.app.backends.opening import answer_from

        name = name_of(edition)
        store = answer_from(self._context.store, name, partial(self._list_pending, name), error)
        reopening = asyncio.create_task(self._keep_opening(edition))
        return _Open(store, (reopening,), healthy=False, is_away=True)

    async def _keep_opening(self, edition: Edition) -> None:
        """Retry opening an unreachable backend until it succeeds, then replace its stand-in."""
        while True:
            await asyncio.sleep(_REOPEN_SECONDS)
            with suppress(MemorywireError):  # still unreachable: try again
                self._open[edition.tenant, edition.digest] = await self._open_backend(edition)
                return

    async def _list_pending(self, name: str) -> Sequence[Change]:
        return [debt.change for debt in await self._journal.list_outbox(name)]

    def _build_entry(self, kind: str, tenant: str, by: str, digest: str | None, agent: str = "") -> Entry:
        return Entry(
            at=self._context.clock(),
            operation="backend",
            scope=Scope(tenant=tenant, agent=agent),
            actor=by,
            kind=kind,
            subject=digest,
        )


async def _watch(backend: _Open, definition: Definition) -> None:
    """Check the backend's health periodically, until cancelled."""
    while True:
        try:
            backend.healthy = bool((await backend.store.health()).get("ok"))
        except MemorywireError:
            backend.healthy = False
        await asyncio.sleep(definition.health_seconds)
