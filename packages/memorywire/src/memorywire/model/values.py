"""Values: dataclasses whose methods are written when they are first called.

To a type checker, and to whoever asks for its fields, `dataclass` is that of the standard library, and its
values behave as those do. Writing the methods of one class takes half a millisecond; a process that answers
one question loads two hundred classes and makes values of forty.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

_COMPARING = ("__repr__", "__eq__", "__hash__")
_WRITTEN = ("__init__", *_COMPARING)
_NOT_GIVEN = object()


def _dataclass(*, kw_only: bool = False, **options: bool) -> Callable[[type[T]], type[T]]:
    """The decorator: methods of frozen classes with slots are written when first called, others at once."""
    if options == {"frozen": True, "slots": True}:
        return partial(_value, kw_only=kw_only)
    return dataclasses.dataclass(kw_only=kw_only, **options)


def _value(kind: type[T], *, kw_only: bool) -> type[T]:
    if not kind.__dict__.keys().isdisjoint(_WRITTEN):  # it has a mind of its own
        return dataclasses.dataclass(frozen=True, slots=True, kw_only=kw_only)(kind)
    kind.__doc__ = kind.__doc__ or kind.__name__  # else its signature is looked for, which takes long
    bare = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(kind)
    methods = {name: _waiting(bare, name) for name in _WRITTEN} | {
        "__setattr__": _not_assigned,
        "__delattr__": _not_deleted,
        "__getstate__": _state,
        "__setstate__": _restore,
    }
    for name, method in methods.items():
        setattr(bare, name, method)
    return bare


def _waiting(kind: type, name: str) -> Callable[..., Any]:
    """A stand-in for a method, which has the real one written when it is first called."""

    def method(self: object, *args: Any, **kwargs: Any) -> Any:
        _write_init(kind) if name == "__init__" else _write_comparing(kind)
        return getattr(kind, name)(self, *args, **kwargs)

    return method


def _write_comparing(kind: Any) -> None:
    """Write the comparing methods: the standard library makes them for a twin, and they are taken over."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    hints = {name: field.type for name, field in fields.items()}
    same = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    body: dict[str, Any] = {"__annotations__": hints, **same, **fields}
    twin: Any = dataclasses.dataclass(init=False, unsafe_hash=True)(type(kind.__name__, (), body))
    for name in _COMPARING:
        setattr(kind, name, getattr(twin, name))


def _write_init(kind: Any) -> None:
    """Write `__init__` as the standard library does, but set slots directly, without a lookup by name."""
    fields = [field for field in dataclasses.fields(kind) if field.init]
    made = [field for field in fields if field.default_factory is not dataclasses.MISSING]
    known = {f"set_{field.name}": getattr(kind, field.name).__set__ for field in fields}
    known |= {f"make_{field.name}": field.default_factory for field in made}
    init = _function(_text_of_init(kind, fields), kind, {**known, "not_given": _NOT_GIVEN})
    given = [(field, _default(field)) for field in fields if _default(field) is not dataclasses.MISSING]
    init.__defaults__ = tuple(default for field, default in given if not field.kw_only)
    init.__kwdefaults__ = {field.name: default for field, default in given if field.kw_only}
    init.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = init


def _text_of_init(kind: type, fields: Sequence[dataclasses.Field[Any]]) -> str:
    places = [field.name for field in fields if not field.kw_only]
    words = [field.name for field in fields if field.kw_only]
    lines = [f"set_{field.name}(self, {_text_of_value(field)})" for field in fields]
    ending = ["self.__post_init__()"] if hasattr(kind, "__post_init__") else []
    head = ", ".join(["self", *places, *(["*", *words] if words else [])])
    return f"def __init__({head}):\n " + "\n ".join([*lines, *ending] or ["pass"])


def _text_of_value(field: dataclasses.Field[Any]) -> str:
    name = field.name
    if field.default_factory is dataclasses.MISSING:
        return name
    return f"make_{name}() if {name} is not_given else {name}"


def replaced(value: T, **changes: Any) -> T:
    """As `dataclasses.replace`, but faster, for values whose `__init__` only stores its arguments."""
    kind: Any = type(value)
    copied: T = _copier(kind)(value, changes)
    return copied


@cache
def _copier(kind: Any) -> FunctionType:
    twin = _twin(kind)
    setters = {field.name: getattr(twin, field.name).__set__ for field in dataclasses.fields(kind)}
    lines = [f"new.{name} = value.{name}" for name in setters]
    changing = "for name, given in changes.items(): setters[name](new, given)"
    body = "\n ".join(["new = twin()", *lines, changing, "new.__class__ = kind", "return new"])
    known = {"setters": setters, "twin": twin, "kind": kind}
    return _function(f"def copied(value, changes):\n {body}", kind, known)


def _twin(kind: Any) -> type:
    """A kind whose slots may be assigned: a value is filled in as one of it, and then becomes what it is."""
    return type(kind.__name__, (), {"__slots__": kind.__slots__})


def _maker(kind: Callable[..., T]) -> Callable[..., T]:
    """Makes values as their kind does, also by place, in a third of the time: for those that are as given."""
    known: Any = kind
    fields = dataclasses.fields(known)
    lines = [f"_new.{field.name} = {_text_of_value(field)}" for field in fields]
    body = "\n ".join(["_new = _twin()", *lines, "_new.__class__ = _kind", "return _new"])
    factories = {f"make_{field.name}": field.default_factory for field in fields}
    names = {"_twin": _twin(kind), "_kind": kind, "not_given": _NOT_GIVEN, **factories}
    made = _function(f"def made({', '.join(field.name for field in fields)}):\n {body}", known, names)
    made.__defaults__ = _last_defaults(fields)
    return made


def _last_defaults(fields: Sequence[dataclasses.Field[Any]]) -> tuple[object, ...]:
    """Of the fields behind the last one that must be given."""
    needed = [at for at, field in enumerate(fields, 1) if _default(field) is dataclasses.MISSING]
    return tuple(_default(field) for field in fields[max(needed, default=0) :])


def _function(text: str, kind: type, known: dict[str, Any]) -> FunctionType:
    written = compile(text, f"<{kind.__qualname__}>", "exec")
    return FunctionType(next(part for part in written.co_consts if isinstance(part, CodeType)), known)


def _default(field: dataclasses.Field[Any]) -> object:
    return field.default if field.default_factory is dataclasses.MISSING else _NOT_GIVEN


def _not_assigned(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _not_deleted(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: Sequence[Any]) -> None:
    """For copies and pickles, which set what nobody else may."""
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

    def maker(kind: Callable[P, T]) -> Callable[P, T]: ...
else:
    dataclass = _dataclass
    maker = cache(_maker)
