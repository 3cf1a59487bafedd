"""References to memories: opaque to callers, and checked before they are used."""

import base64
import binascii
import json
import re
from typing import Final

from memorywire.model.record import Scope

REF_CHARS: Final = 1_500
SCRATCHPAD: Final = "scratchpad"
CONVERSATION: Final = "conversation"

_ISSUED = "mwr_"
_SCHEME = "mem://"
_OF_RUN = "openwop-run:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")
_NAME_CHARS = 256


def build_ref(scope: Scope) -> str:
    """Build the reference to the memory of a scope."""
    fields = json.dumps([scope.tenant, scope.agent, scope.user], ensure_ascii=False, separators=(",", ":"))
    return _ISSUED + base64.urlsafe_b64encode(fields.encode()).decode().rstrip("=")


def parse_ref(ref: str, tenant: str) -> Scope | None:
    """Parse a reference; None if the text is not a valid one.

    Accepts a reference issued here, the name of an agent of the tenant, or `mem://` with a path, as in
    the published scenarios: `mem://a/b` is the memory of the tenant's agent `a/b`.
    """
    if len(ref) > REF_CHARS:
        return None
    if ref.startswith(_ISSUED):
        return _parse_issued(ref)
    workflows_by_name = ref.removeprefix(_SCHEME)
    if not _is_agent_path(workflows_by_name, path=workflows_by_name != ref):
        return None
    return Scope(tenant=tenant, agent=workflows_by_name)


def _is_agent_path(named: str, *, path: bool) -> bool:
    parts = named.split("/") if path else [named]
    return len(named) <= _NAME_CHARS and all(_NAME.fullmatch(part) for part in parts)


def run_scope(run: str, tenant: str, kind: str) -> Scope:
    """Return the scope of a memory that only this run uses."""
    return Scope(tenant=tenant, agent=f"{_OF_RUN}{run}:{kind}")


def is_run_memory(scope: Scope) -> bool:
    return scope.agent.startswith(_OF_RUN)


def _parse_issued(ref: str) -> Scope | None:
    body = ref.removeprefix(_ISSUED)
    try:
        tenant, agent, user = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        scope = Scope(tenant=tenant, agent=agent, user=user)
        workflows_by_name = isinstance(tenant, str) and _is_name(agent) and (user is None or _is_name(user))
        return scope if workflows_by_name and build_ref(scope) == ref else None
    except (binascii.Error, TypeError, ValueError, RecursionError):
        return None


def _is_name(value: object) -> bool:
    """Return whether the wire accepts this name: otherwise the other interfaces could not address the
    memory.
    """
    return isinstance(value, str) and 0 < len(value) <= _NAME_CHARS and "\0" not in value
