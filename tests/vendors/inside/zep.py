"""What the room of Zep asks of a service that answers as its client says."""

from pathlib import Path

from tests.vendors.inside import previews


async def it_keeps_to_the_documentation(folder: Path) -> None:
    await previews.keeps_to_its_documentation("zep", "&tls=0", folder)


async def it_is_not_opened_by_accident(folder: Path) -> None:
    await previews.is_not_opened_by_accident("zep")


async def it_says_when_nobody_answers(folder: Path) -> None:
    await previews.says_when_nobody_answers("zep", "&tls=0", folder)
