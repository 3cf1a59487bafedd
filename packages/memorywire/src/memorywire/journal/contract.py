"""The journal contract: everything that is written down together is one `Act`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from memorywire.journal.entries import Entry
from memorywire.model.change import Change
from memorywire.model.proposal import Debt, Proposal, RecallNote, State
from memorywire.model.record import DEFAULT_TENANT, Json, Scope
from memorywire.stores.contract import Store


class Known(Struct, frozen=True, kw_only=True):
    """What the register says of a memory, without asking any store.

    `digest` is None for a memory that ended before its beginning was heard of.
    """

    scope: Scope
    version: int
    digest: str | None
    live: bool


class Edition(Struct, frozen=True, kw_only=True):
    """The rules a person gave for a tenant, as they stand since `at`; its newest edition is in force.

    Rules of the default tenant are in force for every tenant.
    """

    number: int
    at: int
    by: str
    rules: tuple[Json, ...]
    tenant: str = DEFAULT_TENANT


class Words(Struct, frozen=True, kw_only=True):
    """What a proposal says, as a keyed digest that tells nobody what it was."""

    tenant: str
    digest: bytes
    proposal: str


class Act(Struct, frozen=True, kw_only=True):
    """What is written together, all of it or none of it.

    A proposal that was there before must be one revision older there, else the act conflicts. `paid`
    names debts that are settled, as (store, change id); with `if_owed` the act conflicts when somebody
    else has settled one of them. `ruled` notes which changes a rule let pass, as
    (scope, rule, change id). What is said of `erased` memories leaves the journal, and so do proposals that
    would say the same as one of them: `unsaid` are its scope and the digest of its words.
    `registered` is a change that the register of memories has to know. `rejected` are words that a person
    does not want, `accepted` are words that are no longer among those.
    """

    entries: tuple[Entry, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    debts: tuple[Debt, ...] = ()
    paid: tuple[tuple[str, str], ...] = ()
    if_owed: bool = False
    edition: Edition | None = None
    ruled: tuple[tuple[Scope, str, str], ...] = ()
    erased: tuple[tuple[Scope, str], ...] = ()
    unsaid: tuple[tuple[Scope, str], ...] = ()
    registered: Change | None = None
    rejected: tuple[Words, ...] = ()
    accepted: tuple[Words, ...] = ()


class Wanted(Struct, frozen=True, kw_only=True):
    """Which proposals: of an agent (or all of the tenant's), in these states, behind `after`.

    Those that one `rule` held, that say the `text`; in the order they came, or the worst and newest first.
    """

    tenant: str
    agent: str | None = None
    user: str | None = None
    states: frozenset[State] = frozenset()
    batch: str | None = None
    rule: str | None = None
    text: str | None = None
    by_risk: bool = False
    after: str | None = None
    limit: int = 100


class Journal(Protocol):
    """Keeps what must not be lost about changes; never the memories themselves."""

    def shares(self, store: Store) -> bool:
        """Whether a change to that store and an act can be one transaction."""
        ...

    async def write(self, act: Act, change: Change | None = None) -> int:
        """Commit the act, and the change with it, which only a store that shares can have; its sequence."""
        ...

    async def write_many(self, changes: Sequence[Change], entries: Sequence[Entry]) -> list[int | Exception]:
        """Commit each change and its entry as `write` would, in order; what one raises concerns it alone.

        Only a store that shares can have them.
        """
        ...

    def note(self, recall: RecallNote) -> None:
        """Keep a recall: safe against the end of this process at once, in the ledger soon after."""
        ...

    async def settle(self) -> None:
        """Wait until everything noted so far is in the ledger."""
        ...

    async def proposal(self, tenant: str, id: str) -> Proposal | None: ...

    async def proposals(self, wanted: Wanted) -> list[Proposal]: ...

    async def count(self, wanted: Wanted) -> int: ...

    async def expired_early(self, now: int) -> list[Proposal]:
        """Proposals that were closed as expired, and would not be yet by this clock."""
        ...

    async def overdue(self, now: int) -> list[Proposal]:
        """Proposals that waited too long."""
        ...

    async def keyed(self, scope: Scope, key: str) -> Proposal | None:
        """The proposal that used this idempotency key in the scope's agent."""
        ...

    async def held(self, scope: Scope, digest: str) -> Proposal | None:
        """The waiting proposal of exactly this scope that would put the same words."""
        ...

    async def words_key(self) -> bytes:
        """The key under which words are digested; made when it is first needed."""
        ...

    async def rejected_mark(self) -> tuple[int, int]:
        """A value that changes whenever words are rejected or accepted."""
        ...

    async def rejected_digests(self) -> frozenset[bytes]:
        """The digests of all words that people rejected."""
        ...

    async def proposed(self, scope: Scope, ids: Sequence[str]) -> frozenset[str]:
        """Those of the ids that a proposal of this scope, decided or not, still says something about."""
        ...

    async def drop_queries(self, before: int) -> None:
        """Forget what recalls before that moment asked; that they were made stays known."""
        ...

    async def debts(
        self, store: str | None = None, *, after: int = 0, limit: int | None = None
    ) -> list[Debt]:
        """What stores are owed, oldest first, behind the position `after`."""
        ...

    async def behind(self, left: int) -> frozenset[str]:
        """The stores that are owed a change which failed before, or is owed since before `left`."""
        ...

    async def known(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Known]:
        """What the register says of these memories; those it never heard of are left out."""
        ...

    async def edition(self, tenant: str) -> Edition | None:
        """The rules of a tenant in force, if a person ever gave it any."""
        ...

    async def editions(self, tenant: str) -> list[Edition]: ...

    async def ruled(self, tenant: str, rule: str) -> Sequence[tuple[Scope, str]]:
        """The changes of a tenant that this rule let pass, newest first."""
        ...

    async def recall(self, tenant: str, id: str) -> RecallNote | None: ...

    async def recalls(
        self,
        tenant: str,
        *,
        agent: str | None = None,
        user: str | None = None,
        memory: str | None = None,
        before: str | None = None,
        limit: int,
    ) -> list[RecallNote]:
        """The newest recalls, before the one of that id; only those that handed out `memory`, if named."""
        ...

    async def about(self, tenant: str, subject: str) -> list[dict[str, Json]]:
        """The ledger's entries about a change, a proposal or a recall, newest first."""
        ...

    async def waiting(self, tenant: str) -> Mapping[str, int]:
        """How many proposals of each agent wait for a person; agents without any are left out."""
        ...

    async def recalled(
        self, tenant: str, since: int, *, agent: str | None = None, caller: str | None = None
    ) -> list[tuple[int, int]]:
        """When an agent's recalls, or a caller's, handed memories out since then, and how many; in order."""
        ...

    async def close(self) -> None: ...
