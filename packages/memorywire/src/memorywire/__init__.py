"""Memory for AI agents with a receipt for every write: one wire format over whichever store you run.

The names in `__all__`, and the modules `memorywire.sync`, `memorywire.client` and `memorywire.stores`, are
the public interface. Everything else can change in any release.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Modules of memorywire 0.5.0, such as memorywire.procedural, are found in a folder of their own.
__path__ = [*__path__, f"{__path__[0]}/compat_0_5"]

if TYPE_CHECKING:
    from memorywire.app.options import Reading, Several
    from memorywire.app.settings import Settings, load_settings
    from memorywire.client.harness import MemoryItem
    from memorywire.client.memory import Memory, configured
    from memorywire.client.remote import BlockingClient, Client
    from memorywire.journal.signed_hits import verify_hit
    from memorywire.model.answers import (
        Expired,
        Forgotten,
        Hit,
        Merged,
        Page,
        Recalled,
        Remembered,
        Status,
        Undone,
        Verdict,
    )
    from memorywire.model.capabilities import Capabilities, Feature
    from memorywire.model.change import Change, Version
    from memorywire.model.errors import (
        ApprovalPending,
        BudgetExceeded,
        CapabilityUnsupported,
        Conflict,
        DimensionMismatch,
        Duplicate,
        EmbedderFailed,
        EmbedderNotConfigured,
        Forbidden,
        IdempotencyConflict,
        InvalidJson,
        InvalidRequest,
        MemorywireError,
        Misdirected,
        NotFound,
        Overloaded,
        QuotaExceeded,
        RateLimited,
        Refused,
        SecretLeakage,
        SpaceMismatch,
        StoreBusy,
        StoreCorrupt,
        StoreError,
        StoreNewer,
        StoreUnavailable,
        TooLarge,
        TooManyAffected,
        TooSlow,
        Unauthenticated,
        UnknownOperation,
        UnsafeEngine,
        ValueTooLarge,
        VectorUnsupported,
        WrongMedia,
        WrongMethod,
        WrongType,
    )
    from memorywire.model.governance import GovernanceClient, ReviewRequest, ReviewResponse
    from memorywire.model.kv import Entry, Limits
    from memorywire.model.record import MemoryType, Record, Scope, Standing, Trust
    from memorywire.search.embed import Embedder
    from memorywire.search.render import render
    from memorywire.stores.contract import Store

__all__ = [
    "ApprovalPending",
    "BlockingClient",
    "BudgetExceeded",
    "Capabilities",
    "CapabilityUnsupported",
    "Change",
    "Client",
    "Conflict",
    "DimensionMismatch",
    "Duplicate",
    "Embedder",
    "EmbedderFailed",
    "EmbedderNotConfigured",
    "Entry",
    "Expired",
    "Feature",
    "Forbidden",
    "Forgotten",
    "GovernanceClient",
    "Hit",
    "IdempotencyConflict",
    "InvalidJson",
    "InvalidRequest",
    "Limits",
    "Memory",
    "MemoryItem",
    "MemoryType",
    "MemorywireError",
    "Merged",
    "Misdirected",
    "NotFound",
    "Overloaded",
    "Page",
    "QuotaExceeded",
    "RateLimited",
    "Reading",
    "Recalled",
    "Record",
    "Refused",
    "Remembered",
    "ReviewRequest",
    "ReviewResponse",
    "Scope",
    "SecretLeakage",
    "Settings",
    "Several",
    "SpaceMismatch",
    "Standing",
    "Status",
    "Store",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreNewer",
    "StoreUnavailable",
    "TooLarge",
    "TooManyAffected",
    "TooSlow",
    "Trust",
    "Unauthenticated",
    "Undone",
    "UnknownOperation",
    "UnsafeEngine",
    "ValueTooLarge",
    "VectorUnsupported",
    "Verdict",
    "Version",
    "WrongMedia",
    "WrongMethod",
    "WrongType",
    "__version__",
    "configured",
    "load_settings",
    "render",
    "verify_hit",
]

_ERRORS = "memorywire.model.errors"
_MODULES = {
    **dict.fromkeys(("Memory", "configured"), "memorywire.client.memory"),
    **dict.fromkeys(("BlockingClient", "Client"), "memorywire.client.remote"),
    "MemoryItem": "memorywire.client.harness",
    **dict.fromkeys(("Reading", "Several"), "memorywire.app.options"),
    **dict.fromkeys(("Settings", "load_settings"), "memorywire.app.settings"),
    **dict.fromkeys(
        (
            *("Expired", "Forgotten", "Hit", "Merged", "Page", "Recalled", "Remembered", "Status"),
            *("Undone", "Verdict"),
        ),
        "memorywire.model.answers",
    ),
    **dict.fromkeys(("Capabilities", "Feature"), "memorywire.model.capabilities"),
    **dict.fromkeys(("Change", "Version"), "memorywire.model.change"),
    **dict.fromkeys(("Entry", "Limits"), "memorywire.model.kv"),
    **dict.fromkeys(("MemoryType", "Record", "Scope", "Standing", "Trust"), "memorywire.model.record"),
    **dict.fromkeys(("GovernanceClient", "ReviewRequest", "ReviewResponse"), "memorywire.model.governance"),
    "verify_hit": "memorywire.journal.signed_hits",
    "Embedder": "memorywire.search.embed",
    "render": "memorywire.search.render",
    "Store": "memorywire.stores.contract",
}
"""The module of each public name that is not an error."""


def __getattr__(name: str) -> object:
    """Load a public name on first use, so that `import memorywire` loads nothing else."""
    if name in __all__:
        from importlib import import_module

        value: object = getattr(import_module(_MODULES.get(name, _ERRORS)), name)
        globals()[name] = value
        return value
    from memorywire.compat_0_5 import earlier_name

    return earlier_name(name)


def __dir__() -> list[str]:
    return __all__
