"""OpenTelemetry spans, if it is set up: operations under the names of the generative AI conventions,
with ids and counts but never content. Without OpenTelemetry they cost nothing."""

import json
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any, TypeAlias

from memorywire.model.answers import Expired, Forgotten, Merged, Page, Recalled, Remembered, Undone
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Record

Tell: TypeAlias = Callable[[object], None]
"""Takes the answer of the operation, to add its attributes to the span."""

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
"""Our operations, and the names that the conventions give them."""

_PROVIDER = "memorywire"
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)


class Trace:
    """The trace of a request: from its `traceparent` header, or a new one."""

    def __init__(self, traceparent: str | None) -> None:
        self._traceparent = traceparent
        self.named = traceparent is not None and _TRACEPARENT.fullmatch(traceparent) is not None

    @cached_property
    def id(self) -> str:
        """The trace id: 32 hexadecimal digits, generated on first use."""
        header = None if self._traceparent is None else _TRACEPARENT.fullmatch(self._traceparent)
        return os.urandom(16).hex() if header is None else header[1]


current_trace: ContextVar[Trace | None] = ContextVar("current_trace", default=None)
"""The trace of the current request."""


@contextmanager
def open_span(operation: str) -> Iterator[Tell]:
    """Open a span around an operation, if spans are collected and the conventions cover it."""
    trace = _tracing()
    if trace is None or operation not in SPANS:
        yield lambda answer: None
        return
    name = SPANS[operation]
    attributes = {"gen_ai.operation.name": name, "gen_ai.provider.name": _PROVIDER}
    tracer = trace.get_tracer(_PROVIDER)
    with tracer.start_as_current_span(
        f"{name} {_PROVIDER}", attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        current = current_trace.get()
        if current is not None:  # logs and spans of a request have one id
            current.named = True
            current.id = trace.format_trace_id(span.get_span_context().trace_id)
        try:
            yield lambda answer: span.set_attributes(_describe(answer))
        except MemorywireError as error:  # the detail may quote the request, so only the code is recorded
            span.set_attribute("error.type", error.code)
            span.set_status(trace.StatusCode.ERROR)
            raise


@contextmanager
def continue_trace(headers: Mapping[str, str]) -> Iterator[None]:
    """Use the trace of the request's sender for logs and spans, or start a new one."""
    # Not reset: each request runs in its own task, and its last log lines belong to the trace too.
    traceparent = headers.get("traceparent")
    current_trace.set(Trace(traceparent))
    if traceparent is None or _tracing() is None:
        yield
        return
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)


def _tracing() -> Any:
    """Return the OpenTelemetry API, if the hosting program has set it up."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return trace


def _describe(answer: object) -> dict[str, str | int]:
    """Return the span's attributes: the id of the answer, if it has one, and the number of its items."""
    match answer:
        case Remembered() | Record():
            ids: tuple[str, ...] = (answer.id,)
        case Merged():
            ids = (answer.canonical,)
        case Recalled():
            ids = tuple(hit.id for hit in answer.hits)
        case Page():
            ids = tuple(record.id for record in answer.items)
        case Forgotten():
            ids = answer.forgotten_ids
        case Expired():
            ids = answer.matched_ids
        case Undone():
            ids = (*answer.restored_ids, *answer.ended_ids)
        case _:
            return {}
    single: dict[str, str | int] = {"gen_ai.memory.record.id": ids[0]} if len(ids) == 1 else {}
    return {**single, "gen_ai.memory.record.count": len(ids)}


_OWN = ("memorywire", "uvicorn")
"""Loggers whose info messages are written; others write warnings and errors only."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; a traceback is text in its field `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        trace = current_trace.get()
        fields: dict[str, Any] = {
            "at": int(record.created * 1000),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().strip(),
            "trace_id": None if trace is None else trace.id,
            "exception": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None})


@contextmanager
def json_logs(write: Callable[[str], None]) -> Iterator[None]:
    """Write the process's logs as JSON lines while this context is open.

    This includes Python warnings and errors that end a thread.
    """
    handler = _Handler(write)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    before = {name: logging.getLogger(name).level for name in _OWN}
    threads = threading.excepthook
    root.addHandler(handler)
    for name in _OWN:
        logging.getLogger(name).setLevel(logging.INFO)
    logging.captureWarnings(True)
    threading.excepthook = _log_thread
    try:
        yield
    finally:
        threading.excepthook = threads
        logging.captureWarnings(False)
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
        root.removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        self._write(self.format(record))


def _log_thread(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is None or failure.exc_type is SystemExit:
        return
    name = failure.thread.name if failure.thread is not None else "unknown"
    cause = (failure.exc_type, failure.exc_value, failure.exc_traceback)
    logging.getLogger("memorywire").error("thread %s failed", name, exc_info=cause)
