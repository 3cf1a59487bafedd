"""Files that are made to exhaust a reader, and links that lead elsewhere, do no harm to an import."""

import json
import time
import zipfile
from pathlib import Path

import pytest

from memorywire.migrate.export_files import _build_row
from memorywire.migrate.importers import Origin, Source, read_json, read_source
from memorywire.migrate.importers.text_files import describe_skipped
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Scope
from memorywire.model.text import as_cell, from_cell

LONG = 30.0
"""Seconds: a reader whose time grows with the square of the brackets needs minutes."""


def _source(path: Path, kind: str = "auto") -> Source:
    return read_source(kind, Origin(path=path, scope=Scope(agent="agent")))


def _words(path: Path) -> list[str]:
    return [put.record.words for change in _source(path).changes() for put in change.put]


@pytest.mark.parametrize(
    "text", ["[[" * 50_000, "[[a" * 50_000, "[" * 100_000 + "]" * 100_000, "[[a|" * 25_000]
)
def test_many_brackets_are_read_in_time(tmp_path: Path, text: str) -> None:
    note = tmp_path / "note.md"
    note.write_text(f"# Tea\n\nAna drinks tea, see [[Kettle]].\n\n{text}\n", encoding="utf-8")
    began = time.monotonic()
    assert any("Ana drinks tea" in words for words in _words(note))
    assert time.monotonic() - began < LONG


def test_brackets_in_front_matter_are_no_front_matter(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text(f"---\ntags: {'[' * 100_000}\n---\nAna drinks tea\n", encoding="utf-8")
    assert _words(note) == ["Ana drinks tea"]


def test_links_are_still_found(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("See [[Kettle]], [[Cup|the cup]] and [[Tea#Green]].\n", encoding="utf-8")
    [change] = _source(note).changes()
    assert change.put[0].record.metadata["links"] == ["Kettle", "Cup", "Tea"]


def test_a_link_out_of_the_folder_is_not_read_and_is_named(tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret.md", tmp_path / "notes"
    secret.write_text("The vault opens with 7731\n", encoding="utf-8")
    folder.mkdir()
    (folder / "tea.md").write_text("Ana drinks tea\n", encoding="utf-8")
    (folder / "same.md").symlink_to(folder / "tea.md")
    (folder / "diary.md").symlink_to(secret)
    assert set(_words(folder)) == {"Ana drinks tea"}
    [note] = [line for line in describe_skipped(folder) if "outside" in line]
    assert "diary.md" in note


def _archive(path: Path, size: int) -> Path:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w", force_zip64=True) as member,
    ):
        member.write(b'["')
        for _ in range(size // 2**20):
            member.write(b" " * 2**20)
        member.write(b'"]')
    return path


def test_an_archive_that_unpacks_to_much_more_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = _archive(tmp_path / "bomb.zip", 64 * 2**20)
    with pytest.raises(InvalidRequest, match="times as much") as refused:
        read_json(bomb, "conversations.json")
    assert refused.value.fix


def test_an_ordinary_archive_is_read(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([{"mapping": {}}] * 10_000))
    assert len(read_json(path, "conversations.json")) == 10_000


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "＋1",
    "－1",
    "＠SUM(A1)",
    "'=1",
    "''＝1",
]


@pytest.mark.parametrize("text", [*FORMULAS, "Ana's tea", "'quoted'", "", "tea = good"])
def test_what_a_spreadsheet_would_calculate_gets_an_apostrophe_and_comes_back(text: str) -> None:
    cell = as_cell(text)
    assert from_cell(cell) == text
    assert (cell == f"'{text}") == (text in FORMULAS)


def test_a_table_that_is_exported_has_no_formula() -> None:
    row = _build_row(
        {"id": "=1", "source": "＝cmd", "session_id": "@x", "content": "=1+1", "confidence": 1.0}
    )
    assert row == {
        "id": "'=1",
        "source": "'＝cmd",
        "session_id": "'@x",
        "content": '"=1+1"',
        "confidence": "1.0",
    }
