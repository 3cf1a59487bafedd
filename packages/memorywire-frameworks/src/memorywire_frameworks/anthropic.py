"""Stores the files of Anthropic's memory tool as memorywire key-value entries.

Pass `MemoryFiles(memory)` in the tools of an async runner, `BlockingMemoryFiles(memory)` in those of a
blocking one. A file is an entry of the agent's keys, named by its path: every edit is a version that can be
read and undone. A folder exists as long as it contains files.
"""

import posixpath
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from memorywire.client.kv import KeyValue
from memorywire.client.sync import Memory as BlockingMemory
from memorywire.client.sync import asynchronous
from memorywire.model.errors import Conflict, InvalidRequest, MemorywireError
from memorywire.model.kv import Deleted, Entry, Kept, Limits, size_of
from memorywire_frameworks.calling import (
    ADAPTER_LIMITS,
    CONTEXT_TOKENS,
    INDEXED_BYTES,
    AnyMemory,
    Caller,
    build_context,
    entries_of,
    join_texts,
)

ROOT = "/memories"

_DEPTH = 2
_LINES_MAX = 999_999
_AROUND = 2


def _awaited(name: str) -> Any:
    async def run(self: "MemoryFiles", command: Any) -> str:
        return await self._caller.run(_explain_errors(getattr(self._files, name)(command)))

    return run


def _blocking(name: str) -> Any:
    def run(self: "BlockingMemoryFiles", command: Any) -> str:
        return self._caller.wait(_explain_errors(getattr(self._files, name)(command)))

    return run


class MemoryFiles(BetaAsyncAbstractMemoryTool):
    """The files under /memories for a model; an error tells the model why a command is refused."""

    def __init__(self, memory: AnyMemory, *, limits: Limits = ADAPTER_LIMITS, **options: Any) -> None:
        super().__init__(**options)
        self._caller = Caller(memory)
        self._files = _Files(self._caller, limits)

    view = _awaited("view")
    create = _awaited("create")
    str_replace = _awaited("str_replace")
    insert = _awaited("insert")
    delete = _awaited("delete")
    rename = _awaited("rename")

    async def clear_all_memory(self) -> str:
        return await self._caller.run(_explain_errors(self._files.clear()))


class BlockingMemoryFiles(BetaAbstractMemoryTool):
    """Like `MemoryFiles`, for runners without an event loop; the memory is a `memorywire.sync.Memory`."""

    def __init__(self, memory: BlockingMemory, *, limits: Limits = ADAPTER_LIMITS, **options: Any) -> None:
        if not isinstance(memory, BlockingMemory):
            raise InvalidRequest(
                "a blocking tool needs a blocking memory",
                field="memory",
                fix="give a memorywire.sync.Memory, or use MemoryFiles",
            )
        super().__init__(**options)
        self._caller = Caller(memory)
        self._files = _Files(self._caller, limits)

    view = _blocking("view")
    create = _blocking("create")
    str_replace = _blocking("str_replace")
    insert = _blocking("insert")
    delete = _blocking("delete")
    rename = _blocking("rename")

    def clear_all_memory(self) -> str:
        return self._caller.wait(_explain_errors(self._files.clear()))


async def memory_system(
    memory: AnyMemory,
    messages: Sequence[Mapping[str, Any]],
    *,
    system: str = "",
    budget: int = CONTEXT_TOKENS,
) -> str:
    """Return `system`, followed by the memories relevant to a good answer to the messages."""
    return join_texts(system, await build_context(Caller(memory), messages, budget))


def blocking_memory_system(
    memory: BlockingMemory,
    messages: Sequence[Mapping[str, Any]],
    *,
    system: str = "",
    budget: int = CONTEXT_TOKENS,
) -> str:
    """Like `memory_system`, for callers without an event loop."""
    return Caller(memory).wait(memory_system(asynchronous(memory), messages, system=system, budget=budget))


