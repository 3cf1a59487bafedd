"""Files that people or programs have spoilt are refused with what is wrong, and nothing of them comes in."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.migrate.export_files import export_files
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import DEFAULT_TENANT
from memorywire.model.text import CONTENT_CHARS_MAX
from memorywire.pipeline.context import Context
from memorywire.wire import spec
from tests.bundle.story import imported, on

Spoil = Callable[[Path], None]


def _written(folder: Path, format_: str) -> Path:
    path = folder / ("memories.csv" if format_ == "csv" else "memories")

    async def story(memory: Memory, context: Context) -> None:
        await memory.remember("Ana likes tea", id="one", tags=["t"])
        await memory.remember("Ben likes coffee", id="two")
        await export_files(path, format_, context.store, DEFAULT_TENANT, ("agent",))

    on("memory://", story)
    return path


def _edited(pattern: str, old: str, new: str) -> Spoil:
    def spoil(path: Path) -> None:
        file = path if path.is_file() else path / pattern
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    return spoil


def _a_moment_that_is_none(path: Path) -> None:
    name, *rows = path.read_text(encoding="utf-8").splitlines()
    cells = rows[0].split(",")
    cells[name.split(",").index("created_at")] = '"""soon"""'
    path.write_text("\n".join([name, ",".join(cells), *rows[1:]]), encoding="utf-8")


def _cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.read_bytes().index(b"\n") + 20])


def _not_utf_8(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"tea", b"\xff\xfe"))


def _another_with_its_id(path: Path) -> None:
    one = path / "agent" / "one.md"
    text = one.read_text(encoding="utf-8")
    (path / "agent" / "three.md").write_text(text.replace("tea", "poison"), encoding="utf-8")


SPOILT: dict[str, tuple[str, Spoil, str]] = {
    "csv-moment": ("csv", _a_moment_that_is_none, "memory 1 is not a valid change.*created_at"),
    "csv-cut-off": ("csv", _cut_off, "lacks|valid"),
    "csv-not-utf-8": ("csv", _not_utf_8, "not UTF-8"),
    "markdown-type": (
        "markdown",
        _edited("agent/one.md", "type: semantic", "type: magic"),
        r"agent/one\.md: type",
    ),
    "markdown-twins": ("markdown", _another_with_its_id, "has the id one, which another memory has too"),
    "markdown-not-utf-8": ("markdown", lambda path: _not_utf_8(path / "agent" / "one.md"), "not UTF-8"),
    "okf-moment": ("okf", _edited("agent/two.md", '"created_at": ', '"created_at": "soon", "x": '), "valid"),
    "okf-twins": ("okf", _another_with_its_id, "has the id one, which another memory has too"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_it_is_refused_and_nothing_comes_in(tmp_path: Path, case: str) -> None:
    format_, spoil, said = SPOILT[case]
    path = _written(tmp_path, format_)
    spoil(path)

    async def story(memory: Memory, context: Context) -> None:
        with pytest.raises(InvalidRequest, match=said):
            await imported(path, context)
        assert (await memory.list()).total == 0

    on("sqlite://", story)


@pytest.mark.parametrize("format_", ["csv", "markdown", "okf"])
def test_one_that_nobody_spoilt_comes_in_and_a_row_that_is_there_twice_once(
    tmp_path: Path, format_: str
) -> None:
    path = _written(tmp_path, format_)
    if format_ == "csv":
        rows = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([*rows, rows[-1]]), encoding="utf-8")

    async def story(memory: Memory, context: Context) -> None:
        assert (await imported(path, context))["memories"] == 2
        assert (await memory.list()).total == 2

    on("sqlite://", story)


def test_a_graph_that_lacks_something_is_refused_whole(tmp_path: Path) -> None:
    whole = {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["likes tea"]}
    path = tmp_path / "memory.json"
    path.write_text("\n".join(map(json.dumps, [whole, {"type": "entity", "name": "Ben"}])), encoding="utf-8")

    async def story(memory: Memory, context: Context) -> None:
        with pytest.raises(InvalidRequest, match="an item after memory 1 lacks 'entityType'"):
            await imported(path, context)
        assert (await memory.list()).total == 0

    on("sqlite://", story)


def test_notes_beside_names_that_lead_to_no_file_come_in(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "a folder.md").mkdir(parents=True)
    (folder / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (folder / "ana.md").write_text("Ana likes tea\n", encoding="utf-8")

    async def story(memory: Memory, context: Context) -> None:
        assert (await imported(folder, context))["memories"] == 1

    on("sqlite://", story)


def test_a_note_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "ana.md").write_text("Ana likes tea\n", encoding="utf-8")
    (tmp_path / "ben.md").write_bytes("Ben likes café\n".encode("latin-1"))

    async def story(memory: Memory, context: Context) -> None:
        with pytest.raises(InvalidRequest, match=r"ben\.md is not UTF-8 at byte 13"):
            await imported(tmp_path, context)

    on("sqlite://", story)


def test_an_empty_file_is_called_empty_whatever_it_should_be(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").touch()

    async def story(memory: Memory, context: Context) -> None:
        for kind in ("auto", "chatgpt", "notes"):
            with pytest.raises(InvalidRequest, match=r"conversations\.json is empty"):
                await imported(tmp_path / "conversations.json", context, kind=kind)

    on("sqlite://", story)


def test_a_note_longer_than_a_memory_may_be_comes_in_as_parts_once(tmp_path: Path) -> None:
    words = " ".join(str(number) for number in range(30_000))
    (tmp_path / "long.md").write_text(f"Ana likes tea\n\n{words}\n", encoding="utf-8")

    async def story(memory: Memory, context: Context) -> None:
        assert (await imported(tmp_path, context))["memories"] == 4
        assert (await imported(tmp_path, context))["already"] == 4
        kept = (await memory.list()).items
        parts = sorted(
            (one for one in kept if one.metadata.get("parts") == 3), key=lambda one: one.metadata["part"]
        )
        assert " ".join(str(part.content) for part in parts) == words
        assert max(len(part.content) for part in parts) <= CONTENT_CHARS_MAX

    on("sqlite://", story)
    assert spec.schema("remember.request")["properties"]["content"]["maxLength"] == CONTENT_CHARS_MAX


@pytest.mark.parametrize("format_", ["csv", "markdown"])
def test_a_memory_of_ours_that_somebody_made_too_long_is_named_and_the_others_come_in(
    tmp_path: Path, format_: str
) -> None:
    path = _written(tmp_path, format_)
    _edited("agent/one.md", "Ana likes tea", "Ana likes tea " * 5_000)(path)

    async def story(memory: Memory, context: Context) -> None:
        answer = await imported(path, context)
        (problem,) = answer["problems"]
        assert problem["detail"].startswith("memory one is ")
        assert f"longer than {CONTENT_CHARS_MAX} characters" in problem["detail"]
        assert [one.id for one in (await memory.list()).items] == ["two"]

    on("sqlite://", story)
