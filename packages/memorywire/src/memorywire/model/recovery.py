"""Recovering as values: whose memories are to go, and what became of each that had to do with them."""

from enum import StrEnum

from msgspec import Struct

from memorywire.model.answers import Outcome, Status
from memorywire.model.record import Scope


class Cause(StrEnum):
    """How a memory came to depend on the source; `directive` is one that does not, but gives orders."""

    SOURCE = "source"
    DERIVED = "derived_from"
    MERGED = "merged_from"
    SUPERSEDES = "supersedes"
    REPLACED = "replaced_by"
    DIRECTIVE = "directive"


class Deed(StrEnum):
    """What is done about a memory. What is `gone` had ended already; what is `kept` corrects the source."""

    ENDED = "ended"
    ROLLED_BACK = "rolled_back"
    RESTORED = "restored"
    QUARANTINED = "quarantined"
    GONE = "gone"
    KEPT = "kept"


class Recover(Struct, frozen=True, kw_only=True):
    """Everything since then whose source reads like the pattern (`*` stands for anything)."""

    scope: Scope
    source: str
    since: int
    dry_run: bool = False


class Step(Struct, frozen=True, kw_only=True):
    """What is done about one memory and why: `via` is the memory it came through, `signs` of a directive."""

    id: str
    deed: Deed
    cause: Cause
    via: str | None = None
    signs: tuple[str, ...] = ()


class Recovered(Struct, frozen=True, kw_only=True):
    """The report, and the one change that an undo takes back; without `change_id` nothing changed.

    `degraded` says `older_changes` when there were more changes since then than were looked at.
    """

    steps: tuple[Step, ...]
    dry_run: bool
    status: Status | None = None
    change_id: str | None = None
    outcomes: tuple[Outcome, ...] = ()
    degraded: tuple[str, ...] = ()

    def ids(self, deed: Deed) -> tuple[str, ...]:
        return tuple(step.id for step in self.steps if step.deed is deed)
