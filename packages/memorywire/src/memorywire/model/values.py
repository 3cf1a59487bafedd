"""The base of values that hold secrets."""

from typing import Any, ClassVar

from msgspec import Struct


class Confidential(Struct, frozen=True):
    """A value whose representation leaves out the fields named in `HIDDEN`.

    A Struct shows every field, both in `repr` and to rich, which prints the locals of a traceback.
    """

    HIDDEN: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"
        )

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.HIDDEN]
