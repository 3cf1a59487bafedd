"""Ids derived from names, so that the same thing gets the same id when it comes again."""

import hashlib
import uuid

_NAMES = uuid.UUID("6f1f6a52-7a0e-5d0b-9a57-1f0c2f5e8d11")


def derived(*names: str) -> str:
    """The same id for the same names, whenever it is asked for."""
    return str(uuid.uuid5(_NAMES, "\n".join(names)))


def batch_of(what: str) -> str:
    """The id of an import, the same for the same one."""
    return str(uuid.UUID(bytes=hashlib.sha256(what.encode()).digest()[:16]))
