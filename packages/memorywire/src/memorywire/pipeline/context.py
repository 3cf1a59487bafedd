"""The context that every operation gets as an argument: store, embedder, clock, governance, routing."""

import asyncio
import hashlib
import math
import re
import unicodedata
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.journal.acts import Loan, Words
from memorywire.model.clock import DAY_MS, Clock
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.governance import GovernanceClient
from memorywire.model.ids import IdMint
from memorywire.model.kv import MARK
from memorywire.model.proposal import Proposal, RecallNote
from memorywire.model.query import Where
from memorywire.model.record import DEFAULT_TENANT, LOCAL, Json, Record, Scope
from memorywire.model.requests import Fusion, Recall, Write
from memorywire.policy.documents import with_rules
from memorywire.policy.judge import Policy
from memorywire.policy.patterns import names
from memorywire.policy.redact import Redactor
from memorywire.policy.rules import Budget, Usage, spend
from memorywire.search.admit import Floors
from memorywire.search.embed import Embedder
from memorywire.stores.contract import Store, SupportsHistory, SupportsReplicas, Tracker

if TYPE_CHECKING:
    from memorywire.journal.journal import Journal

_USAGE_FRESH_MS = 5_000
_UNLIMITED = Budget()


class RecallBudget:
    """Counts recently returned memories by tenant and subject (`agent:NAME`, `caller:NAME`).

    The counts are read from the recall log every few seconds, so that budgets hold across restarts and
    processes.
    """

    def __init__(self, journal: "Journal") -> None:
        self._journal = journal
        self._known: dict[tuple[str, str], tuple[int, Usage]] = {}

    async def check(self, request: Recall, policy: Policy, caller: str, now: int) -> None:
        """Raise BudgetExceeded if returning `k` more memories could exceed a budget that applies."""
        for subject in (f"agent:{request.scope.agent}", f"caller:{caller}"):
            for pattern, budget in policy.budgets:
                if names([pattern], subject):
                    usage = await self._usage(request.scope.tenant, subject, now)
                    spend(budget, usage, request.k, now)

    def spend(self, note: RecallNote) -> None:
        """Add the returned memories to the usage of each cached subject."""
        for subject in (f"agent:{note.scope.agent}", f"caller:{note.caller}"):
            key = (note.scope.tenant, subject)
            if key in self._known and note.hits:
                read_at, usage = self._known[key]
                self._known[key] = (read_at, spend(_UNLIMITED, usage, len(note.hits), note.at))

    async def _usage(self, tenant: str, subject: str, now: int) -> Usage:
        read_at, usage = self._known.get((tenant, subject), (None, Usage()))
        if read_at is None or not 0 <= now - read_at < _USAGE_FRESH_MS:
            kind, _, name = subject.partition(":")
            usage = Usage()
            for at, count in await self._journal.count_recalled(tenant, now - DAY_MS, **{kind: name}):
                usage = spend(_UNLIMITED, usage, count, at)
            self._known[tenant, subject] = (now, usage)
        return usage


_REJECTED_FRESH_MS = 1_000
_LABEL = b"rejected"  # separates these digests from others under the same key
_ABOUT = frozenset({"remember", "merge"})
_NO_LETTERS = re.compile(r"[\W_]+")


