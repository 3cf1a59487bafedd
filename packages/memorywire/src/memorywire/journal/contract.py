"""The values of the journal: everything that is written together is one `Act`."""

from msgspec import Struct

from memorywire.journal.entries import Entry
from memorywire.model.change import Change
from memorywire.model.proposal import Debt, Proposal, State
from memorywire.model.record import DEFAULT_TENANT, Json, Scope


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
