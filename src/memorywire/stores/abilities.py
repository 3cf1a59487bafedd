"""Protocols that are asked after on every request: whether a class satisfies one is found out once."""

from typing import Any, _ProtocolMeta
from weakref import WeakKeyDictionary

_KNOWN: WeakKeyDictionary[type, dict[type, bool]] = WeakKeyDictionary()


class Ability(_ProtocolMeta):
    """The metaclass of a runtime-checkable protocol whose members belong to classes, never to one object.

    Looking at every member of an object takes longer than much of what is then done with it.
    """

    def __instancecheck__(self, instance: Any) -> bool:
        known = _KNOWN.setdefault(type(instance), {})
        if self not in known:
            known[self] = super().__instancecheck__(instance)
        return known[self]
