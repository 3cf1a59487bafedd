"""Stores results: a line for each finished case, so that a run can be resumed, then one document."""

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from msgspec import Struct, field, to_builtins

from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.model.record import Json
from memorywire.model.secrets import mask_url
from memorywire_evals.sets import KINDS

OURS = "memorywire"
PUBLISHED = 50
"""The number of published ranks per question."""

_LISTS = ("marks", "gold", "ranks", "kept")

Figures = Mapping[str, float]


class Row(Struct, frozen=True, kw_only=True):
    """The result of one question.

    `asked` is `own`, `foreign` for a question about another case, or `pair` for a comparison of two memories.
    `figures` has each system's metrics; those that do not apply are absent. `kept` are the hits of the
    default recall, `relevance` is that of the best hit without a floor.
    """

    case: str
    question: str
    category: str
    asked: str = "own"
    answerable: bool = True
    marks: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    relevance: float | None = None
    ms: float | None = None
    figures: Mapping[str, Figures] = field(default_factory=dict)


class Examined(Struct, frozen=True, kw_only=True):
    """A finished case: its rows, the number of items, and the items that were not stored.

    `repeated` counts those of the `writes` (pairs included) that were answered as duplicates.
    """

    case: str
    rows: tuple[Row, ...]
    items: int
    skipped: int = 0
    shortfall: tuple[str, ...] = ()
    ingest_ms: float = 0.0
    writes: int = 0
    repeated: int = 0


def to_json(examined: Examined) -> dict[str, Json]:
    document: dict[str, Json] = to_builtins(examined) | {"shortfall": list(examined.shortfall)}
    document["rows"] = [row | {name: list(row[name]) for name in _LISTS} for row in document["rows"]]
    for row in document["rows"]:
        row["figures"] = {name: _round_figures(values) for name, values in row["figures"].items()}
        row["ms"] = None if row["ms"] is None else round(row["ms"], 3)
    return document


def from_json(document: Mapping[str, Json]) -> Examined:
    rows = tuple(_row(row) for row in document["rows"])
    return Examined(**{**document, "rows": rows, "shortfall": tuple(document["shortfall"])})


def _row(document: Mapping[str, Json]) -> Row:
    lists = {name: tuple(document[name]) for name in _LISTS}
    return Row(**{**document, **lists})


def _round_figures(values: Figures) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}


def values(rows: Sequence[Row], system: str, metric: str) -> list[float]:
    """Return the metric of each row that has it."""
    return [row.figures[system][metric] for row in rows if metric in row.figures.get(system, {})]


_ASIDE = ("address", "code", "seed", "version")
"""Conditions of a run that do not belong to its results."""


class Folder(Struct, frozen=True, kw_only=True):
    """The files of one set and split under `<out>/<version>/`."""

    out: Path
    version: str
    name: str

    @property
    def lines(self) -> Path:
        return self.out / self.version / self.name / "cases.jsonl"

    @property
    def trajectories(self) -> Path:
        """The folder with the steps of each case until the run ends."""
        return self.lines.parent / "trajectories"

    def begin(self, run: Mapping[str, Json], *, fresh: bool) -> list[Examined]:
        """Return the finished cases. Raises Conflict if they belong to a run under other conditions."""
        self.lines.parent.mkdir(parents=True, exist_ok=True)
        if fresh or not self.lines.is_file():
            self.lines.write_text(_line(run), encoding="utf-8")
            shutil.rmtree(self.trajectories, ignore_errors=True)  # of an earlier run
            return []
        first, *rest = whole_lines(self.lines) or [""]
        if not rest:  # no case was finished, so its conditions do not matter
            return self.begin(run, fresh=True)
        if json.loads(first) != run:
            raise Conflict(
                f"{self.lines.parent} holds another run: {_differences(json.loads(first), run)}",
                field="out",
                fix="pass --fresh to start over, or another --out",
            )
        return [from_json(json.loads(line)) for line in rest]

    def add(self, case: Examined) -> Examined:
        """Append a finished case; return it as read back, so that a resumed run has the same figures."""
        document = to_json(case)
        append(self.lines, document)
        return from_json(document)

    def finish(self, document: Mapping[str, Json]) -> Path:
        """Write the document to a file named after its time: indented, but one row per line."""
        rest = {name: value for name, value in document.items() if name != "rows"}
        head = json.dumps(rest, sort_keys=True, indent=1, ensure_ascii=False).removesuffix("\n}")
        rows = ",\n".join(_line(row).rstrip("\n") for row in document["rows"])
        place = find_free(self.out / self.version, f"{self.name}-{stamp(document['date'])}")
        place.write_text(f'{head},\n "rows": [\n{rows}\n ]\n}}\n', encoding="utf-8")
        return place


def stamp(date: str) -> str:
    """Return a date and time as part of a file name: 20261118T164634Z."""
    return re.sub(r"[-:]|\+00:?00$", "", date) + "Z"


def find_free(folder: Path, name: str) -> Path:
    """Return a free path with this name, numbered if another run ended in the same second."""
    numbers = (f"{name}.json" if number == 1 else f"{name}-{number}.json" for number in count(1))
    return next(folder / file for file in numbers if not (folder / file).exists())


