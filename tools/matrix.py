"""Writes docs/reference/matrix.md: every store of this release through the whole conformance kit.

A store without a server is run here; `--servers` runs those on Postgres, on servers from a wheel; `--vendors`
runs every product, or those named after it, each in its own environment. What was run elsewhere, by
`memorywire conformance URL --json FILE`, is given as `--result NAME=FILE`. The first two keep their reports
among the results, so a row comes from the newest run there was, or says that there was none.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from memorywire import __version__
from memorywire.stores.memory import MemoryStore
from memorywire.stores.registry import known_schemes, open_store
from memorywire.stores.router import Mount, Router
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.location import Location
from memorywire_testing.report import Report, document
from memorywire_testing.run import examine_opener, examine_url
from memorywire_testing.samples import SPACE
from tests.postgres.crash import serving
from tests.remote.peer import Mute, peer
from tests.shards.spread import spread
from tests.vendors.letta_server import a_letta_server

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
    "letta": "",  # where its server is
    "mem0": "mem0://{folder}",
    "memos": "memos://{folder}",
    "sqlite-vec": "sqlite-vec://{folder}/memory.db",
}

PAPERS_OWN = ("sqlite-vec", "postgresql", "mem0", "letta", "cognee")
"""The adapters of the paper; it tested four of them on fakes."""

UNPROVEN = {
    "mem9": "a server that is in no package index; tested on recorded answers only, needs `preview=1`",
    "zep": "a service that cannot be self-hosted; tested on recorded answers only, needs `preview=1`",
}
MEMORY_OS = (
    "BAI-LAB's MemoryOS (`memoryos-pro` 0.1.0) has no ids for memories, cannot delete one, and "
    "discards metadata, so it cannot be a store."
)

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


async def run_servers() -> None:
    """One Postgres, and two that share the agents."""
    with serving("matrix-a") as (_, one), serving("matrix-b") as (_, other):
        _keep("postgresql", await examine_url(one.url("alone"), seed=SEED))
        directory = one.url("map")
        await spread(directory, one.url("shared"), other.url("shared"))
        _keep("shards+postgresql", await examine_url(f"shards+{directory}", seed=SEED))


def _keep(name: str, report: Report) -> None:
    text = json.dumps(document(report), indent=2)
    (RESULTS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


@contextmanager
def place_of(name: str) -> Iterator[str]:
    """A URL where the product is, for the time being."""
    with TemporaryDirectory() as folder:
        if name == "letta":
            with a_letta_server() as url:
                yield url % folder
        else:
            yield VENDORS[name].format(folder=folder)


def run_vendor(name: str) -> None:
    """Examine the product in its environment; the report is kept among the results."""
    script = str(ROOT / "scripts" / "vendor-env")
    python = subprocess.run([script, name], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with place_of(name) as url:
        report = str(RESULTS / f"{name}.json")
        kit = (python, "-m", "memorywire", "conformance", url, "--seed", str(SEED), "--json", report)
        subprocess.run(kit, check=False)  # a broken promise is a row of the page


def page(found: Mapping[str, Document]) -> Iterator[str]:
    yield "# Conformance of the stores\n"
    yield (
        "`tools/matrix.py` generates this page from runs of `memorywire conformance` on the real products, "
        f"not on fakes (memorywire {__version__}, seed {SEED}). Contract: the named checks. Paper: the "
        "sixteen scenarios of the paper. Sequences: random changes compared with the reference store. A "
        "check is skipped if a store does not claim the feature.\n"
    )
    yield "| store | contract | skipped | exempt | paper | sequences | verdict |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    schemes = {SAME_STORE.get(scheme, scheme) for scheme in known_schemes()}
    for name in sorted({*schemes, *found}):
        yield _row(name, found.get(name))
    yield f"\nNot supported: {MEMORY_OS}"
    yield from _papers_own(found)
    yield from _reasons(found, "exempt", "Exemptions")
    yield from _reasons(found, "failed", "Failures")


def _row(name: str, run: Document | None) -> str:
    if run is None:
        return f"| `{name}` | | | | | | unproven: {UNPROVEN.get(name, 'not run here')} |"
    groups = [_share(run["results"], group) for group in ("contract", "paper", "oracle")]
    counts = run["counts"]
    verdict = "passes every check" if run["passed"] else f"{counts['failed']} failed"
    return (
        f"| `{name}` | {groups[0]} | {counts['skipped']} | {counts['exempt']} | {groups[1]} | {groups[2]} "
        f"| {verdict} |"
    )


def _share(results: Iterable[Document], group: str) -> str:
    marks = [one["mark"] for one in results if one["group"] == group]
    asked = [mark for mark in marks if mark in ("passed", "failed")]
    return f"{asked.count('passed')} of {len(asked)}"


def _papers_own(found: Mapping[str, Document]) -> Iterator[str]:
    """Its sixteen scenarios on its five adapters, cell by cell."""
    cells = {
        (one["check"], name): one["mark"]
        for name in PAPERS_OWN
        for one in found.get(name, {"results": ()})["results"]
        if one["group"] == "paper"
    }
    scenarios = list(dict.fromkeys(scenario for scenario, _ in cells))
    passed = sum(mark == "passed" for mark in cells.values())
    yield "\n## The paper's scenarios on the paper's adapters\n"
    yield (
        f"{passed} of {len(PAPERS_OWN) * len(scenarios)} cells pass, all on the real product. (In the paper: "
        "68, of them 52 on fakes, and 12 skipped. Its pgvector is `postgresql` here.)\n"
    )
    yield f"| scenario | {' | '.join(f'`{name}`' for name in PAPERS_OWN)} |"
    yield f"| --- |{' --- |' * len(PAPERS_OWN)}"
    for scenario in scenarios:
        marks = (cells.get((scenario, name), "not run") for name in PAPERS_OWN)
        yield f"| {scenario.replace('_', ' ')} | {' | '.join(marks)} |"


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
    parser.add_argument("--servers", action="store_true")
    parser.add_argument("--vendors", nargs="*", choices=sorted(VENDORS), metavar="NAME")
    arguments = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in [] if arguments.vendors is None else arguments.vendors or sorted(VENDORS):
        run_vendor(name)
    if arguments.servers:
        asyncio.run(run_servers())
    found = asyncio.run(run_here())
    for file in sorted(RESULTS.glob("*.json")):
        found[file.stem] = json.loads(file.read_text(encoding="utf-8"))
    for pair in arguments.result:
        name, _, file = pair.partition("=")
        found[name] = json.loads(Path(file).read_text(encoding="utf-8"))
    PAGE.write_text("\n".join(page(found)) + "\n", encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {', '.join(found)}")
    return 0 if all(run["passed"] for run in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
