"""What is seen of the door from outside: figures and one line for each visit, none with content."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.datastructures import Headers
from starlette.types import Scope

from memorywire.app import Container
from memorywire.model.clock import Clock
from memorywire.model.space import Space
from memorywire.search.embed import Embedder
from memorywire.server.http.metrics import Figures
from memorywire.server.tracing import continued, current_trace

if TYPE_CHECKING:  # the caller is named, never asked
    from memorywire.server.callers import Caller

Log: TypeAlias = Callable[[str], None]

_FAULTS = frozenset({500, 503})


def to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@dataclass(slots=True)
class Visit:
    """One request, while it lasts."""

    state: dict[str, Any]
    began: float
    status: int = 500
    code: str | None = None
    caller: str | None = None

    @property
    def operation(self) -> str:
        return str(self.state.get("operation", "other"))


class Watch:
    """Counts, times and logs every visit."""

    def __init__(self, clock: Clock, log: Log | None = to_stderr) -> None:
        self.figures = Figures()
        self._clock = clock
        self._log = log

    def alarm(self, text: str) -> None:
        """Log what an operator has to look at."""
        if self._log is not None:
            self._log(json.dumps({"at": self._clock(), "level": "error", "message": text}))

    def over(self, container: Container) -> Container:
        """The house with its stores and its embedder timed; whoever opened it still closes it."""
        embedder = _Timed(container.context.embedder, self.figures)
        return replace(
            container, context=replace(container.context, watching=self.figures.took, embedder=embedder)
        )

    @contextmanager
    def visit(self, scope: Scope) -> Iterator[Visit]:
        visit = Visit(state=scope.setdefault("state", {}), began=time.perf_counter())
        scope["state"].update(visit=visit, figures=self.figures)
        self.figures.begun()
        try:
            with continued(Headers(scope=scope)):
                yield visit
        finally:
            self.figures.answered(visit.operation, visit.status, time.perf_counter() - visit.began)
            self.figures.said(visit.operation, visit.state.get("answer", {}))
            if self._log is not None:
                self._log(self._line(visit, scope["method"]))

    def named(self, scope: Scope, caller: "Caller") -> None:
        scope["state"]["visit"].caller = caller.name

    def _line(self, visit: Visit, method: str) -> str:
        answer, trace = visit.state.get("answer", {}), current_trace.get()
        said = {
            "at": self._clock(),
            "level": "error" if visit.status in _FAULTS else "info",
            "trace_id": None if trace is None else trace.id,
            "method": method,
            "operation": visit.operation,
            "status": visit.status,
            "ms": round((time.perf_counter() - visit.began) * 1000, 2),
            "caller": visit.caller,
            "code": visit.code or visit.state.get("code"),
            "recall_id": answer.get("recall_id"),
            "change_id": answer.get("change_id"),
            "proposal_id": answer.get("proposal_id"),
        }
        return json.dumps({name: value for name, value in said.items() if value is not None})


class _Timed:
    """An embedder whose batches are timed."""

    def __init__(self, inner: Embedder, figures: Figures) -> None:
        self._inner = inner
        self._figures = figures

    @property
    def space(self) -> Space:
        return self._inner.space

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        began = time.perf_counter()
        try:
            return await self._inner.embed(texts)
        finally:
            self._figures.embedded(len(texts), time.perf_counter() - began)

    async def close(self) -> None:
        await self._inner.close()
