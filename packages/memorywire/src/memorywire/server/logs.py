"""Logs as lines of JSON: records of every library, warnings and tracebacks, each with the id of its trace."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from memorywire.server.tracing import current_trace

_OWN = ("memorywire", "uvicorn")
"""Loggers whose ordinary messages are written; of others only warnings and worse are."""


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON; a traceback is text in its field `exception`."""

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
    """While this is entered, whatever the process logs is written as lines of JSON.

    That includes warnings, and errors that end a thread.
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
