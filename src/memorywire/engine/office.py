"""Who answers for a change: the policy that judges it, the redactor before it, the journal that keeps it."""

import asyncio

from memorywire.engine.purse import Purse
from memorywire.engine.rejected import RejectedWords
from memorywire.governance.documents import with_rules
from memorywire.governance.policy import Policy
from memorywire.governance.redact import Redactor
from memorywire.journal.contract import Journal
from memorywire.model.clock import Clock
from memorywire.model.proposal import Proposal
from memorywire.model.values import dataclass

LOCAL = "local"
"""The caller when nobody had to say who they are: the one user of this machine."""

_FRESH_MS = 1_000


def review_url(console: str) -> str:
    """Where a console shows a proposal, up to the id."""
    return f"{console.rstrip('/')}/proposal?id="


class Rulebook:
    """The policy in force: rules that people gave through the journal, then those of the file or profile.

    A change made by another process is seen within a second.
    """

    def __init__(self, base: Policy, journal: Journal, clock: Clock) -> None:
        self.base = base
        self._journal = journal
        self._clock = clock
        self._policy = base
        self._read_at: int | None = None
        self._reading = asyncio.Lock()

    async def policy(self) -> Policy:
        if not self._is_fresh():
            async with self._reading:
                if not self._is_fresh():  # else whoever was before us has read it
                    await self._read()
        return self._policy

    def _is_fresh(self) -> bool:
        return self._read_at is not None and 0 <= self._clock() - self._read_at < _FRESH_MS

    async def _read(self) -> None:
        now = self._clock()
        edition = await self._journal.edition()
        self._policy = self.base if edition is None else with_rules(self.base, edition.rules)
        self._read_at = now

    def forget(self) -> None:
        """Read again what is in force, because this process changed it."""
        self._read_at = None


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