def write_document(out: Path, name: str, document: Mapping[str, Json], without: Sequence[str] = ()) -> Path:
    """Save a document as `<out>/<version>/<name>-<timestamp>.json` and its figures in the ledger.

    `without` names fields that are too long for a line of the ledger.
    """
    version: str = document["run"]["version"]
    (out / version).mkdir(parents=True, exist_ok=True)
    place = find_free(out / version, f"{name}-{stamp(document['date'])}")
    text = json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    place.write_text(text, encoding="utf-8")
    line = {key: value for key, value in document.items() if key not in without}
    record(out, {**line, "file": place.relative_to(out).as_posix()})
    return place


def whole_lines(file: Path) -> list[str]:
    """Return the lines of a file; truncate a last line without an end, left by an interrupted write.

    Only a line feed ends a line: texts of models and people contain other line separators.
    """
    text = file.read_bytes()
    end = text.rfind(b"\n") + 1
    if end < len(text):
        os.truncate(file, end)
    return text[:end].decode().split("\n")[:-1]


def append(file: Path, document: Mapping[str, Json]) -> None:
    """Append a line."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(_line(document))


def hash_text(*words: str) -> str:
    """Return a short hash of the words."""
    return hashlib.blake2b("\0".join(words).encode(), digest_size=8).hexdigest()


def digest(document: Mapping[str, Json]) -> str:
    """Return a digest of the results: equal for equal results, whatever the time, machine and program."""
    lasting = {name: value for name, value in document.items() if name not in ("timing", "machine", "date")}
    rows = [{**row, "ms": None} for row in lasting.get("rows", ())]
    run = {name: value for name, value in lasting.get("run", {}).items() if name not in _ASIDE}
    text = json.dumps({**lasting, "run": run, "rows": rows}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def record(out: Path, entry: Mapping[str, Json]) -> None:
    """Append an entry to the ledger of all runs."""
    append(out / "ledger.jsonl", entry)


def runs(folder: Path) -> list[dict[str, Json]]:
    """Return the newest document of each set, split, store and version; ignore other files."""
    newest: dict[tuple[Json, ...], dict[str, Json]] = {}
    for document in sorted(filter(_of_the_data, _documents(folder)), key=lambda one: one.get("date", "")):
        run = document["run"]
        newest[tuple(run.get(name) for name in ("version", "set", "split", "store", "address"))] = document
    return list(newest.values())


def answered(folder: Path) -> list[dict[str, Json]]:
    """Return the documents of `memorywire eval answer` in a folder."""
    return [document for document in _documents(folder) if _of_answers(document)]


def parities(folder: Path) -> list[dict[str, Json]]:
    """Return the documents of `memorywire eval SET --parity` in a folder; `all` writes them too."""
    return [document for document in _documents(folder) if _of_parity(document)]


def benches(folder: Path) -> list[dict[str, Json]]:
    """Return the reports that `memorywire bench --json` wrote to a folder."""
    return [
        document
        for document in _documents(folder)
        if isinstance(document, dict) and isinstance(document.get("latencies_ms"), list)
    ]


def load(path: Path) -> dict[str, Json]:
    """Load the document of a run. Raises InvalidRequest if the file has none."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"{path} cannot be read as results: {error}", field="results") from error
    if not _of_a_run(document):
        raise InvalidRequest(f"{path} is not the document of a run", field="results")
    results: dict[str, Json] = document
    return results


def _documents(folder: Path) -> Iterator[Json]:
    for path in sorted(folder.rglob("*.json")):
        with suppress(ValueError):  # not JSON, so not a result
            yield json.loads(path.read_bytes())


def _of_a_run(document: Json) -> bool:
    match document:
        case {"run": {"set": str(name)}, "summary": dict(), "rows": list()}:
            return name in KINDS
    return False


def _of_the_data(document: Json) -> bool:
    """Return whether it is a run in the order of the data, without another seed."""
    return _of_a_run(document) and not document["run"].get("seed")


def _of_answers(document: Json) -> bool:
    match document:
        case {"run": {"set": str(name)}, "answers": {"cells": dict()}, "rows": list()}:
            return name in KINDS
    return False


def _of_parity(document: Json) -> bool:
    match document:
        case {"run": {"set": str(name)}, "differences": list(), "leaks": int()}:
            return name in KINDS
    return False


def code(*packages: Path) -> str:
    """Return a digest of the source of these packages, without the command line, which changes no ranking."""
    total = hashlib.blake2b(digest_size=8)
    for package in packages:
        for path in sorted(package.rglob("*")):
            aside = path.relative_to(package).parts[0] in ("cli", "commands")
            if path.suffix in (".py", ".sql") and not aside:
                total.update(path.read_bytes())
    return total.hexdigest()


def without_login(text: str) -> str:
    """Return the text with URLs stripped of user, password and token, and with masked key options."""
    plain = re.sub(r"://[^\s\0]*@", "://", text)
    return re.sub(r"[\w+.-]+://[^\s\0'\"]+", lambda url: mask_url(url[0]), plain)


def machine() -> dict[str, Json]:
    """Return the platform."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _line(document: Mapping[str, Json]) -> str:
    return json.dumps(document, sort_keys=True, ensure_ascii=False) + "\n"


def _differences(before: Mapping[str, Json], now: Mapping[str, Json]) -> str:
    names = sorted(set(before) | set(now))
    return ", ".join(
        f"{name} was {before.get(name)!r}, is {now.get(name)!r}"
        for name in names
        if before.get(name) != now.get(name)
    )
