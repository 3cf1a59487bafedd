"""`memorywire serve --demo`: a made-up world in a folder of its own, which is gone when the server ends."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from memorywire.cli.app import opened_house
from memorywire.cli.context import CliContext
from memorywire.cli.demo_world import Calendar, name_operators, tell
from memorywire.model.clock import system_clock
from memorywire.model.consolidation import ConsolidationSettings

if TYPE_CHECKING:
    from memorywire.app import Settings

_NIGHT = 3 * 60
"""It dreams at three o'clock, should anybody leave it running so long."""

_STORY = """\
Two agents of a tea shop have remembered for forty days, and {waiting} changes wait for a person.
  1. Open the console, below, and sign in with this token: {token}
     In the inbox, decide three: j and k move, a approves, r rejects, ? helps.
     Some come from a form, some from the web; one is an attack, one held a secret, one would erase.
  2. A mistake? Press u, or the Undo of the note.
  3. Ask in the playground what Ana likes to drink, and see why each memory was recalled, and what was not.
  4. In the dreams, read what each night put in order, memory by memory, and take a night back.
  5. In the activity, press Verify: the ledger shows that nobody changed anything afterwards.
Ctrl-C ends it, and nothing stays behind.
"""


@contextmanager
def demo_desk(cli: CliContext) -> Iterator[CliContext]:
    """A desk whose memory is the made-up world; the visitor's own is not touched."""
    if cli.typed:
        raise click.UsageError(f"the demo has a store and agents of its own: leave out {cli.typed[0]}")
    with tempfile.TemporaryDirectory(prefix="memorywire-demo-") as folder:
        settings = replace(
            cli.settings,
            stores=(f"sqlite://{quote(str(Path(folder, 'memory.db')))}",),
            agent="support",
            user=None,
            embedder="minilm",
            policy="balanced",
            console=None,
            sleep=ConsolidationSettings(night=_NIGHT),
        )
        story = asyncio.run(_made(settings))
        if not cli.as_json:
            click.echo(story)
        yield cli.under(settings)


async def _made(settings: "Settings") -> str:
    """Make the world; gives what there is to tell about it."""
    from memorywire.journal.contract import Wanted
    from memorywire.model.proposal import WAITING
    from memorywire.model.record import DEFAULT_TENANT

    calendar = Calendar(system_clock)
    async with opened_house(settings, calendar) as container:
        await tell(container, calendar)
        token = await name_operators(container)
        waiting = await container.context.governance.journal.count(
            Wanted(tenant=DEFAULT_TENANT, states=WAITING)
        )
    return _STORY.format(waiting=waiting, token=token)
