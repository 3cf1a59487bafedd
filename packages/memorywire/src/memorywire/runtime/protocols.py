"""Runtime-checkable protocols with cached checks: each class is checked once, not on every request."""

from typing import Any, _ProtocolMeta

_KNOWN: dict[tuple[type, type], bool] = {}
_MOST = 4096  # there are few classes, but a program may create many


class Ability(_ProtocolMeta):
    """The metaclass of a runtime-checkable protocol whose members are defined on classes, not on instances.

    Checking every member of an object often takes longer than the call that follows.
    """

    def __instancecheck__(self, instance: Any) -> bool:
        key = (self, type(instance))
        known = _KNOWN.get(key)
        if known is None:
            if len(_KNOWN) >= _MOST:
                _KNOWN.clear()
            known = _KNOWN[key] = super().__instancecheck__(instance)
        return known
