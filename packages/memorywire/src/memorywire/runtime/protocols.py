"""Protocols that are checked on every request: whether a class satisfies one is found out once."""

from typing import Any, _ProtocolMeta

_KNOWN: dict[tuple[type, type], bool] = {}
_MOST = 4096  # classes are few, but nothing keeps a program from making them


class Ability(_ProtocolMeta):
    """The metaclass of a runtime-checkable protocol whose members belong to classes, never to one object.

    Looking at every member of an object takes longer than much of what is then done with it.
    """

    def __instancecheck__(self, instance: Any) -> bool:
        key = (self, type(instance))
        known = _KNOWN.get(key)
        if known is None:
            if len(_KNOWN) >= _MOST:
                _KNOWN.clear()
            known = _KNOWN[key] = super().__instancecheck__(instance)
        return known
