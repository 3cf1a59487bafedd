"""Flips random bits of a file with memories and compares the answers before and after.

    .venv/bin/python tools/bitflips.py --flips 220 --out docs/results/bitflips.md

Exits with 1 when a flip changes an answer while neither opening, reading nor `doctor` reports damage.
"""

import argparse
import asyncio
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from memorywire import Memory, MemorywireError
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite.files import find_faults
from memorywire.stores.sqlite.connection import connect, map_errors
from memorywire.stores.sqlite.location import Location

QUESTIONS = (
    "Where does Ana live?",
    "tea",
    "Who keeps bees?",
    "the budget of March",
    "What runs on port 8421?",
)
PEOPLE = ("Ana", "Ben", "Cem", "Dora", "Emil", "Fay")
FACTS = (
    "{who} lives in town {n}, near the river",
    "{who} drinks green tea number {n} in the morning",
    "{who} keeps {n} bees behind the house",
    "{who} closed the budget of March {n} at a loss",
    "{who} runs a staging service on port {n}",
    "{who} asked for vegetarian food at workshop {n}",
)
SILENT = "an answer changes, and nothing says so"
VOLATILE = frozenset({"recall_id", "latency_ms", "last_recalled_at", "recalled_at"})


def _facts(count: int) -> list[str]:
    return [FACTS[n % 6].format(who=PEOPLE[n % 5], n=n) for n in range(count)]


async def fill(path: Path, count: int) -> int:
    """Write memories (some are replaced, forgotten or erased), a key and recalls; gives a past moment."""
    async with Memory(stores=f"sqlite://{path}") as memory:
        half = _facts(count)[: count // 2]
        await memory.remember_many(half)
        first = await memory.remember("Ana lives in Lisbon", user_id="ana")
        middle = (await memory.get(first.id)).created_at
        await memory.remember_many(_facts(count)[count // 2 :])
        await memory.remember("Ana lives in Porto", id=first.id, if_version=1, user_id="ana")
        ids = [record.id for record in (await memory.list(limit=6)).items]
        await memory.forget(ids[:2])
        await memory.forget(ids[2:4], hard_delete=True)
        await memory.kv.set("theme", {"dark": True, "size": 11})
        for question in QUESTIONS:
            await memory.recall(question, scope="all")
    return middle


async def answers(path: Path, moment: int) -> str:
    """Everything a caller could ask, as JSON."""
    async with Memory(stores=f"sqlite://{path}") as memory:
        page = await memory.list(limit=1000)
        told: list[Any] = [page.items, page.next]
        told += [await memory.history(record.id) for record in page.items[:: max(len(page.items) // 7, 1)]]
        told += [await memory.changes(100), await memory.kv.list()]
        for question in QUESTIONS:
            asked = {"agent_id": memory.agent_id, "query": question}
            told.append(await memory.call("recall", {**asked, "k": 10, "explain": True}))
            told.append(await memory.call("recall", {**asked, "k": 5, "as_of": moment}))
        return json.dumps(told, default=_plain, sort_keys=True)


def _plain(value: Any) -> Any:
    return repr(value)


def _steady(text: str) -> str:
    """The answers without what differs each time."""

    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: pruned(item) for key, item in value.items() if key not in VOLATILE}
        return [pruned(item) for item in value] if isinstance(value, list) else value

    return json.dumps(pruned(json.loads(re.sub(r"recalled_at=(\d+|None)", "", text))))


def doctor(path: Path) -> list[str]:
    """What `memorywire doctor` would find in the file."""
    try:
        with map_errors(Location(path=path)), closing(connect(Location(path=path))) as db:
            return find_faults(db, Signer.beside(path))
    except (MemorywireError, apsw.Error) as error:
        return [str(error)]


def flip_one(source: Path, folder: Path, bit: int, expected: str, moment: int) -> str:
    """The verdict on one flipped bit."""
    path = folder / source.name
    for file in folder.iterdir():
        file.unlink()
    for file in source.parent.iterdir():
        shutil.copy(file, folder / file.name)
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    problems = doctor(path)
    try:
        changed = _steady(asyncio.run(answers(path, moment))) != expected
    except MemorywireError:
        return "refused when it is opened or read"
    if changed:
        return "an answer changes, and doctor says so" if problems else SILENT
    return "no answer changes, and doctor names the damage" if problems else "no answer changes"


def campaign(flips: int, count: int, seed: int) -> tuple[Counter[str], int]:
    """Flip bits one at a time; gives how many had which verdict, and the size of the file."""
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        source, folder = Path(name, "whole", "memory.db"), Path(name, "flipped")
        source.parent.mkdir()
        folder.mkdir()
        moment = asyncio.run(fill(source, count))
        expected = _steady(asyncio.run(answers(source, moment)))
        assert _steady(asyncio.run(answers(source, moment))) == expected, "the answers differ without a flip"
        assert not doctor(source), f"a sound file is called damaged: {doctor(source)}"
        size = source.stat().st_size
        dice = random.Random(seed)
        for bit in [dice.randrange(size * 8) for _ in range(flips)]:
            verdict = flip_one(source, folder, bit, expected, moment)
            verdicts[verdict] += 1
            if verdict == SILENT:
                print(f"silent: byte {bit // 8} bit {bit % 8} seed {seed}")
    return verdicts, size


def report(verdicts: Counter[str], size: int, words: argparse.Namespace) -> str:
    command = f"tools/bitflips.py --flips {words.flips} --memories {words.memories} --seed {words.seed}"
    lines = [
        "# Bit flips",
        "",
        f"`.venv/bin/python {command}`",
        "",
        f"One random bit at a time is flipped in a file of {size} bytes with {words.memories} memories, a",
        "key, and replaced, forgotten and erased memories. Before and after, the same lists, histories, keys",
        "and recalls (also of the past) are asked for, and `doctor` examines the file.",
        "",
        "| outcome | flips |",
        "|---|---|",
        *(f"| {verdict} | {number} |" for verdict, number in sorted({SILENT: 0, **verdicts}.items())),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=220)
    parser.add_argument("--memories", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    verdicts, size = campaign(words.flips, words.memories, words.seed)
    text = report(verdicts, size, words)
    print(text)
    if words.out is not None:
        words.out.write_text(text, encoding="utf-8")
    sys.exit(1 if verdicts[SILENT] else 0)


if __name__ == "__main__":
    main()
