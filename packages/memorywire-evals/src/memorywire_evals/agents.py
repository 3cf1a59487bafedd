"""An agent with a memory of its own: it is told the sessions of a case one by one, then asked."""

import asyncio
import json
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from memorywire_evals.cases import Case
from memorywire_evals.purse import Purse
from memorywire_evals.readers import Reader
from memorywire_evals.results import append, hashed, whole_lines

TELL = """Remember what follows: you will be asked about it later. Reply with "noted" only.

{texts}"""

_MOST = 50
"""So many turns are told at once."""


def tellings(case: Case) -> list[str]:
    """What is told, in order: each session by itself, a long one in parts."""
    found = []
    for _, items in groupby(case.items, key=lambda item: item.session):
        texts = [item.text for item in items]
        parts = (texts[start : start + _MOST] for start in range(0, len(texts), _MOST))
        found += [TELL.format(texts="\n".join(part)) for part in parts]
    return found


async def told(case: Case, agent: Reader, place: Path, purse: Purse) -> tuple[Path, int]:
    """The folder of an agent that has been told the case, and the tokens that took.

    What it was told before, it is not told again. Another agent or other words have another folder.
    """
    prompts = tellings(case)
    folder = place / f"{quote(case.id, safe='')}-{hashed(agent.mark, *prompts)}"
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    log = place / f"{folder.name}.told"
    await asyncio.to_thread(log.touch)
    lines = map(json.loads, await asyncio.to_thread(whole_lines, log))
    done = {line["told"]: line.get("tokens", 0) for line in lines}
    for number, prompt in enumerate(prompts):
        if number not in done:
            reply = await purse.ask(agent, prompt, folder=folder)
            done[number] = reply.tokens
            await asyncio.to_thread(append, log, {"told": number, "tokens": reply.tokens})
    return folder, sum(done.values())
