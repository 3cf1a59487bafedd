"""What the register of memories says of one of them."""

from memorywire.model.record import Scope
from memorywire.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a memory without asking any store; `digest` is None of one that ended elsewhere."""

    scope: Scope
    version: int
    digest: str | None
    live: bool