class _Files:
    """The commands, with the same responses as the SDK's own file tool."""

    def __init__(self, caller: Caller, limits: Limits) -> None:
        self._caller = caller
        self._limits = limits
        self._before = caller.prefix("")

    async def view(self, command: Any) -> str:
        path = _path(command.path)
        entry = await self._get(path)
        if entry is not None:
            lines = entry.value.split("\n")
            if len(lines) > _LINES_MAX:
                raise ToolError(f"File {command.path} exceeds maximum line limit of {_LINES_MAX:,} lines.")
            text = _number_lines(lines, getattr(command, "view_range", None))
            return f"Here's the content of {command.path} with line numbers:\n" + "\n".join(text)
        files = await self._below(path)
        if not files and path != ROOT:
            raise _missing(command.path, " Please provide a valid path.")
        sizes = [(self._path_of(entry), len(entry.value.encode())) for entry in files]
        scope = f"up to {_DEPTH} levels deep in {path}, excluding hidden items:"
        head = f"Here're the files and directories {scope}"
        return "\n".join([head, *_folder(path, sizes)])

    async def create(self, command: Any) -> str:
        path = _path(command.path)
        if path == ROOT or await self._get(path) is not None or await self._below(path):
            raise ToolError(f"File {command.path} already exists")
        parts = path.split("/")
        for end in range(3, len(parts)):  # the folders below the root
            parent = "/".join(parts[:end])
            if await self._get(parent) is not None:
                raise ToolError(f"The path {parent} is not a directory.")
        try:
            await self._set(path, command.file_text, if_version=0)
        except Conflict as conflict:
            raise ToolError(f"File {command.path} already exists") from conflict
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: Any) -> str:
        entry = await self._file(command.path)
        content, old = entry.value, command.old_str
        if old not in content:
            text = f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}."
            raise ToolError(text)
        if content.count(old) > 1:
            places = [at for at in range(len(content)) if content.startswith(old, at)]
            lines = ", ".join(str(content[:at].count("\n") + 1) for at in places)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        place = content.index(old)
        new_content = content.replace(old, getattr(command, "new_str", None) or "")
        await self._set(self._path_of(entry), new_content, if_version=entry.version)
        line = content[:place].count("\n") + 1
        snippet = _number_lines(new_content.split("\n"), [line - _AROUND, line + _AROUND])
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([head, *snippet])

    async def insert(self, command: Any) -> str:
        entry = await self._file(command.path)
        lines = entry.value.removesuffix("\n").split("\n") if entry.value else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        await self._set(self._path_of(entry), "\n".join(lines) + "\n", if_version=entry.version)
        return f"The file {command.path} has been edited."

    async def delete(self, command: Any) -> str:
        if _path(command.path) == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        await self._delete(await self._all(command.path))
        return f"Successfully deleted {command.path}"

    async def rename(self, command: Any) -> str:
        old, new = _path(command.old_path), _path(command.new_path)
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if await self._get(new) is not None or new == ROOT or await self._below(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        if new.startswith(f"{old}/"):
            raise ToolError(f"Cannot rename {command.old_path} to a path inside of it")
        entries = await self._all(command.old_path)
        for entry in entries:
            await self._set(new + self._path_of(entry).removeprefix(old), entry.value, if_version=0)
        await self._delete(entries)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear(self) -> str:
        await self._delete(await self._below(ROOT))
        return "All memory cleared"

    async def _file(self, path: str) -> Entry:
        entry = await self._get(_path(path))
        if entry is not None:
            return entry
        if _path(path) == ROOT or await self._below(_path(path)):
            raise ToolError(f"The path {path} is not a file.")
        raise _missing(path, " Please provide a valid path.")

    async def _all(self, path: str) -> list[Entry]:
        """Return the file, or the files of the folder."""
        entry = await self._get(_path(path))
        entries = [entry] if entry is not None else await self._below(_path(path))
        if not entries:
            raise _missing(path)
        return entries

    async def _get(self, path: str) -> Entry | None:
        return await self._keys.get(self._before + path)

    async def _below(self, path: str) -> list[Entry]:
        return await entries_of(self._keys, f"{self._before}{path}/")

    async def _set(self, path: str, content: str, *, if_version: int) -> None:
        index = "all" if size_of(content) <= INDEXED_BYTES else "none"
        key = self._before + path
        _refuse_held(
            await self._keys.set(key, content, if_version=if_version, source="memory-tool", index=index)
        )

    async def _delete(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            _refuse_held(await self._keys.delete(entry.key))

    def _path_of(self, entry: Entry) -> str:
        return entry.key.removeprefix(self._before)

    @property
    def _keys(self) -> KeyValue:
        return self._caller.keys(f"{self._before}{ROOT}/", self._limits)


async def _explain_errors(work: Coroutine[Any, Any, str]) -> str:
    """Return the response of a command; errors become ToolError, with the fix, for the model."""
    try:
        return await work
    except MemorywireError as problem:
        fix = f"; {problem.fix}" if problem.fix else ""
        raise ToolError(f"{problem.detail}{fix}") from problem


def _refuse_held(receipt: Kept | Deleted) -> None:
    if receipt.proposal_id is not None:
        raise ToolError("A person must approve this first. Nothing has changed yet.")


def _path(path: str) -> str:
    """Return the normalised path. Raises ToolError if it is not under the root."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    plain = posixpath.normpath(path)
    if plain != ROOT and not plain.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return plain


def _missing(path: str, advice: str = "") -> ToolError:
    return ToolError(f"The path {path} does not exist{'.' if advice else ''}{advice}")


def _number_lines(lines: Sequence[str], span: Sequence[int] | None) -> list[str]:
    first = max(1, span[0]) if span else 1
    last = len(lines) if not span or span[1] == -1 else span[1]
    numbers = enumerate(lines[first - 1 : last], start=first)
    return [f"{number:>6}\t{line}" for number, line in numbers]


def _folder(path: str, files: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Yield the folder and its entries, each with its size."""
    sizes: dict[str, int] = {}
    for file, size in files:
        parts = file.removeprefix(f"{path}/").split("/")
        if any(part.startswith(".") for part in parts):
            continue
        for depth in range(1, min(len(parts), _DEPTH) + 1):
            name = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[name] = sizes.get(name, 0) + size
    yield f"{_size(sum(size for _, size in files))}\t{path}"
    yield from (f"{_size(size)}\t{path}/{name}" for name, size in sorted(sizes.items()))


def _size(count: float) -> str:
    units = ["G", "M", "K", "B"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        units.pop()
    return f"{count:.1f}".removesuffix(".0") + units[-1]
