"""Tasks of coding agents: SWE-Bench-CL, SWE-ContextBench and ContextBench.

A solved task is a memory: its issue, the files that its fix changed, and the fix. A new issue is a question.
The measure is whether recall returns the tasks, or the code, that the issue depends on according to the
data; the benchmarks' own programs measure whether an agent then solves it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from memorywire.model.clock import DAY_MS
from memorywire_evals.cases import Case, Dataset, Item, Question
from memorywire_evals.datasets.facts import BEGAN
from memorywire_evals.datasets.files import (
    cut_query,
    digest,
    find,
    find_tables,
    part,
    read_json,
    read_rows,
    unique,
    words,
)

Row: TypeAlias = Mapping[str, Any]

_CHANGED = re.compile(r"(?m)^\+\+\+ b/(\S+)")


def read_sequences(data: Path, *, split: str, roles: str) -> Dataset:
    """Read SWE-Bench-CL: a case for each task that depends on others; the tasks before it are its memory."""
    file = find(
        data, "SWE-Bench-CL*.json", "swe-bench-cl*.json", "SWE-Bench-CL*.json.xz", without="croissant"
    )
    tasks: dict[str, tuple[Row, list[Row]]] = {}
    for sequence in read_json(file)["sequences"]:
        ordered = sorted(sequence["tasks"], key=lambda task: task["continual_learning"]["sequence_position"])
        for place, task in enumerate(ordered):
            before = {_id(other) for other in ordered[:place]}
            if before & set(task["continual_learning"]["dependencies"]):
                tasks[_id(task)] = (task, ordered[:place])
    taken, ids = part(file, "swebenchcl", split, list(tasks))
    return Dataset(
        name="swebenchcl",
        split=taken,
        digest=digest(file),
        case_ids=ids,
        build=lambda id: _sequence_case(id, *tasks[id]),
    )


def _id(task: Row) -> str:
    return str(task["metadata"]["instance_id"])


def _sequence_case(id: str, task: Row, before: Sequence[Row]) -> Case:
    items = tuple(
        _solved(_id(one), one["metadata"] | one["task"] | one["evaluation"], place)
        for place, one in enumerate(before)
    )
    known = {item.ref for item in items}
    question = Question(
        id=id,
        text=cut_query(task["task"]["problem_statement"]),
        category=task["metadata"]["repo"],
        gold=unique(ref for ref in task["continual_learning"]["dependencies"] if ref in known),
    )
    return Case(id=id, items=items, questions=(question,))


def read_experience(data: Path, *, split: str, roles: str) -> Dataset:
    """Read SWE-ContextBench: a case per repository; solved tasks are its memory, related ones its questions.

    Of rows with the same id the first counts. Without the full tables, the Lite part is read.
    """
    files = [
        find_tables(data, *names)[0]
        for names in (
            ("SWEContextBench_Experience", "SWEContextBench_Lite_Experience"),
            ("SWEContextBench_Related", "SWEContextBench_Related_Lite"),
            ("SWEContextBench_Relationship",),
        )
    ]
    experience, related = (_by_id(read_rows(file)) for file in files[:2])
    origins: dict[str, list[str]] = {}
    for link in read_rows(files[2]):
        if link["related_instance_id"] in related and link["experience_instance_id"] in experience:
            origins.setdefault(link["related_instance_id"], []).append(link["experience_instance_id"])
    repositories = unique(related[id]["repo"] for id in origins)
    taken, ids = part(files[0], "swecontextbench", split, repositories)

    def build(repository: str) -> Case:
        asked = [id for id in origins if related[id]["repo"] == repository]
        cited = {ref for id in asked for ref in origins[id]}
        solved = [id for id, row in experience.items() if row["repo"] == repository or id in cited]
        return Case(
            id=repository,
            items=tuple(_solved(id, experience[id], place) for place, id in enumerate(solved)),
            questions=tuple(
                Question(
                    id=id,
                    text=cut_query(related[id]["problem_statement"]),
                    category=repository,
                    gold=unique(origins[id]),
                )
                for id in asked
            ),
        )

    return Dataset(name="swecontextbench", split=taken, digest=digest(*files), case_ids=ids, build=build)


def _by_id(rows: Sequence[Row]) -> dict[str, Row]:
    results: dict[str, Row] = {}
    for row in rows:
        results.setdefault(row["instance_id"], row)
    return results


def _solved(id: str, row: Row, place: int) -> Item:
    """Return the memory of a solved task."""
    patch = words(row["patch"] or "")
    fix = f"\n\nFixed in {', '.join(unique(_CHANGED.findall(patch)))}:\n{patch}" if patch else ""
    return Item(
        ref=id,
        content=words(row["problem_statement"]) + fix,
        session=id,
        occurred_at=_moment(row.get("created_at"), BEGAN + place * DAY_MS),
        metadata={"repo": row["repo"]},
    )


def _moment(text: Any, otherwise: int) -> int:
    """Parse an ISO 8601 date to epoch milliseconds; `otherwise` if it is not one."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return otherwise
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def read_spans(data: Path, *, split: str, roles: str) -> Dataset:
    """Read ContextBench: a case per repository; annotated code spans are its memory, issues its questions.

    The data set does not include the repositories, so the spans of other issues are the distractors.
    """
    file = (
        data
        if data.is_file()
        else find_tables(data, "contextbench_verified*", "full", "contextbench*", "train*")[0]
    )
    issues: dict[str, list[Row]] = {}
    for row in _by_id(read_rows(file)).values():
        issues.setdefault(row["repo"], []).append(row)
    taken, ids = part(file, "contextbench", split, list(issues))
    return Dataset(
        name="contextbench",
        split=taken,
        digest=digest(file),
        case_ids=ids,
        build=lambda id: _spans_case(id, issues[id]),
    )


def _spans_case(repository: str, issues: Sequence[Row]) -> Case:
    items: dict[str, Item] = {}
    questions = []
    for row in issues:
        spans = [span for span in _spans(row["gold_context"]) if words(span["content"])]
        for span in spans:
            items.setdefault(_span(span), _span_item(span, len(items)))
        questions.append(
            Question(
                id=row["instance_id"],
                text=cut_query(row["problem_statement"]),
                category=row["language"],
                gold=unique(map(_span, spans)),
                gold_sessions=unique(span["file"] for span in spans),
                answerable=bool(spans),
            )
        )
    return Case(id=repository, items=tuple(items.values()), questions=tuple(questions))


def _spans(text: Any) -> Iterator[Row]:
    """Yield the spans of a row, which are JSON text in the published table."""
    yield from json.loads(text) if isinstance(text, str) else text


def _span(span: Row) -> str:
    """Return the ref of a span; equal code at the same place in two issues is one memory."""
    mark = hashlib.blake2b(span["content"].encode(), digest_size=4).hexdigest()
    return f"{span['file']}:{span['start_line']}-{span['end_line']}@{mark}"


def _span_item(span: Row, place: int) -> Item:
    return Item(
        ref=_span(span),
        content=f"{span['file']}, lines {span['start_line']} to {span['end_line']}\n{words(span['content'])}",
        type="semantic",
        session=span["file"],
        occurred_at=BEGAN + place * DAY_MS,
    )
