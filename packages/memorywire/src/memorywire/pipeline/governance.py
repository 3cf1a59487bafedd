"""Who answers for a change: the policy that judges it, the redactor before it, the journal that keeps it."""

import asyncio
from collections.abc import Sequence

from memorywire.journal.contract import Journal
from memorywire.model.clock import Clock
from memorywire.model.proposal import Proposal
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.model.values import dataclass
from memorywire.pipeline.budget import Purse
from memorywire.pipeline.rejected import RejectedWords
from memorywire.policy.documents import with_rules
from memorywire.policy.judge import Policy
from memorywire.policy.redact import Redactor

LOCAL = "local"
"""The caller when nobody had to say who they are: the one user of this machine."""

_FRESH_MS = 1_000
_MOST_TENANTS = 1_000
_NEVER: tuple[int, Policy | None] = (0, None)


def review_url(console: str) -> str:
    """Where a console shows a proposal, up to the id."""
    return f"{console.rstrip('/')}/proposal?id="


class Rulebook:
    """The policy in force for a tenant: rules that people gave through the journal, those of the default
    tenant before its own, then those of the file or profile.

    A change made by another process is seen within a second.
    """

    def __init__(self, base: Policy, journal: Journal, clock: Clock) -> None:
        self.base = base
        self._journal = journal
        self._clock = clock
        self._policies: dict[str, tuple[int, Policy]] = {}
        self._reading = asyncio.Lock()

    async def policy(self, tenant: str) -> Policy:
        """The policy that judges requests of this tenant."""
        policy = self._fresh(tenant)
        if policy is None:
            async with self._reading:
                policy = self._fresh(tenant)  # another task may have read it meanwhile
                if policy is None:
                    policy = await self._read(tenant)
        return policy

    def _fresh(self, tenant: str) -> Policy | None:
        read_at, policy = self._policies.get(tenant, _NEVER)
        return policy if policy is not None and 0 <= self._clock() - read_at < _FRESH_MS else None

    async def _read(self, tenant: str) -> Policy:
        now = self._clock()
        shared = await self._journal.edition(DEFAULT_TENANT)
        own = None if tenant == DEFAULT_TENANT else await self._journal.edition(tenant)
        given = [edition.rules for edition in (shared, own) if edition is not None]
        if own is not None and shared is not None:
            given[0] = without_own(shared.rules, tenant)
        policy = with_rules(self.base, *given) if given else self.base
        if len(self._policies) >= _MOST_TENANTS:
            self._policies.clear()
        self._policies[tenant] = (now, policy)
        return policy

    def forget(self) -> None:
        """Read again what is in force, because this process changed it."""
        self._policies.clear()


def without_own(rules: Sequence[Json], tenant: str) -> tuple[Json, ...]:
    """Rules of the default tenant without those about this tenant alone, which gave rules of its own.

    Before tenants had editions of their own, the rules of all of them stood in one list.
    """
    return tuple(rule for rule in rules if rule.get("tenant") != [tenant])


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """What governs changes: the policy, the redactor and the journal.

    `principal` is the credential behind the `caller`, where that is another name: an agent over MCP uses the
    token of an operator. `review_url` is the console's address up to the id of a proposal, if one is known.
    Changes held in one `batch` can be decided together.
    """

    journal: Journal
    rulebook: Rulebook
    purse: Purse
    redactor: Redactor
    rejected: RejectedWords
    caller: str = LOCAL
    principal: str | None = None
    review_url: str | None = None
    batch: str | None = None

    def address(self, proposal: Proposal) -> str | None:
        """Where people decide about a proposal; it names the tenant, because a reviewer may be at another."""
        if self.review_url is None:
            return None
        from urllib.parse import quote  # few changes are held

        mark = "&" if "?" in self.review_url else "?"
        return f"{self.review_url}{proposal.id}{mark}tenant={quote(proposal.scope.tenant, safe='')}"
