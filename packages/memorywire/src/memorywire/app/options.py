"""Options of opening a memory: several stores, governance, and the extractor of facts."""

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct, field

from memorywire.model.governance import GovernanceClient
from memorywire.model.layer import CALLS_A_DAY
from memorywire.model.record import LOCAL
from memorywire.model.secrets import Confidential
from memorywire.pipeline.context import Routing
from memorywire.pipeline.extract import DEFAULT_EXTRACTOR
from memorywire.policy.documents import Profile
from memorywire.stores.router import DEADLINE, WRITE_DEADLINE, Route


class Several(Struct, frozen=True, kw_only=True):
    """Options of a router over several stores.

    `deadline` limits a recall and `writing` a write, in seconds. A read that takes longer than `hedge`
    seconds is sent again. `seals` are keys by store name: records from such a store must have a valid seal.
    With a `route` a recall queries the stores of one kind, not all of them.
    """

    routing: Routing = field(default_factory=Routing)
    deadline: float = DEADLINE
    writing: float = WRITE_DEADLINE
    hedge: float | None = None
    seals: Mapping[str, str] = field(default_factory=dict)
    route: Route | None = None


class Governance(Confidential, frozen=True, kw_only=True):
    """Options of governance; if it is off, nothing is judged, redacted or written to the ledger.

    `policy` is a shipped profile or the path of a TOML file. `journal` is its URL, for stores that cannot
    contain a journal; `fallback` is used for durable stores if it is None. `secrets` are values by label
    that must never be stored; with `redact_personal`, personal data is not stored either. `caller` is the
    default caller, which a server replaces by a more precise one. `console` is the URL of the review pages.
    Each checkpoint of the ledger is sent to the `witnesses`. Each held change is sent to the `reviewers`.
    """

    HIDDEN: ClassVar = frozenset({"secrets"})

    policy: str = Profile.BALANCED
    journal: str | None = None
    fallback: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    redact_personal: bool = False
    caller: str = LOCAL
    console: str | None = None
    on: bool = True
    witnesses: tuple[str, ...] = ()
    reviewers: tuple[GovernanceClient, ...] = ()


class Reading(Struct, frozen=True, kw_only=True):
    """The extractor of facts from conversations: `auto`, `builtin`, `off`, or an endpoint with its key.

    An extractor that costs money is called at most `calls_a_day` times a day.
    """

    extractor: str = DEFAULT_EXTRACTOR
    key: str | None = None
    calls_a_day: int = CALLS_A_DAY
