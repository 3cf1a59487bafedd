"""Writes docs/reference/matrix.md: every store of this release through the whole conformance kit.

A store without a server is run here; `--vendors` runs every product, or those named after it, each in its own
environment. One that needs a server is run where that is, by `memorywire conformance URL --json FILE`, and
that file is given here: `--result NAME=FILE`. A row comes from a run, or says that there was none.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from memorywire import __version__
from memorywire.conformance.report import document
from memorywire.conformance.samples import SPACE
from memorywire.conformance.subject import examine_opener, examine_url
from memorywire.stores.memory import MemoryStore
from memorywire.stores.registry import known_schemes, open_store
from memorywire.stores.router import Mount, Router
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.location import Location
from tests.remote.peer import Mute, peer

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "matrix.md"
RESULTS = ROOT / "docs" / "results" / "conformance"
SEED = 1
SAME_STORE = {"postgres": "postgresql", "https": "http"}

# Where each product is examined; every one has an environment made by scripts/vendor-env.
VENDORS = {
    "chroma": "chroma://{folder}",
    "cognee": "cognee://{folder}",
    "graphiti": "graphiti://{folder}",
    "langgraph": "langgraph://",
    "mem0": "mem0://{folder}",
    "memos": "memos://{folder}",
    "sqlite-vec": "sqlite-vec://{folder}/memory.db",
}

Document = dict[str, Any]


async def _router() -> Router:
    stores = (MemoryStore(SPACE), SqliteStore(Location(path=None), SPACE))
    return Router([Mount(name=s.name, store=s, backend=s.name) for s in stores])


async def run_here() -> dict[str, Document]:
    """The stores that need nothing but this package."""
    with TemporaryDirectory() as folder:
        file = await examine_url(f"sqlite://{folder}/memory.db", seed=SEED)
        with peer(f"sqlite://{folder}/other.db", embedder=Mute()) as other:
            there = partial(open_store, other.client.url, space=SPACE)
            http = await examine_opener(there, exempt={}, seed=SEED)
        notes = await examine_url(f"markdown://{folder}/notes", seed=SEED)
        graph = await examine_url(f"graph://{folder}/graph.db", seed=SEED)
    memory = await examine_url("memory://", seed=SEED)
    router = await examine_opener(_router, exempt={}, seed=SEED)
    found = {
        "memory": memory,
        "sqlite": file,
        "router": router,
        "http": http,
        "markdown": notes,
        "graph": graph,
    }
    return {name: document(report) for name, report in found.items()}


def run_vendor(name: str) -> None:
    """Examine the product in its environment; the report is kept among the results."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    script = str(ROOT / "scripts" / "vendor-env")
    python = subprocess.run([script, name], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with TemporaryDirectory() as folder:
        url = VENDORS[name].format(folder=folder)
        report = str(RESULTS / f"{name}.json")
        kit = (python, "-m", "memorywire", "conformance", url, "--seed", str(SEED), "--json", report)
        subprocess.run(kit, check=False)  # a broken promise is a row of the page


def page(found: Mapping[str, Document]) -> Iterator[str]:
    yield "# Which store keeps which promise\n"
    yield (
        "Made by `tools/matrix.py` from runs of `memorywire conformance` on the real thing, never on a "
        f"stand-in (memorywire {__version__}, seed {SEED}). Contract: the named checks. Paper: its sixteen "
        "scenarios. Lives: random changes beside the oracle. A check is skipped when a store does not claim "
        "the feature.\n"
    )
    yield "| store | contract | skipped | exempt | paper | lives | verdict |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    schemes = {SAME_STORE.get(scheme, scheme) for scheme in known_schemes()}
    for name in sorted({*schemes, *found}):
        yield _row(name, found.get(name))
    yield from _reasons(found, "exempt", "Exemptions")
    yield from _reasons(found, "failed", "Failures")


def _row(name: str, run: Document | None) -> str:
    if run is None:
        return f"| `{name}` | | | | | | not run here: unproven |"
    groups = [_share(run["results"], group) for group in ("contract", "paper", "oracle")]
    counts = run["counts"]
    verdict = "keeps every promise it makes" if run["passed"] else f"{counts['failed']} broken"
    return (
        f"| `{name}` | {groups[0]} | {counts['skipped']} | {counts['exempt']} | {groups[1]} | {groups[2]} "
        f"| {verdict} |"
    )


def _share(results: Iterable[Document], group: str) -> str:
    marks = [one["mark"] for one in results if one["group"] == group]
    asked = [mark for mark in marks if mark in ("passed", "failed")]
    return f"{asked.count('passed')} of {len(asked)}"


def _reasons(found: Mapping[str, Document], mark: str, title: str) -> Iterator[str]:
    listed = [
        f"- `{name}` {one['check'].replace('_', ' ')}: {one['detail']}"
        for name, run in sorted(found.items())
        for one in run["results"]
        if one["mark"] == mark
    ]
    if listed:
        yield f"\n## {title}\n"
        yield from listed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--result", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--vendors", nargs="*", choices=sorted(VENDORS), metavar="NAME")
    arguments = parser.parse_args()
    for name in [] if arguments.vendors is None else arguments.vendors or sorted(VENDORS):
        run_vendor(name)
    found = asyncio.run(run_here())
    for file in sorted(RESULTS.glob("*.json")) if RESULTS.is_dir() else []:
        found[file.stem] = json.loads(file.read_text(encoding="utf-8"))
    for pair in arguments.result:
        name, _, file = pair.partition("=")
        found[name] = json.loads(Path(file).read_text(encoding="utf-8"))
    PAGE.write_text("\n".join(page(found)) + "\n", encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {', '.join(found)}")
    return 0 if all(run["passed"] for run in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
