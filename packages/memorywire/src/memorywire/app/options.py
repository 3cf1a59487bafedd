"""How a memory is opened: several stores, governance, and who reads conversations."""

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
    """How several stores work together.

    `deadline` is in seconds, for a recall, and `writing` for a write. A read that takes longer than `hedge`
    seconds is asked again. `seals` are keys by store name: what such a store returns must carry our seal.
    With a `route` a recall asks the stores of one kind, and not all of them.
    """

    routing: Routing = field(default_factory=Routing)
    deadline: float = DEADLINE
    writing: float = WRITE_DEADLINE
    hedge: float | None = None
    seals: Mapping[str, str] = field(default_factory=dict)
    route: Route | None = None


class Governance(Confidential, frozen=True, kw_only=True):
    """How changes are governed; switched off, nothing is judged, redacted or written down.

    `policy` is a shipped profile or the path of a TOML file. `journal` is a URL, for stores that cannot keep
    a journal beside their memories; `fallback` is the one for durable stores when none is named. `secrets`
    are values by label that must never be kept; with `redact_personal`, neither is personal data. `caller` is
    the caller, unless the server knows a more precise one. `console` is the address of the pages where people
    decide.
    Each checkpoint of the ledger goes to the `witnesses`. The `reviewers` are asked about each held change.
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
    """Who reads conversations for facts: `auto`, `builtin`, `off`, or an endpoint with its key.

    An extractor that costs something is asked so often a day at most.
    """

    extractor: str = DEFAULT_EXTRACTOR
    key: str | None = None
    calls_a_day: int = CALLS_A_DAY