class RejectedWords:
    """The rejected words of a journal, as keyed digests in memory.

    A rejection made by another process is seen within a second.
    """

    def __init__(self, journal: "Journal", clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._digests: frozenset[bytes] = frozenset()
        self._key = b""
        self._mark: tuple[int, int] | None = None
        self._read_at: int | None = None

    async def find_any(self, several: Sequence[Sequence[Record]]) -> list[bool]:
        """Return for each group of records whether a person rejected the text of one of them."""
        await self._refresh()
        if not self._digests:
            return [False] * len(several)
        return [any(_digest(one, self._key) in self._digests for one in records) for records in several]

    async def rejecting(self, proposals: Sequence[Proposal]) -> tuple[Words, ...]:
        """Return the rejected words to store for proposals that a person rejects."""
        records = [
            (one.id, put.record)
            for one in proposals
            if one.operation in _ABOUT and one.change is not None
            for put in one.change.put
        ]
        key = await self._journal.read_words_key() if records else b""
        return tuple(
            Words(tenant=record.scope.tenant, digest=_digest(record, key), proposal=id)
            for id, record in records
        )

    async def accepting(self, proposals: Sequence[Proposal]) -> tuple[Words, ...]:
        """Return the words to unreject for approved or reopened proposals; empty if no words are rejected."""
        self.forget()
        await self._refresh()
        return await self.rejecting(proposals) if self._digests else ()

    def forget(self) -> None:
        """Drop the cached state, because this process changed the rejected words."""
        self._read_at = None

    async def _refresh(self) -> None:
        """Read the rejected words again, unless that was done within the last second."""
        now = self._clock()
        if self._read_at is not None and 0 <= now - self._read_at < _REJECTED_FRESH_MS:
            return
        mark = await self._journal.read_rejected_position()
        if mark != self._mark:
            self._digests = await self._journal.list_rejected_digests()
            self._key = await self._journal.read_words_key() if self._digests else b""
        self._mark, self._read_at = mark, now


def _digest(record: Record, key: bytes) -> bytes:
    """Digest the words within a scope, ignoring case, punctuation, spaces and invisible characters.

    The digest includes the key of a key-value entry, because a value such as `true` means nothing by itself.
    """
    scope, words = record.scope, record.words
    normal_form = words if words.isascii() else unicodedata.normalize("NFKC", words)
    letters = _NO_LETTERS.sub("", normal_form.casefold()) or words
    key_value = record.metadata.get(MARK)
    place = f"{scope.tenant}\0{scope.agent}\0{scope.user is None}\0{scope.user}\0{key_value}\0{letters}"
    return hashlib.blake2b(place.encode(errors="replace"), digest_size=16, key=key, person=_LABEL).digest()


_FRESH_MS = 1_000
_MOST_TENANTS = 1_000
_NEVER: tuple[int, Policy | None] = (0, None)


def review_url(console: str) -> str:
    """Return the console's URL of a proposal, up to the id."""
    return f"{console.rstrip('/')}/proposal?id="


class Rulebook:
    """The policy in force for a tenant: rules stored in the journal, those of the default tenant before the
    tenant's own, then the rules of the file or profile.

    A change made by another process is seen within a second.
    """

    def __init__(self, base: Policy, journal: "Journal", clock: Clock) -> None:
        self.base = base
        self._journal = journal
        self._clock = clock
        self._policies: dict[str, tuple[int, Policy]] = {}
        self._loans: dict[str, tuple[int, Sequence[Loan]]] = {}
        self._reading = asyncio.Lock()

    async def policy(self, tenant: str) -> Policy:
        """Return the policy for requests of this tenant."""
        read_at, policy = self._policies.get(tenant, _NEVER)
        if policy is not None and 0 <= self._clock() - read_at < _FRESH_MS:
            return policy
        async with self._reading:
            read_again_at, policy = self._policies.get(tenant, _NEVER)
            if policy is None or read_again_at == read_at:  # no other task has read it meanwhile
                policy = await self._read(tenant)
            return policy

    async def _read(self, tenant: str) -> Policy:
        now = self._clock()
        default_edition = await self._journal.find_edition(DEFAULT_TENANT)
        own = None if tenant == DEFAULT_TENANT else await self._journal.find_edition(tenant)
        rule_tables = [edition.rules for edition in (default_edition, own) if edition is not None]
        if own is not None and default_edition is not None:
            rule_tables[0] = without_own(default_edition.rules, tenant)
        policy = with_rules(self.base, *rule_tables) if rule_tables else self.base
        if len(self._policies) >= _MOST_TENANTS:
            self._policies.clear()
        self._policies[tenant] = (now, policy)
        return policy

    async def list_loans(self, tenant: str) -> Sequence[Loan]:
        """List all loans ever made as (borrower, lender, grant id); the grant says whether it is in force."""
        read_at, loans = self._loans.get(tenant, (0, None))
        now = self._clock()
        if loans is None or not 0 <= now - read_at < _FRESH_MS:
            loans = await self._journal.list_loans(tenant)
            if len(self._loans) >= _MOST_TENANTS:
                self._loans.clear()
            self._loans[tenant] = (now, loans)
        return loans

    def forget(self) -> None:
        """Drop the cached policies and loans, because this process changed them."""
        self._policies.clear()
        self._loans.clear()


def without_own(rules: Sequence[Json], tenant: str) -> tuple[Json, ...]:
    """Return the default tenant's rules without those for `tenant` alone, which now has its own edition.

    Before each tenant had its own editions, one list contained the rules of all tenants.
    """
    return tuple(rule for rule in rules if rule.get("tenant") != [tenant])


class Governance(Struct, frozen=True, kw_only=True):
    """What governs changes: the policy, the redactor and the journal.

    `principal` is the credential that the `caller` used, if it has another name: an agent over MCP uses the
    token of an operator. `review_url` is the console's URL up to the id of a proposal, if known. Changes held
    in one `batch` can be decided together. The `reviewers` of the host program are asked about each held
    change.
    """

    journal: "Journal"
    rulebook: Rulebook
    budget: RecallBudget
    redactor: Redactor
    rejected: RejectedWords
    caller: str = LOCAL
    principal: str | None = None
    review_url: str | None = None
    batch: str | None = None
    reviewers: tuple[GovernanceClient, ...] = ()

    def address(self, proposal: Proposal) -> str | None:
        """Return the URL to review a proposal; it names the tenant, as the console may show another one."""
        if self.review_url is None:
            return None
        from urllib.parse import quote  # few changes are held

        mark = "&" if "?" in self.review_url else "?"
        return f"{self.review_url}{proposal.id}{mark}tenant={quote(proposal.scope.tenant, safe='')}"


class WritePolicy(StrEnum):
    """Which stores must hold a change for a committed receipt; the other stores get it later."""

    ALL = "all"
    PRIMARY = "primary"
    QUORUM = "quorum"


class Routing(Struct, frozen=True, kw_only=True):
    """How several stores are used; fixed when they are opened.

    With `register`, the hits of a store are checked against what was written. With `rerank`, hits are ranked
    by this package rather than by the stores, unless a request names a fusion by scores. `trim` is how many
    of the best votes for a memory are ignored. `weights` are for weighted fusion; the default is 1.
    """

    write: WritePolicy = WritePolicy.ALL
    register: bool = True
    rerank: bool = True
    trim: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)

    def reranks(self, fusion: Fusion) -> bool:
        """Whether this package, not the stores, ranks the hits."""
        return self.rerank and fusion is Fusion.RRF

    def satisfied(self, holding: frozenset[str], children: tuple[str, ...]) -> bool:
        """Whether a change counts as committed if the replicas in `holding` hold it."""
        match self.write:
            case WritePolicy.ALL:
                return len(holding) == len(children)
            case WritePolicy.PRIMARY:
                return children[0] in holding
            case WritePolicy.QUORUM:
                return 2 * len(holding) > len(children)


