"""The public names of memorywire 0.5.0: a deprecated alias of ours, or an error that names ours.

The folder is on the path of the package, so that `memorywire.procedural` and the other modules of 0.5.0 are
found in it.
"""

import warnings
from collections.abc import Mapping
from importlib import import_module

ALIASES: Mapping[str, str] = {
    "Capability": "memorywire.model.capabilities:Feature",
    "ExpireAction": "memorywire.model.requests:Action",
    "ExpireResponse": "memorywire.model.answers:Expired",
    "ForgetResponse": "memorywire.model.answers:Forgotten",
    "FusionAlgorithm": "memorywire.model.requests:Fusion",
    "Memory": "memorywire:Memory",
    "MemoryRecord": "memorywire.model.record:Record",
    "MemoryStore": "memorywire.stores.contract:Store",
    "MemoryType": "memorywire:MemoryType",
    "MergeResponse": "memorywire.model.answers:Merged",
    "MergeStrategy": "memorywire.model.requests:Strategy",
    "Recall": "memorywire.model.answers:Hit",
    "RecallHit": "memorywire.model.answers:Hit",
    "RecallResponse": "memorywire.model.answers:Recalled",
    "RememberResponse": "memorywire.model.answers:Remembered",
}
"""Our value under its name of 0.5.0, as `module:name`."""

_CALL = 'call Memory.{0}(...), or send JSON with Memory.call("{0}", {{...}})'
_PROCEDURE = "a procedure is the content of a procedural memory; see memorywire.procedural.Procedure"
_RECOVER = "call Memory.recover(source, since=...), or run: memorywire recover"
_DREAM = "run `memorywire dream --watch`, or set [dream] promote in memorywire.toml"
_CONTENT = "the type of a memory is Memory.remember(..., type=...)"
REPLACED: Mapping[str, str] = {
    **{f"{name.title()}Request": _CALL.format(name) for name in ("remember", "recall", "forget", "merge")},
    "ExpireRequest": _CALL.format("expire"),
    "ExpirePolicy": 'give a dict: Memory.expire({"older_than_days": 30})',
    "ForgetStoreResult": "read Forgotten.stores, as Memory.forget(...) gives it",
    "GovernanceOperation": "rules name operations by their wire names; see: memorywire policy show",
    "MemoryRouter": "give Memory several stores: Memory(agent_id, [url, url])",
    "Neighborable": "see docs/how-to/write-a-store.md for a store that follows links",
    **dict.fromkeys(("SemanticMemory", "EpisodicMemory", "ProceduralMemory", "EmotionalMemory"), _CONTENT),
    **dict.fromkeys(("ProcedureTransition", "ProcedureSpec"), _PROCEDURE),
    **dict.fromkeys(("STMItem", "STMToLTMTransformer", "TickResult"), _DREAM),
    **dict.fromkeys(
        ("Recoverer", "RecoveryReport", "EntryVerdict", "Verdict", "classify", "directive_detector"), _RECOVER
    ),
    **dict.fromkeys(("build_graph", "render_html"), "open the console: memorywire serve"),
    "Mem0Store": 'give Memory a URL: Memory(agent_id, "mem0://...")',
    "LettaStore": 'give Memory a URL: Memory(agent_id, "letta://...")',
    "CogneeStore": 'give Memory a URL: Memory(agent_id, "cognee://...")',
    "PgVectorStore": 'give Memory a URL: Memory(agent_id, "postgresql://...")',
    "MemorywireChatMessageHistory": "keep messages with Memory.layer.add(messages, session_id=...)",
}
"""What to write instead of a name of 0.5.0 that has no value of the same use here."""


def earlier_name(name: str) -> object:
    """Our value under a name of 0.5.0, with a DeprecationWarning.

    Raises ImportError, with what to write instead, for a name that we replaced; AttributeError for others.
    `from module import name` shows the text of an ImportError and hides that of an AttributeError.
    """
    if name in REPLACED:
        raise ImportError(f"{name} of memorywire 0.5.0 does not exist here: {REPLACED[name]}", name=name)
    if name not in ALIASES:
        raise AttributeError(f"module 'memorywire' has no attribute {name!r}")
    module, _, ours = ALIASES[name].partition(":")
    warnings.warn(
        f"{name} is a name of memorywire 0.5.0: use {module}.{ours}", DeprecationWarning, stacklevel=3
    )
    value: object = getattr(import_module(module), ours)
    return value
