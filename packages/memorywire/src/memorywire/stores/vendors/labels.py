"""Our names in a spelling every product takes: ASCII letters, digits, `-` and `_`, never trimmed or empty."""

import hashlib
import re
import uuid

from memorywire.model.record import Record, Scope

NOBODY = "nobody"

_ROOM = uuid.UUID("6d656d6f-7279-5769-8265-000000000001")
_LONGEST = 120
_STRANGE = re.compile(r"[^A-Za-z0-9-]")


def spelled(name: str) -> str:
    """The name in safe characters: readable where it is plain, always unambiguous, never too long."""
    plain = _STRANGE.sub(_escaped, name)
    if len(plain) <= _LONGEST:
        return plain
    # Three underscores: nothing spelled out has even two.
    return f"{plain[:40]}___{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"


def agent_label(scope: Scope) -> str:
    """A label for the agent of a tenant; no user has such a label."""
    return f"a-{spelled(scope.tenant)}__{spelled(scope.agent)}"


def user_label(scope: Scope) -> str:
    """A label for the user, or for there being none; no agent has such a label."""
    return NOBODY if scope.user is None else f"u-{spelled(scope.user)}"


def key_of(record: Record) -> str:
    """A UUID for this version of this memory of this tenant: the same every time, and nobody else's."""
    said = "\0".join((record.scope.tenant, record.id, str(record.version)))
    return str(uuid.uuid5(_ROOM, said))


def _escaped(found: re.Match[str]) -> str:
    # Every sign in as many bytes as UTF-8 has for it; a lone surrogate never comes this far.
    return "".join(f"_{byte:02x}" for byte in found.group().encode())
