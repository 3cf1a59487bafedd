"""What stands in memories that are kept: secrets and instructions, by kind and place, never by value."""

from msgspec import Struct, field

from memorywire.model.answers import Status


class Kept(Struct, frozen=True, kw_only=True):
    """One finding in one memory: `what` names the kind of secret or the sign of an instruction."""

    id: str
    what: str
    place: str


class Scanned(Struct, frozen=True, kw_only=True):
    """How many memories were read, and what stands in them."""

    memories: int
    secrets: tuple[Kept, ...] = ()
    instructions: tuple[Kept, ...] = ()


class Cleared(Struct, frozen=True, kw_only=True):
    """What became of the secrets of one memory: a new version without them, or the problem that kept them."""

    id: str
    status: Status | None = None
    change_id: str | None = None
    proposal_id: str | None = None
    problem: dict[str, str] = field(default_factory=dict)