ALONE = Routing()
"""The default routing."""


T = TypeVar("T")

PAGE = 1000

Watching: TypeAlias = Callable[[str, str, float], None]
"""Callback with the operation, the store, and the seconds of a search or a write."""


Placing: TypeAlias = Callable[[Scope], Awaitable[Store | None]]
"""Returns the store of a scope's memories, or None for the default store."""


async def nowhere_else(scope: Scope) -> None:
    """Placing for when all scopes use the same store."""


_MOST_QUESTIONS = 256


class NamelessVectors:
    """LRU cache of vectors of queries without names: the same is often asked about many people.

    `pace` is how many seconds the last embedding took. Thread-safe.
    """

    def __init__(self) -> None:
        self.pace = math.inf
        self._lock = Lock()
        self._vectors: OrderedDict[str, bytes] = OrderedDict()

    def known(self, rest: str) -> bytes | None:
        with self._lock:
            vector = self._vectors.get(rest)
            if vector is not None:
                self._vectors.move_to_end(rest)
            return vector

    def learn(self, rest: str, vector: bytes) -> None:
        with self._lock:
            self._vectors[rest] = vector
            if len(self._vectors) > _MOST_QUESTIONS:
                self._vectors.popitem(last=False)


LENDING = frozenset({"recall", "context", "profile"})
"""The operations that also read memories lent by other agents."""


