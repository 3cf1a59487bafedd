"""What recalls may hand out: budgets of the policy, counted from the recall log and from this process."""

from memorywire.journal.contract import Journal
from memorywire.model.clock import DAY_MS
from memorywire.model.proposal import RecallNote
from memorywire.model.requests import Recall
from memorywire.policy.budgets import Budget, Usage, spend
from memorywire.policy.judge import Policy
from memorywire.policy.patterns import names

_FRESH_MS = 5_000
_UNLIMITED = Budget()


class Purse:
    """What was handed out lately, by tenant and subject (`agent:NAME`, `caller:NAME`).

    It is read again from the recall log every few seconds, so that budgets hold across restarts and
    processes.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[tuple[str, str], tuple[int, Usage]] = {}

    async def check(self, request: Recall, policy: Policy, caller: str, now: int) -> None:
        """Raise BudgetExceeded when handing out `k` more memories could exceed a budget that applies."""
        for subject in (f"agent:{request.scope.agent}", f"caller:{caller}"):
            for pattern, budget in policy.budgets:
                if names([pattern], subject):
                    usage = await self._usage(request.scope.tenant, subject, now)
                    spend(budget, usage, request.k, now)

    def spend(self, note: RecallNote) -> None:
        """Count what was handed out, against the subjects that are being counted."""
        for subject in (f"agent:{note.scope.agent}", f"caller:{note.caller}"):
            key = (note.scope.tenant, subject)
            if key in self._known and note.hits:
                read_at, usage = self._known[key]
                self._known[key] = (read_at, spend(_UNLIMITED, usage, len(note.hits), note.at))

    async def _usage(self, tenant: str, subject: str, now: int) -> Usage:
        read_at, usage = self._known.get((tenant, subject), (None, Usage()))
        if read_at is None or not 0 <= now - read_at < _FRESH_MS:
            kind, _, name = subject.partition(":")
            usage = Usage()
            for at, count in await self._journal.recalled(tenant, now - DAY_MS, **{kind: name}):
                usage = spend(_UNLIMITED, usage, count, at)
            self._known[tenant, subject] = (now, usage)
        return usage
