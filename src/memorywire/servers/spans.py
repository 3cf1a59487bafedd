"""Spans where OpenTelemetry is set up: operations under the names that its conventions for generative AI give
them, with ids and counts, never with content; where it is not set up they cost nothing."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from memorywire.model.answers import Expired, Forgotten, Merged, Page, Recalled, Remembered, Undone
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Record

Tell: TypeAlias = Callable[[object], None]
"""Takes the answer of the operation, to say of it what a span may say."""

SPANS: Mapping[str, str] = {
    "remember": "create_memory",
    "recall": "search_memory",
    "forget": "delete_memory",
    "merge": "update_memory",
    "expire": "delete_memory",
    "undo": "update_memory",
    "get": "search_memory",
    "list": "search_memory",
}
"""Our verbs as the conventions name operations on memory."""

_PROVIDER = "memorywire"


@contextmanager
def spanned(operation: str) -> Iterator[Tell]:
    """A span around one operation, if anybody collects spans and the conventions know it."""
    trace = _tracing()
    if trace is None or operation not in SPANS:
        yield _nobody
        return
    name = SPANS[operation]
    said = {"gen_ai.operation.name": name, "gen_ai.provider.name": _PROVIDER}
    tracer = trace.get_tracer(_PROVIDER)
    with tracer.start_as_current_span(
        f"{name} {_PROVIDER}", attributes=said, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield lambda answer: span.set_attributes(_about(answer))
        except MemorywireError as error:  # its detail may quote what was sent, so only its code is told
            span.set_attribute("error.type", error.code)
            span.set_status(trace.StatusCode.ERROR)
            raise


@contextmanager
def continued(headers: Mapping[str, str]) -> Iterator[None]:
    """Spans in here belong to the trace that the sender of a request names, if it names one."""
    if "traceparent" not in headers or _tracing() is None:
        yield
        return
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)


def _tracing() -> Any:
    """The OpenTelemetry interface, if the program around us set it up."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return trace


def _nobody(answer: object) -> None:
    """Receives answers when there is no span to put them into."""


def _about(answer: object) -> dict[str, str | int]:
    """Attributes for the span: the id if the answer has one, and how many there were."""
    ids = _ids(answer)
    if ids is None:
        return {}
    single = {"gen_ai.memory.record.id": ids[0]} if len(ids) == 1 else {}
    return {**single, "gen_ai.memory.record.count": len(ids)}


def _ids(answer: object) -> tuple[str, ...] | None:
    match answer:
        case Remembered() | Record():
            return (answer.id,)
        case Merged():
            return (answer.canonical,)
        case Recalled():
            return tuple(hit.id for hit in answer.hits)
        case Page():
            return tuple(record.id for record in answer.items)
        case Forgotten():
            return answer.forgotten_ids
        case Expired():
            return answer.matched_ids
        case Undone():
            return (*answer.restored_ids, *answer.ended_ids)
    return None
