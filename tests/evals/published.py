"""Tiny sets in the formats of coding tasks and of MemoryAgentBench, about projects that do not exist."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(folder: Path) -> Path:
    """Every set, as files in a folder."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "SWE-Bench-CL.json").write_text(json.dumps(SEQUENCES), encoding="utf-8")
    _lines(folder / "SWEContextBench_Experience.jsonl", EXPERIENCE)
    _lines(folder / "SWEContextBench_Related.jsonl", RELATED)
    _lines(folder / "SWEContextBench_Relationship.jsonl", RELATIONSHIP)
    _lines(folder / "contextbench_verified.jsonl", ISSUES)
    for name, rows in COMPETENCIES.items():
        _lines(folder / "data" / f"{name}-00000-of-00001.jsonl", rows)
    return folder


def _lines(file: Path, rows: Iterable[Any]) -> None:
    file.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")


def _patch(file: str) -> str:
    return f"diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-old\n+new\n"


def _instance(
    number: int, statement: str, file: str, repo: str = "abacus/abacus", **more: Any
) -> dict[str, Any]:
    owner = repo.partition("/")[0]
    return {
        "instance_id": f"{owner}__{owner}-{number}",
        "repo": repo,
        "base_commit": "0" * 40,
        "patch": _patch(file),
        "test_patch": _patch(f"tests/test_{Path(file).name}"),
        "problem_statement": statement,
        "hints_text": "",
        "created_at": "2024-01-01T12:00:00+00:00",
        "version": "1.0",
        "FAIL_TO_PASS": '["tests::new"]',
        "PASS_TO_PASS": "[]",
        "environment_setup_commit": "0" * 40,
        **more,
    }


def _task(position: int, statement: str, file: str, dependencies: tuple[int, ...] = ()) -> dict[str, Any]:
    row = _instance(position, statement, file)
    about = ("instance_id", "repo", "base_commit", "created_at")
    return {
        "metadata": {name: row[name] for name in about} | {"difficulty": "<15 min fix"},
        "task": {"problem_statement": statement, "hints_text": ""},
        "evaluation": {
            "patch": row["patch"],
            "test_patch": row["test_patch"],
            "FAIL_TO_PASS": ["tests::new"],
            "PASS_TO_PASS": [],
        },
        "continual_learning": {
            "sequence_position": position,
            "difficulty_score": 1,
            "dependencies": [f"abacus__abacus-{number}" for number in dependencies],
            "modified_files": [file],
        },
    }


OVERFLOW = "Column sums overflow beyond 32 bits. Adding two large columns gives a negative total."
LOCALE = "Decimal commas are not parsed. A German sheet with 1,5 raises ValueError."

SEQUENCES = {
    "metadata": {"name": "SWE-Bench-CL", "version": "1.0.0", "num_sequences": 1, "total_tasks": 4},
    "evaluation_metrics": {},
    "sequences": [
        {
            "id": "abacus_abacus_sequence",
            "repo": "abacus/abacus",
            "num_tasks": 4,
            "statistics": {"tasks_with_dependencies": 3, "dependency_rate": 0.75},
            "tasks": [
                # Not in the order of their positions; the first depends on a task that comes later.
                _task(
                    4,
                    "Sums of German columns are wrong once decimal commas are parsed",
                    "abacus/parse.py",
                    (2, 3),
                ),
                _task(1, OVERFLOW, "abacus/columns.py", (4,)),
                _task(2, LOCALE, "abacus/parse.py"),
                _task(
                    3,
                    "The mean of a large column is negative since its sum overflows",
                    "abacus/columns.py",
                    (1,),
                ),
            ],
        }
    ],
}

EXPERIENCE = [
    _instance(1, OVERFLOW, "abacus/columns.py"),
    _instance(1, "Another row of the same id", "abacus/columns.py"),
    _instance(2, LOCALE, "abacus/parse.py"),
    _instance(7, "The lamp flickers when the battery is low", "power.py", "lantern/lantern", created_at=None),
]
RELATED = [
    _instance(90, "A German sheet with large columns has a negative total", "abacus/columns.py"),
    _instance(70, "Flickering of the lamp with a weak battery is back", "power.py", "lantern/lantern"),
    _instance(71, "The lantern has no manual", "manual.txt", "lantern/lantern"),
]
RELATIONSHIP = [
    {
        "related_instance_id": related,
        "related_issue_url": "https://example.org/issues/2",
        "related_pr_url": "https://example.org/pull/2",
        "experience_instance_id": experience,
        "experience_issue_url": "https://example.org/issues/1",
        "experience_pr_url": "https://example.org/pull/1",
    }
    for related, experience in (
        ("abacus__abacus-90", "abacus__abacus-1"),
        ("abacus__abacus-90", "abacus__abacus-2"),
        ("lantern__lantern-70", "lantern__lantern-7"),
        ("lantern__lantern-71", "lantern__lantern-404"),
    )
]


