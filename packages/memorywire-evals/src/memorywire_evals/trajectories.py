"""Trajectories: the steps of a case, i.e. what was written, retrieved and used.

A step is one line of JSON. It names memories by id and ref, and texts by digest: results contain no text of
the data. It has no duration, so that two runs that do the same write the same lines.
"""

import json
import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from memorywire.model.answers import Hit, Remembered
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json
from memorywire.runtime.files import write_whole
from memorywire_evals.cases import Item, Question
from memorywire_evals.results import PUBLISHED, Row, hash_text

SUFFIX = ".trajectories.jsonl"
"""The suffix of the file name, in place of the `.json` of its results."""


class Trajectory:
    """The steps of one case, in order."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.steps: list[dict[str, Json]] = []

    def add_written(self, id: str, item: Item, result: Remembered | MemorywireError) -> None:
        """Add a write: the item, and the status in its receipt."""
        self._add(
            "written",
            id=id,
            ref=item.ref,
            digest=hash_text(item.content),
            characters=len(item.content),
            type=item.type,
            session=item.session,
            occurred_at=item.occurred_at,
            **_read_receipt(id, result),
        )

    def add_retrieved(
        self, question: Question, asked: str, options: dict[str, Json], found: Iterable[tuple[Hit, str]]
    ) -> None:
        """Add a recall's hits, best first; a foreign question has no gold in this memory."""
        hits = list(found)
        gold = question.gold if asked == "own" else ()
        self._add(
            "retrieved",
            question=question.id,
            asked=asked,
            options=options,
            returned=len(hits),
            hits=[
                {"id": hit.id, "ref": ref, "score": round(hit.score, 4), "gold": ref in gold}
                for hit, ref in hits[:PUBLISHED]
            ],
        )

    def add_used(self, question: str, refs: Sequence[str], gold: Collection[str], **about: Json) -> None:
        """Add the used memories; `gold` tells which of them are evidence."""
        used = [{"ref": ref, "gold": ref in gold} for ref in refs]
        self._add("used", question=question, memories=used, **about)

    def add_row(self, row: Row) -> None:
        """Add the used memories of a row: evidence that the default recall returned counts as used."""
        if row.asked == "own":
            used = [ref for ref in row.kept if ref in row.gold]
            missed = [ref for ref in row.gold if ref not in row.kept]
            self.add_used(row.question, used, row.gold, by="recall", missed=missed)

    def _add(self, step: str, **fields: Json) -> None:
        self.steps.append({"step": step, "case": self.case, **fields})


def _read_receipt(id: str, result: Remembered | MemorywireError) -> dict[str, Json]:
    if isinstance(result, MemorywireError):
        return {"status": "failed", "error": result.code, "stored_as": None, "stored_at": None}
    stored_as = None if result.id == id else result.id
    return {"status": str(result.status), "stored_as": stored_as, "stored_at": result.stored_at}


class Trajectories(Struct, frozen=True):
    """A file for the steps of each finished case, until they are joined at the end of the run."""

    folder: Path

    def has(self, case: str) -> bool:
        return self._file(case).is_file()

    def save(self, done: Trajectory) -> None:
        """Write the steps of a case atomically, replacing those of an earlier attempt."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(step, ensure_ascii=False) + "\n" for step in done.steps)
        write_whole(self._file(done.case), "".join(lines).encode())

    def join(self, cases: Iterable[str], target: Path) -> Path:
        """Join the steps of these cases into one file, in this order."""
        with target.open("wb") as whole:
            for case in cases:
                with self._file(case).open("rb") as part:
                    shutil.copyfileobj(part, whole)
        return target

    def _file(self, case: str) -> Path:
        return self.folder / f"{hash_text(case)}.jsonl"
