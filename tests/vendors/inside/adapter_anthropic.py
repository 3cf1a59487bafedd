"""Our files for Anthropic's memory tool beside its own: the same commands, the same files."""

import asyncio
from pathlib import Path
from typing import Any

from memorywire import Memory, sync
from memorywire.model.errors import InvalidRequest
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
    {"command": "view", "path": "/etc/passwd"},
    {"command": "create", "path": "/memories/a/b.md", "file_text": "one\n"},
    {"command": "create", "path": "/memories/a", "file_text": "a folder has this name"},
    {"command": "str_replace", "path": "/memories/a", "old_str": "x", "new_str": "y"},
    {"command": "str_replace", "path": "/memories/missing.md", "old_str": "x", "new_str": "y"},
    {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/missing.md", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/a/b.md", "insert_line": -1, "insert_text": "x"},
    {"command": "view", "path": "/memories/./a/../a//b.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "rename", "old_path": "/memories/missing.md", "new_path": "/memories/x.md"},
    {"command": "rename", "old_path": "/memories/missing.md", "new_path": "/memories/a/b.md"},
    {"command": "delete", "path": "/memories/missing"},
    {"command": "create", "path": "/memories/large.md", "file_text": "word " * 60_000 + "end\n"},
    {"command": "str_replace", "path": "/memories/large.md", "old_str": "end", "new_str": "END"},
    {"command": "view", "path": "/memories/large.md"},
    {"command": "rename", "old_path": "/memories/large.md", "new_path": "/memories/huge.md"},
    {"command": "create", "path": "/memories/many.md", "file_text": "\n" * 1_000_000},
    {"command": "view", "path": "/memories/many.md"},
]


async def _said(tool: Any, command: dict[str, Any]) -> tuple[bool, str]:
    from anthropic.lib.tools import ToolError

    try:
        return True, str(await tool.call(command))
    except ToolError as problem:
        return False, str(problem.content)


def _answer(tool: Any, command: dict[str, Any]) -> tuple[bool, str]:
    from anthropic.lib.tools import ToolError

    try:
        return True, str(tool.call(command))
    except ToolError as problem:
        return False, str(problem.content)


async def every_command_answers_as_their_own_tool_does(folder: Path) -> None:
    from anthropic.tools import BetaAsyncLocalFilesystemMemoryTool

    from memorywire_frameworks.anthropic import MemoryFiles

    theirs = BetaAsyncLocalFilesystemMemoryTool(str(folder))
    async with Memory("files", ["memory://"]) as memory:
        ours = MemoryFiles(memory)
        assert ours.to_dict() == theirs.to_dict()
        for command in COMMANDS:
            assert await _said(ours, command) == await _said(theirs, command), str(command)[:200]


async def every_command_of_the_blocking_tool_answers_as_theirs_does(folder: Path) -> None:
    await asyncio.to_thread(_play_without_a_loop, folder)


def _play_without_a_loop(folder: Path) -> None:
    from anthropic.tools import BetaLocalFilesystemMemoryTool

    from memorywire_frameworks.anthropic import BlockingMemoryFiles

    theirs = BetaLocalFilesystemMemoryTool(str(folder))
    with sync.Memory("files", [f"sqlite://{folder}/memory.db"]) as memory:
        ours = BlockingMemoryFiles(memory, cache_control={"type": "ephemeral"})
        assert ours.to_dict() == {**theirs.to_dict(), "cache_control": {"type": "ephemeral"}}
        for command in COMMANDS:
            assert _answer(ours, command) == _answer(theirs, command), str(command)[:200]
        assert ours.clear_all_memory() == theirs.clear_all_memory()
        memory.kv.set("mine", "x" * 60_000)


async def a_blocking_runner_uses_the_blocking_tool(folder: Path) -> None:
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool

    from memorywire_frameworks.anthropic import BlockingMemoryFiles, MemoryFiles

    async with Memory("files", ["memory://"]) as memory:
        assert isinstance(MemoryFiles(memory), BetaAsyncBuiltinFunctionTool)
        refused = None
        try:
            BlockingMemoryFiles(memory)
        except InvalidRequest as problem:
            refused = problem.fix
        assert refused == "give a memorywire.sync.Memory, or use MemoryFiles"
    with sync.Memory("files", ["memory://"]) as blocking:
        assert isinstance(BlockingMemoryFiles(blocking), BetaBuiltinFunctionTool)


async def a_file_is_no_folder_at_the_same_time(folder: Path) -> None:
    from memorywire_frameworks.anthropic import MemoryFiles

    async with Memory("files", ["memory://"]) as memory:
        files = MemoryFiles(memory)
        await files.call({"command": "create", "path": "/memories/a", "file_text": "x"})
        below = {"command": "create", "path": "/memories/a/b", "file_text": "y"}
        assert await _said(files, below) == (False, "The path /memories/a is not a directory.")


async def the_files_of_a_user_are_the_users(folder: Path) -> None:
    from memorywire_frameworks.anthropic import MemoryFiles

    url = f"sqlite://{folder}/memory.db"
    for user in ("ana", "ben"):
        async with Memory("files", [url], user_id=user) as memory:
            files = MemoryFiles(memory)
            await files.call({"command": "create", "path": FILE, "file_text": user})
            assert user in str(await files.call({"command": "view", "path": FILE}))
            listed = str(await files.call({"command": "view", "path": "/memories"}))
            assert listed.split("\t")[-1] == FILE
            await files.call({"command": "rename", "old_path": FILE, "new_path": "/memories/x.md"})


async def a_folder_shows_what_is_in_it(folder: Path) -> None:
    from memorywire_frameworks.anthropic import MemoryFiles

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
    from memorywire_frameworks.anthropic import MemoryFiles

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
    from memorywire_frameworks.anthropic import MemoryFiles

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


async def a_request_has_the_memories_that_an_answer_depends_on(folder: Path) -> None:
    from memorywire import sync
    from memorywire_frameworks.anthropic import blocking_memory_system, memory_system

    asked = [{"role": "user", "content": [{"type": "text", "text": "Which snacks can I eat?"}]}]
    block = "<memory data>\n- Ana is allergic to peanuts.\n</memory>"
    async with Memory("files", ["memory://"], user_id="ana") as memory:
        await memory.remember("Ana is allergic to peanuts.")
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        assert await memory_system(memory, asked, system="Be brief.") == f"Be brief.\n\n{block}"
        assert await memory_system(memory, asked, budget=0) == ""
        image = [{"role": "user", "content": [{"type": "image", "source": {}}]}]
        assert await memory_system(memory, image) == ""
    with sync.Memory("files", ["memory://"]) as blocking:
        blocking.remember("Ana is allergic to peanuts.")
        assert blocking_memory_system(blocking, asked) == block
