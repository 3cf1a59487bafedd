"""The files of Anthropic's memory tool, kept by memorywire: `MemoryFiles(memory)` among a runner's tools.

A file is an entry of the agent's keys, named by its path: every edit is a version that can be read and taken
back. A folder is there as long as it has files.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from anthropic.lib.tools import BetaAsyncAbstractMemoryTool, ToolError

from memorywire.facades.memory import Memory
from memorywire.integrations.entries import every_entry
from memorywire.model.errors import MemorywireError
from memorywire.model.kv import Entry

ROOT = "/memories"

_DEPTH = 2
_NUMBER_WIDTH = 6
_AROUND = 2
_UNITS = ("B", "K", "M")
_KILO = 1024


class MemoryFiles(BetaAsyncAbstractMemoryTool):
    """What a model reads and writes under /memories; whatever is refused, the model is told why."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    async def view(self, command: Any) -> str:
        path = _path(command.path)
        entry = await self._memory.kv.get(path)
        if entry is not None:
            lines = _numbered(entry.value.split("\n"), getattr(command, "view_range", None))
            return f"Here's the content of {command.path} with line numbers:\n" + "\n".join(lines)
        files = await self._below(path)
        if not files and path != ROOT:
            raise _missing(command.path)
        head = (
            f"Here're the files and directories up to {_DEPTH} levels deep in {path}, excluding hidden items:"
        )
        return "\n".join([head, *_folder(path, files)])

    async def create(self, command: Any) -> str:
        path = _path(command.path)
        if path == ROOT or await self._below(path):
            raise ToolError(f"{command.path} is a directory")
        if await self._memory.kv.get(path) is not None:
            raise ToolError(f"File {command.path} already exists")
        await self._keep(path, command.file_text, if_version=0)
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: Any) -> str:
        entry = await self._file(command.path)
        content, old = entry.value, command.old_str
        if content.count(old) != 1:
            raise ToolError(_not_once(content, old, command.path))
        place = content.index(old)
        changed = content.replace(old, command.new_str)
        await self._keep(entry.key, changed, if_version=entry.version)
        line = content[:place].count("\n") + 1
        shown = _numbered(changed.split("\n"), [line - _AROUND, line + _AROUND])
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + ("\n".join(shown))
        )

    async def insert(self, command: Any) -> str:
        entry = await self._file(command.path)
        lines = entry.value.removesuffix("\n").split("\n") if entry.value else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        await self._keep(entry.key, "\n".join(lines) + "\n", if_version=entry.version)
        return f"The file {command.path} has been edited."

    async def delete(self, command: Any) -> str:
        path = _path(command.path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        await self._delete(await self._all(command.path))
        return f"Successfully deleted {command.path}"

    async def rename(self, command: Any) -> str:
        old, new = _path(command.old_path), _path(command.new_path)
        if old == ROOT or f"{new}/".startswith(f"{old}/"):
            raise ToolError(f"Cannot rename {command.old_path} to {command.new_path}")
        entries = await self._all(command.old_path)
        if await self._memory.kv.get(new) is not None or await self._below(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        for entry in entries:
            await self._keep(new + entry.key.removeprefix(old), entry.value, if_version=0)
        await self._delete(entries)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear_all_memory(self) -> str:
        await self._delete(await self._below(ROOT))
        return "All memory cleared"

    async def _file(self, path: str) -> Entry:
        entry = await self._memory.kv.get(_path(path))
        if entry is None:
            raise _missing(path)
        return entry

    async def _all(self, path: str) -> list[Entry]:
        """The file, or the files of the folder."""
        entry = await self._memory.kv.get(_path(path))
        found = [entry] if entry is not None else await self._below(_path(path))
        if not found:
            raise _missing(path)
        return found

    async def _below(self, path: str) -> list[Entry]:
        return await every_entry(self._memory, f"{path}/")

    async def _keep(self, path: str, content: str, *, if_version: int) -> None:
        try:
            kept = await self._memory.kv.set(path, content, if_version=if_version, source="memory-tool")
        except MemorywireError as problem:
            raise ToolError(problem.detail) from problem
        if kept.proposal_id is not None:
            raise ToolError("A person has to agree first; nothing has changed yet.")

    async def _delete(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            await self._memory.kv.delete(entry.key)


def _path(path: str) -> str:
    """The path without a slash at its end, when it stays under the root."""
    parts = path.removesuffix("/").split("/")
    if parts[:2] != ROOT.split("/") or any(part in ("", ".", "..") for part in parts[1:]):
        raise ToolError(f"Path must start with {ROOT} and stay there, got: {path}")
    return "/".join(parts)


def _missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def _numbered(lines: Sequence[str], span: Sequence[int] | None) -> list[str]:
    first = max(1, span[0]) if span else 1
    last = len(lines) if not span or span[1] == -1 else span[1]
    shown = enumerate(lines[first - 1 : last], start=first)
    return [f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in shown]


def _not_once(content: str, old: str, path: str) -> str:
    if old not in content:
        return f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
    starts = [at for at in range(len(content)) if content.startswith(old, at)]
    lines = ", ".join(str(content[:at].count("\n") + 1) for at in starts)
    return (
        f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
        "Please ensure it is unique"
    )


def _folder(path: str, files: Sequence[Entry]) -> Iterator[str]:
    """The folder and what is below it, each with its size."""
    sizes: dict[str, int] = {}
    for entry in files:
        parts = entry.key.removeprefix(f"{path}/").split("/")
        if any(part.startswith(".") for part in parts):
            continue
        for depth in range(1, min(len(parts), _DEPTH) + 1):
            name = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[name] = sizes.get(name, 0) + len(entry.value.encode())
    yield f"{_size(sum(len(entry.value.encode()) for entry in files))}\t{path}"
    yield from (f"{_size(size)}\t{path}/{name}" for name, size in sorted(sizes.items()))


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= _KILO and unit < len(_UNITS) - 1:
        size, unit = size / _KILO, unit + 1
    return f"{size:.1f}".removesuffix(".0") + _UNITS[unit]