class Context(Struct, frozen=True, kw_only=True):
    """The store, the embedder with its floors, the clock, the id mint and the routing of several stores.

    `watching` receives how long stores take for `operation`, the one this context was made for. `placing`
    finds the store of a scope; `nameless_vectors` and `nameless_tasks` cache the vectors of recent queries
    and tasks.
    """

    store: Store
    embedder: Embedder
    floors: Floors
    clock: Clock
    mint: IdMint
    governance: Governance | None = None
    routing: Routing = ALONE
    operation: str = "other"
    watching: Watching | None = None
    placing: Placing = nowhere_else
    nameless_vectors: NamelessVectors = field(default_factory=NamelessVectors)
    nameless_tasks: NamelessVectors = field(default_factory=NamelessVectors)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the store, or of each replica, as used in receipts."""
        return self.store.replica_names if isinstance(self.store, SupportsReplicas) else (self.store.name,)

    def took(self, store: str, seconds: float) -> None:
        if self.watching is not None:
            self.watching(self.operation, store, seconds)

    async def timed(self, store: str, work: Awaitable[T]) -> T:
        """Await a store's answer and report its duration to the observer, also on failure."""
        now = asyncio.get_running_loop().time
        start = now()
        try:
            return await work
        finally:
            self.took(store, now() - start)

    async def serving(self, scope: Scope) -> "Context":
        """Return this context with the store of the scope's memories."""
        store = await self.placing(scope)
        return self if store is None else replace(self, store=store)

    def require_governance(self) -> Governance:
        """The journal, policy and redactor; raises CapabilityUnsupported when none is configured."""
        if self.governance is None:
            raise unsupported("governance", "no journal is wired here")
        return self.governance

    async def redacts(self, tenant: str) -> bool:
        """Whether a rule of the tenant redacts memories for some callers."""
        return self.governance is not None and bool(
            (await self.governance.rulebook.policy(tenant)).redactions
        )

    async def finds_loans(self, scope: Scope) -> bool:
        """Whether another agent ever lent memories to this one, and the operation reads lent memories."""
        if self.governance is None or self.operation not in LENDING:
            return False
        return scope.agent in [row[0] for row in await self.governance.rulebook.list_loans(scope.tenant)]

    def without_secrets(self, text: str | None) -> str | None:
        """Redact a text that accompanies a memory (a reason, a note) for storage."""
        return text if text is None or self.governance is None else self.governance.redactor.text(text)[0]

    def historian(self, wanted_for: str) -> SupportsHistory:
        """Return the store if it keeps history; else raises CapabilityUnsupported for `wanted_for`."""
        if not isinstance(self.store, SupportsHistory):
            raise unsupported(wanted_for, f"store {self.store.name} keeps no history")
        return self.store

    def tracker(self, wanted_for: str) -> Tracker:
        if not isinstance(self.store, Tracker):
            raise unsupported(wanted_for, f"store {self.store.name} does not track recalls")
        return self.store

    async def all_matching(self, where: Where) -> AsyncIterator[Record]:
        """Yield every matching record, read page by page."""
        after: str | None = None
        while page := await self.store.find(where, after, PAGE):
            for record in page:
                yield record
            if len(page) < PAGE:
                return
            after = page[-1].id


def refuse_unreviewed(request: Write | Recall) -> None:
    """Raise if a request demands a review but no review queue is configured."""
    if request.approval_required:
        raise unsupported("approval_required", "no review queue is wired here, and it must not pass unseen")


def unsupported(field: str, why: str) -> CapabilityUnsupported:
    return CapabilityUnsupported(f"{field} is not available: {why}", field=field)
