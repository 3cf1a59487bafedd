"""What the room of Mem9 asks of a server that answers as its source says."""

from pathlib import Path

from tests.vendors.inside import previews


async def it_keeps_to_the_documentation(folder: Path) -> None:
    await previews.keeps_to_its_documentation("mem9", "", folder)


async def it_is_not_opened_by_accident(folder: Path) -> None:
    await previews.is_not_opened_by_accident("mem9")


async def it_says_when_nobody_answers(folder: Path) -> None:
    await previews.says_when_nobody_answers("mem9", "", folder)