def _span(file: str, start: int, content: str) -> dict[str, Any]:
    end = start + content.count("\n")
    return {"file": file, "start_line": start, "end_line": end, "content": content}


_LIGHT = _span("lamp.py", 1, "def light(lamp):\n    lamp.on = True")
_BURN = _span("wick.py", 10, "def burn(wick):\n    return wick.length - 1")
_OIL = _span("oil.py", 3, "def fill(tank):\n    tank.level = 100")


def _issue(number: int, statement: str, *spans: dict[str, Any]) -> dict[str, Any]:
    return {
        "instance_id": f"SWE-Bench-Verified__python__{number}",
        "original_inst_id": f"lantern__lantern-{number}",
        "repo": "lantern/lantern",
        "repo_url": "https://example.org/lantern.git",
        "language": "python",
        "base_commit": "0" * 40,
        "gold_context": json.dumps(spans),
        "patch": _patch("lamp.py"),
        "test_patch": _patch("tests/test_lamp.py"),
        "problem_statement": statement,
        "f2p": "[]",
        "p2p": "[]",
        "source": "Verified",
    }


ISSUES = [
    _issue(1, "The lamp does not light when the wick burns", _LIGHT, _BURN),
    _issue(2, "Filling the oil tank does not light the lamp", _OIL, _LIGHT),
]


def _row(source: str, context: str, questions: dict[str, list[str]], **metadata: Any) -> dict[str, Any]:
    about = dict.fromkeys(
        ("demo", "haystack_sessions", "keypoints", "previous_events", "question_dates", "question_ids")
    )
    ids = [f"{source}_no{number}" for number in range(len(questions))]
    return {
        "context": context,
        "questions": list(questions),
        "answers": list(questions.values()),
        "metadata": {**about, "question_types": None, "qa_pair_ids": ids, "source": source, **metadata},
    }


_GYM = {"role": "user", "content": "I pay 40 for the gym"}
_FAIR = {"role": "assistant", "content": "That is fair"}
_BOOK = "Mara found the lamp in the cellar.\n\nShe lit it and read the letter of her aunt."

COMPETENCIES = {
    "Accurate_Retrieval": [
        _row(
            "ruler_qa1_197K",
            "Document 1:\nThe ferry leaves from Port Ellis at noon.\nDocument 2:\nThe mill grinds rye.\n",
            {"Where does the ferry leave from?": ["Port Ellis", "Ellis", "Ellis"]},
        ),
        _row(
            "longmemeval_s*",
            repr(
                [
                    "Chat Time: 2023/05/01 (Mon) 10:00",
                    [_GYM, _FAIR],
                    "Chat Time: 2023/05/09 (Tue) 09:30",
                    [{"role": "user", "content": "My bicycle is blue"}],
                ]
            ),
            {"What do I pay for the gym?": ["40"], "What is my cat called?": ["not mentioned"]},
            haystack_sessions=[
                [[{**_GYM, "has_answer": True}, {**_FAIR, "has_answer": False}]],
                [[{**_FAIR, "has_answer": False}]],
            ],
            question_dates=["2023/05/30 (Tue) 23:40", "2023/05/30 (Tue) 23:40"],
            question_ids=["q1", "q2_abs"],
            question_types=["single-session-user", "single-session-user"],
        ),
        _row("eventqa_full", _BOOK, {"What happens after Mara found the lamp?": ["She lit it."]}),
    ],
    "Test_Time_Learning": [
        _row(
            "icl_banking77_5900shot_balance",
            "My card is gone\nlabel: 1\n\nWhere is my money?\nlabel: 12\n\nI lost my card in a cab\nlabel: 1",
            {"My card was stolen": ["1"]},
        ),
        _row(
            "recsys_redial_full",
            "Dialogue 1:\nUser: I like heist films\nSystem: See Rififi\nDialogue 2:\nUser: I like cats\n",
            {"User: Which heist film do you recommend?": ["4711"]},
        ),
    ],
    "Long_Range_Understanding": [
        _row(
            "infbench_sum_eng_shots2",
            _BOOK,
            {"Summarize the book": ["Mara reads a letter."]},
            keypoints=["letter"],
        ),
        _row("detective_qa", _BOOK, {"Who wrote the letter? A. the aunt B. Mara": ["A. the aunt"]}),
    ],
    "Conflict_Resolution": [
        _row(
            "factconsolidation_sh_6k",
            "Here is a list of facts:\n0. Ada lives in Oslo.\n1. Ada lives in Rome.\n",
            {"In which city does Ada live?": ["Rome"]},
        ),
    ],
}
