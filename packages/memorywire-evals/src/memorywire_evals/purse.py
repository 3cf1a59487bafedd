"""What answering may cost: every call is paid from here, and none is begun that could be too much."""

from pathlib import Path

from msgspec import Struct

from memorywire.model.consolidation import Spending
from memorywire.model.errors import TooManyAffected
from memorywire.model.record import Json
from memorywire_evals.metrics import tokens
from memorywire_evals.readers import MOST_TOKENS, Reader, Reply


class Purse(Struct):
    """Counts what readers say they took; without `spending`, any number of tokens is allowed."""

    spending: Spending | None = None
    calls: int = 0
    tokens: int = 0

    async def ask(self, reader: Reader, prompt: str, *, folder: Path | None = None) -> Reply:
        """What the reader says; raises TooManyAffected when a long answer would cost more than is allowed."""
        most = self.tokens + tokens(prompt) + MOST_TOKENS
        if self.spending is not None and not self.spending.allows(most):
            raise TooManyAffected(
                f"{self.calls} calls took {self.spent()}; the next one may be too much",
                field="max-tokens" if most > self.spending.tokens else "max-cost",
                fix="allow more and run it again: answers so far are kept and not paid for again",
            )
        reply = await reader.ask(prompt, folder=folder)
        self.calls += 1
        self.tokens += reply.tokens
        return reply

    def spent(self) -> str:
        """In words."""
        cost = self.cost(self.tokens)
        return f"{self.tokens} tokens" + ("" if cost is None else f", which cost {cost:.4g}")

    def cost(self, tokens: int) -> float | None:
        """What so many tokens cost, where a price is known."""
        return None if self.spending is None else self.spending.costs(tokens)

    def to_json(self) -> dict[str, Json]:
        return {"calls": self.calls, "tokens": self.tokens, "cost": self.cost(self.tokens)}
