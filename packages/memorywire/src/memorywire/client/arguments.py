"""Checks the arguments of the SDK by their types, so that a wrong one is a problem that names it."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import SimpleNamespace
from typing import Any, TypeVar, cast, get_args, get_type_hints, is_typeddict

from msgspec import ValidationError, convert

from memorywire.model.errors import InvalidRequest
from memorywire.wire import strict
from memorywire.wire.validate import unknown_field

F = TypeVar("F", bound=Callable[..., Any])

_PLACE = re.compile(r" - at `(?:key` in `)?\$(.*)`$")
_STEP = re.compile(r"\w+")
_LEAVES = (str, int, float)
_SCHEMATIC = frozenset({"query"})
"""Arguments that a schema checks, so that their problems are the same everywhere."""


def checks_arguments(method: F) -> F:
    """The method, which first checks its arguments by their types; raises InvalidRequest.

    It is for methods whose arguments no schema checks.
    """

    def check(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        names, types, others = _read_types(method)
        for name, value in (*zip(names, arguments, strict=False), *options.items()):
            if name in _SCHEMATIC:
                continue
            if name in types:
                check_argument(name, value, types[name])
            elif others is None:
                raise unknown_field(name, [*types])
            else:
                check_argument(name, value, others)

    @wraps(method)
    def run(self: Any, /, *arguments: Any, **options: Any) -> Any:
        check(arguments, options)
        return method(self, *arguments, **options)

    @wraps(method)
    async def run_async(self: Any, /, *arguments: Any, **options: Any) -> Any:
        check(arguments, options)
        return await method(self, *arguments, **options)

    return cast(F, run_async if inspect.iscoroutinefunction(method) else run)


@cache
def _read_types(method: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any], Any]:
    """The names of the arguments in order, the types of all that are known, and of the others, if any."""
    annotations = {name: kind for name, kind in method.__annotations__.items() if name != "return"}
    hints = get_type_hints(SimpleNamespace(__annotations__=annotations), method.__globals__)
    names: list[str] = []
    types: dict[str, Any] = {}
    others = None
    for one in list(inspect.signature(method).parameters.values())[1:]:
        if one.kind is one.VAR_KEYWORD:
            options = next(iter(get_args(hints[one.name])), None)
            if is_typeddict(options):
                types |= get_type_hints(options)
            else:
                others = hints[one.name]
        else:
            types[one.name] = hints[one.name]
            names += [] if one.kind is one.KEYWORD_ONLY else [one.name]
    return tuple(names), types, others


def check_argument(name: str, value: Any, annotation: Any) -> None:
    """Raise InvalidRequest, naming the argument, unless the value is of this type."""
    try:
        _convert(value, annotation)
    except (ValidationError, UnicodeEncodeError) as error:
        place = _PLACE.search(str(error))
        field = ".".join([name, *_STEP.findall(place.group(1) if place else "")])
        reason = "not the right text" if isinstance(error, UnicodeEncodeError) else _PLACE.sub("", str(error))
        raise InvalidRequest(
            f"{field} has the wrong type: {reason[0].lower()}{reason[1:]}", field=field
        ) from None
    try:
        if isinstance(value, _LEAVES):
            strict.check(value)
    except InvalidRequest as error:
        raise InvalidRequest(f"{name}: {error.detail}", field=name, fix=error.fix) from None


def _convert(value: Any, annotation: Any) -> None:
    try:
        convert(value, annotation)
    except TypeError:  # a type that only Python knows, or a union with one
        if not any(_fits(value, one) for one in get_args(annotation) or (annotation,)):
            raise ValidationError(f"Expected {annotation}, got `{type(value).__name__}`") from None


def _fits(value: Any, annotation: Any) -> bool:
    try:
        convert(value, annotation)
    except (ValidationError, UnicodeEncodeError):
        return False
    except TypeError:
        return isinstance(value, annotation)
    return True
