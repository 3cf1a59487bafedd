"""Our files for Anthropic's memory tool beside its own: the same commands, the same files."""

from pathlib import Path
from typing import Any

from memorywire import Memory
from tests.vendors.inside.played import example

FILE = "/memories/notes/ana.md"

COMMANDS: list[dict[str, Any]] = [
    {"command": "view", "path": FILE},
    {"command": "create", "path": FILE, "file_text": "one\ntwo\nthree\n"},
    {"command": "create", "path": FILE, "file_text": "again"},
    {"command": "view", "path": FILE},
    {"command": "view", "path": FILE, "view_range": [2, 3]},
    {"command": "str_replace", "path": FILE, "old_str": "two", "new_str": "zwei"},
    {"command": "str_replace", "path": FILE, "old_str": "four", "new_str": "4"},
    {"command": "insert", "path": FILE, "insert_line": 1, "insert_text": "three\n"},
    {"command": "str_replace", "path": FILE, "old_str": "three", "new_str": "3"},
    {"command": "insert", "path": FILE, "insert_line": 9, "insert_text": "nowhere"},
    {"command": "insert", "path": FILE, "insert_line": 4, "insert_text": "end"},
    {"command": "view", "path": FILE},
    {"command": "rename", "old_path": "/memories/notes", "new_path": "/memories/people"},
    {"command": "view", "path": FILE},
    {"command": "view", "path": "/memories/people/ana.md"},
    {"command": "create", "path": "/memories/other.md", "file_text": "x"},
    {"command": "rename", "old_path": "/memories/other.md", "new_path": "/memories/people/ana.md"},
    {"command": "delete", "path": "/memories/people"},
    {"command": "delete", "path": "/memories/people/ana.md"},
    {"command": "delete", "path": "/memories"},
    {"command": "view", "path": "/memories/../etc/passwd"},
]


async def _said(tool: Any, command: dict[str, Any]) -> tuple[bool, str]:
    from anthropic.lib.tools import ToolError

    try:
        return True, str(await tool.call(command))
    except ToolError as problem:
        return False, str(problem.content)


async def every_command_does_what_their_own_tool_does(folder: Path) -> None:
    from anthropic.tools import BetaAsyncLocalFilesystemMemoryTool

    from memorywire.integrations.anthropic import MemoryFiles

    theirs = BetaAsyncLocalFilesystemMemoryTool(str(folder))
    async with Memory("files", ["memory://"]) as memory:
        ours = MemoryFiles(memory)
        assert ours.to_dict() == theirs.to_dict()
        for command in COMMANDS:
            (done, words), (also, their_words) = await _said(ours, command), await _said(theirs, command)
            assert done is also, (command, words, their_words)
            if done:
                assert words == their_words


async def a_folder_shows_what_is_in_it(folder: Path) -> None:
    from memorywire.integrations.anthropic import MemoryFiles

    async with Memory("files", ["memory://"]) as memory:
        files = MemoryFiles(memory)
        for path in ("/memories/a/b/c.md", "/memories/d.md", "/memories/.hidden"):
            await files.call({"command": "create", "path": path, "file_text": "four"})
        shown = str(await files.call({"command": "view", "path": "/memories"})).split("\n")[1:]
        assert [line.split("\t")[1] for line in shown] == [
            "/memories",
            "/memories/a/",
            "/memories/a/b/",
            "/memories/d.md",
        ]
        await files.clear_all_memory()
        assert (await memory.kv.list()).entries == ()


async def an_edit_can_be_taken_back(folder: Path) -> None:
    from memorywire.integrations.anthropic import MemoryFiles

    async with Memory("files", [f"sqlite://{folder}/memory.db"]) as memory:
        files = MemoryFiles(memory)
        await files.call({"command": "create", "path": FILE, "file_text": "good"})
        await files.call({"command": "str_replace", "path": FILE, "old_str": "good", "new_str": "bad"})
        (edit, *_) = await memory.changes()
        await memory.undo(edit.id)
        entry = await memory.kv.get(FILE)
        assert entry is not None
        assert entry.value == "good"


async def a_secret_is_refused_and_the_model_is_told(folder: Path) -> None:
    from memorywire.integrations.anthropic import MemoryFiles

    async with Memory("files", ["memory://"]) as memory:
        token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
        done, words = await _said(
            MemoryFiles(memory), {"command": "create", "path": FILE, "file_text": token}
        )
        assert not done
        assert token not in words
        assert (await memory.kv.list()).entries == ()


async def the_example_runs(folder: Path) -> None:
    assert "Ana likes green tea." in await example("anthropic_memory_tool")
