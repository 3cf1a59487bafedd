"""A procedure at work: loaded from memory, moved by triggers, saved as the memory's next version."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack, cast

from msgspec import Struct

from memorywire.client.arguments import checks_arguments
from memorywire.client.options import RememberOptions, ScopeOption
from memorywire.model.answers import Remembered, Status
from memorywire.model.change import Version
from memorywire.model.errors import Conflict, Duplicate, InvalidRequest
from memorywire.model.record import Json, MemoryType, Record
from memorywire.procedures.definition import Definition, allowed, step
from memorywire.procedures.parse import object_of, parse
from memorywire.wire.codec import encode_record

if TYPE_CHECKING:
    from memorywire.client.sync import Memory as BlockingMemory

STEPS = "procedure_steps"
"""Where a version's metadata names the triggers that led to it."""

_STEPS_MAX = 256
_KEPT = ("confidence", "source", "tags", "session_id", "occurred_at", "expires_at", "derived_from", "trust")


class Holder(Protocol):
    """The verbs of the async client that a procedure needs."""

    async def get(self, id: str, **options: Unpack[ScopeOption]) -> Record: ...

    async def history(self, id: str, **options: Unpack[ScopeOption]) -> tuple[Version, ...]: ...

    async def remember(
        self, content: str | Mapping[str, Any], **options: Unpack[RememberOptions]
    ) -> Remembered: ...


class Step(Struct, frozen=True, kw_only=True):
    """A version of a procedure: where it stood and which triggers led there.

    A version that was erased, or was no procedure, has no state.
    """

    version: int
    at: int
    state: str | None
    triggers: tuple[str, ...]


class _Walk:
    """A procedure in hand: its table, the steps since it was loaded, and how to save them."""

    def __init__(self, record: Record) -> None:
        if record.type is not MemoryType.PROCEDURAL:
            detail = f"{record.id} is a memory of type {record.type}, not a procedure"
            raise InvalidRequest(detail, field="id", fix="name a procedural memory")
        self.id = record.id
        self.version = record.version
        self.definition: Definition = parse(record.content)
        self._record = record
        self._pending: list[str] = []

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def state(self) -> str:
        """Where it stands, with what was triggered and not yet saved."""
        return self.definition.current

    @property
    def content(self) -> dict[str, Json]:
        """The definition as it was written, with the state it is in now."""
        return {**(object_of(self._record.content) or {}), "current": self.state}

    @checks_arguments
    def allowed(self, /, **facts: bool) -> list[str]:
        """The triggers that would succeed now; every fact they ask for must be given."""
        return allowed(self.definition, facts)

    @checks_arguments
    def trigger(self, trigger: str, /, **facts: bool) -> str:
        """Take one step and give the new state; nothing is written before `save`."""
        self.definition = step(self.definition, trigger, facts)
        self._pending.append(trigger)
        return self.state

    def _next_content(self) -> str | dict[str, Json]:
        """The content to save, in the form it was written in: a text stays a text."""
        as_text = isinstance(self._record.content, str)
        return json.dumps(self.content, ensure_ascii=False) if as_text else self.content

    def _next_version(self) -> RememberOptions:
        """The fields of the next version: all that the memory says of itself is said again."""
        if not self._pending:
            raise InvalidRequest(
                "there is nothing to save: no step was taken", field="trigger", fix="trigger one first"
            )
        document = encode_record(self._record)
        options = {name: document[name] for name in _KEPT if document.get(name) not in (None, [])}
        options |= {
            "type": MemoryType.PROCEDURAL.value,
            "id": self.id,
            "if_version": self.version,
            "user_id": self._record.scope.user,
            "metadata": {**self._record.metadata, STEPS: self._pending[-_STEPS_MAX:]},
        }
        return cast("RememberOptions", options)

    def _saved(self, receipt: Remembered) -> Remembered:
        """Note what was saved; what waits for approval or failed is still to be saved."""
        if receipt.status in (Status.COMMITTED, Status.DEFERRED):
            self.version = receipt.version
            self._pending = []
        return receipt


class Procedure(_Walk):
    """A procedure of an async memory.

    >>> import asyncio
    >>> from memorywire import Memory
    >>> tea = {"name": "tea", "initial": "cold", "states": ["cold", "hot"]}
    >>> tea["transitions"] = [["boil", "cold", "hot"]]
    >>> async def story():
    ...     async with Memory(agent_id="demo", stores=["memory://"]) as memory:
    ...         kept = await memory.remember(tea, type="procedural")
    ...         procedure = await memory.procedure(kept.id)
    ...         procedure.trigger("boil")
    ...         await procedure.save()
    ...         return [(step.version, step.state) for step in await procedure.history()]
    >>> asyncio.run(story())
    [(1, 'cold'), (2, 'hot')]
    """

    def __init__(self, memory: Holder, record: Record) -> None:
        super().__init__(record)
        self._memory = memory

    @classmethod
    async def load(cls, memory: Holder, id: str, **options: Unpack[ScopeOption]) -> Self:
        """The procedure that the memory keeps under this id; raises NotFound, or InvalidRequest for words."""
        return cls(memory, await memory.get(id, **options))

    async def history(self) -> tuple[Step, ...]:
        """Where every saved version stood, oldest first."""
        return _list_steps(await self._memory.history(self.id, user_id=self._record.scope.user))

    async def save(self) -> Remembered:
        """Keep the steps that were taken as the next version.

        Raises Conflict if the procedure was changed since it was loaded: load it again.
        """
        with _explain_duplicate():
            return self._saved(await self._memory.remember(self._next_content(), **self._next_version()))


class BlockingProcedure(_Walk):
    """The same, of a blocking memory."""

    def __init__(self, memory: "BlockingMemory", record: Record) -> None:
        super().__init__(record)
        self._memory = memory

    @classmethod
    def load(cls, memory: "BlockingMemory", id: str, **options: Unpack[ScopeOption]) -> Self:
        return cls(memory, memory.get(id, **options))

    def history(self) -> tuple[Step, ...]:
        return _list_steps(self._memory.history(self.id, user_id=self._record.scope.user))

    def save(self) -> Remembered:
        with _explain_duplicate():
            return self._saved(self._memory.remember(self._next_content(), **self._next_version()))


@contextmanager
def _explain_duplicate() -> Iterator[None]:
    """Turn a Duplicate into a Conflict that says how to tell two runs of one procedure apart."""
    try:
        yield
    except Duplicate as error:
        raise Conflict(
            f"after this step it would equal memory {error.existing}",
            field="content",
            fix="give the two runs different metadata",
        ) from error


def _list_steps(versions: Iterable[Version]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for version in versions:
        names = None if version.record is None else version.record.metadata.get(STEPS)
        triggers = [name for name in names if isinstance(name, str)] if isinstance(names, list) else ()
        state = _read_state(version.record)
        steps.append(Step(version=version.number, at=version.began_at, state=state, triggers=tuple(triggers)))
    return tuple(steps)


def _read_state(record: Record | None) -> str | None:
    try:
        return None if record is None else parse(record.content).current
    except InvalidRequest:
        return None
