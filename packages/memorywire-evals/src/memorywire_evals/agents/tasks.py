"""Tasks for a coding agent as JSON lines (docs/reference/eval-data.md), and their throwaway checkouts."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, ValidationError, convert, field

from memorywire.model.errors import InvalidRequest
from memorywire_evals.agents.programs import run_program
from memorywire_evals.datasets.files import read_lines, words

CHECK_SECONDS = 300.0


class Task(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A prompt, its checkout, and the command that checks whether the task is solved.

    The checkout is `files`, or the `commit` of a `repo`. Tasks of a `case` run in order; the memory lasts for
    all of them, a checkout for one.
    """

    id: str
    prompt: str
    check: str
    case: str = "own"
    files: Mapping[str, str] = field(default_factory=dict)
    repo: str | None = None
    commit: str | None = None


def read_tasks(file: Path) -> dict[str, list[Task]]:
    """Return the tasks of each case, in the order of the file. InvalidRequest names the faulty line."""
    cases: dict[str, list[Task]] = {}
    for number, line in read_lines(file):
        try:
            task = convert(line, Task)
        except ValidationError as error:
            raise InvalidRequest(f"{file} line {number}: {error}", field="tasks") from error
        fault = _find_fault(task, cases.get(task.case, ()))
        if fault:
            raise InvalidRequest(f"{file} line {number}: {fault}", field="tasks")
        cases.setdefault(task.case, []).append(task)
    if not cases:
        raise InvalidRequest(f"{file} has no task", field="tasks")
    return cases


def _find_fault(task: Task, others: Sequence[Task]) -> str | None:
    if not words(task.prompt) or not words(task.check):
        return "prompt or check is empty"
    if bool(task.files) == bool(task.repo):
        return "a task has either files or a repo"
    if any(other.id == task.id for other in others):
        return f"the id {task.id!r} is there twice"
    outside = [name for name in task.files if name.startswith("/") or ".." in Path(name).parts]
    return f"{outside[0]} is outside of the checkout" if outside else None


def check_out(task: Task, folder: Path) -> None:
    """Recreate the folder with the task's files as a repository with one commit, or as a clone."""
    shutil.rmtree(folder, ignore_errors=True)
    if task.repo is not None:
        _git("clone", "--quiet", task.repo, str(folder), cwd=folder.parent)
        _git("checkout", "--quiet", "--detach", task.commit or "HEAD", cwd=folder)
        return
    for name, text in task.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    _git("init", "--quiet", cwd=folder)
    _git("add", "--all", cwd=folder)
    _git("-c", "user.name=eval", "-c", "user.email=eval@localhost", "commit", "-qm", "start", cwd=folder)


def _git(*words: str, cwd: Path) -> None:
    try:
        ended = run_program(("git", *words), cwd=cwd)
    except OSError as error:
        raise InvalidRequest("git cannot be started", field="tasks", fix="install git") from error
    if ended.code:
        complaint = ended.complaint.decode(errors="replace").strip()
        raise InvalidRequest(f"git {words[0]} failed: {complaint[:200]}", field="tasks")


def is_solved(task: Task, folder: Path) -> bool:
    """Return whether the check of the task exits with 0 in the checkout."""
    return run_program(("sh", "-c", task.check), cwd=folder, seconds=CHECK_SECONDS).code == 0
