"""Anthropic's memory tool with its files in memorywire.

pip install "memorywire-core[anthropic]"; python examples/anthropic_memory_tool.py

This example makes the calls of a model itself. With ANTHROPIC_API_KEY set, pass the tool to
`client.beta.messages.tool_runner(tools=[files], ...)` instead.
"""

import asyncio

from memorywire import Memory
from memorywire_frameworks.anthropic import MemoryFiles

CALLS = (
    {"command": "create", "path": "/memories/ana.md", "file_text": "Ana likes tea.\n"},
    {"command": "str_replace", "path": "/memories/ana.md", "old_str": "tea", "new_str": "green tea"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/ana.md"},
)


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        files = MemoryFiles(memory)
        for call in CALLS:
            print(await files.call(call))
        entry = await memory.kv.get("/memories/ana.md")
        assert entry is not None
        for version in await memory.history(entry.id):
            print(f"version {version.record.version}: {version.record.content}")


if __name__ == "__main__":
    asyncio.run(main())
