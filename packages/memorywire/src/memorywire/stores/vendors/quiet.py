"""Imports products that would otherwise configure the whole process, such as its logging."""

import contextlib
import logging
import sys
from collections.abc import Mapping
from types import ModuleType

from memorywire.stores.vendors.place import need


def need_quietly(module: str, *, store: str, extra: str, silence: Mapping[str, str]) -> ModuleType:
    """As `need`, for a product that configures the root logger as it is imported.

    It would write to standard output, which may be somebody's protocol, and copy into a file of its own what
    anybody logs, memories included. Whoever started this process decides about both.
    """
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with contextlib.redirect_stdout(sys.stderr):
        loaded = need(module, store=store, extra=extra, silence=silence)
    root.handlers[:] = handlers
    root.setLevel(level)
    return loaded
