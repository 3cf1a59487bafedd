"""People add, edit, move, break, remove files; the store follows, and writes over nothing it cannot read."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memorywire.model.errors import Conflict, StoreCorrupt
from memorywire.model.record import Record, Scope
from memorywire_adapters.markdown import MarkdownStore, open_store
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_query,
    a_record,
    a_vector,
    beginning,
    ending,
    everything,
    ids,
    keep,
    revising,
)
from tests.cli.shell import Shell
from tests.markdown.files import edit, sheets, with_store

ANA = Scope(agent="assistant", user="ana")


@pytest.fixture
def tea(tmp_path: Path) -> Record:
    """A memory in the folder."""
    record = a_record(ANA, "tea is at five", session_id="monday")
    with_store(tmp_path, lambda store: keep(store, record))
    return record


def _get(folder: Path, *wanted: str) -> list[Record]:
    return with_store(folder, lambda store: store.get(ANA, wanted))


def _broken(folder: Path) -> list[str]:
    health = with_store(folder, lambda store: store.health())
    assert health["ok"] is True
    return [f"{one['file']}: {one['detail']}" for one in health["broken"]]


def test_an_edited_file_is_a_new_version(tea: Record, tmp_path: Path) -> None:
    async def work(store: MarkdownStore) -> None:
        await store.get(ANA, [tea.id])
        edit(sheets(tmp_path)[0], "five", "six")
        (found,) = await store.get(ANA, [tea.id])
        assert (found.content, found.version, found.created_at) == ("tea is at six", 2, NOW)
        (hit,) = await store.search(a_query(ANA, "six"), 5)
        assert hit.signals["text"] > 0
        (hit,) = await store.search(a_query(ANA, "five"), 5)
        assert hit.signals["text"] == 0
        with pytest.raises(Conflict):
            await store.write(a_change(ANA, revising(tea, content="planned on the old text")))
        await store.write(a_change(ANA, revising(found, content="tea is at seven")))
        assert [record.version for record in await store.get(ANA, [tea.id])] == [3]

    with_store(tmp_path, work)


def test_an_edited_text_is_not_compared_by_the_vector_of_the_old_one(tmp_path: Path) -> None:
    record = a_record(ANA, "tea is at five")
    with_store(tmp_path, lambda store: keep(store, record, vector=a_vector(1)))

    def nearness() -> float:
        (hit,) = with_store(tmp_path, lambda store: store.search(a_query(ANA, "", a_vector(1)), 5))
        return hit.signals["vector"]

    assert nearness() == pytest.approx(1)
    edit(sheets(tmp_path)[0], "five", "six")
    assert nearness() == 0


def test_an_edit_while_nobody_looked_is_found_later(tea: Record, tmp_path: Path) -> None:
    edit(sheets(tmp_path)[0], "five", "six")
    (found,) = _get(tmp_path, tea.id)
    assert (found.content, found.version) == ("tea is at six", 2)


def test_a_file_written_by_hand_is_a_memory(tea: Record, tmp_path: Path) -> None:
    note = tmp_path / "memories" / "default" / "assistant" / "notes" / "kettle.md"
    note.parent.mkdir()
    note.write_text("---\nuser: ana\ntags: [kitchen]\n---\nThe kettle is blue.\n", encoding="utf-8")
    (found,) = _get(tmp_path, "kettle")
    assert (found.content, found.tags, found.scope, found.version) == (
        "The kettle is blue.",
        ("kitchen",),
        ANA,
        1,
    )


def test_a_removed_file_is_a_forgotten_memory_whose_id_stays_taken(tea: Record, tmp_path: Path) -> None:
    sheets(tmp_path)[0].unlink()
    assert _get(tmp_path, tea.id) == []
    with pytest.raises(Conflict):
        with_store(tmp_path, lambda store: keep(store, tea))


def test_a_moved_file_is_the_same_memory_and_stays_where_it_was_put(tea: Record, tmp_path: Path) -> None:
    (file,) = sheets(tmp_path)
    moved = file.parent.parent / "drinks" / "about-tea.md"
    moved.parent.mkdir()
    file.rename(moved)
    assert _get(tmp_path, tea.id) == [tea]
    with_store(tmp_path, lambda store: store.write(a_change(ANA, revising(tea, content="tea at six"))))
    assert sheets(tmp_path) == [moved]
    assert "tea at six" in moved.read_text(encoding="utf-8")


def test_a_broken_file_is_reported_and_never_written_over(tea: Record, tmp_path: Path) -> None:
    other = a_record(ANA, "the kettle is blue")
    with_store(tmp_path, lambda store: keep(store, other))
    (file,) = [sheet for sheet in sheets(tmp_path) if "tea" in sheet.read_text(encoding="utf-8")]
    whole = file.read_bytes()
    edit(file, "---\nid", "--\nid")
    broken = file.read_bytes()
    assert _get(tmp_path, tea.id, other.id) == [other]
    (said,) = _broken(tmp_path)
    assert "front matter" in said
    attempts = (a_change(ANA, revising(tea)), a_change(ANA, ending(tea)), a_change(ANA, erase=(tea.id,)))
    for change in attempts:
        with pytest.raises(StoreCorrupt, match=file.name):
            with_store(tmp_path, lambda store, change=change: store.write(change))
        assert file.read_bytes() == broken
    file.write_bytes(whole)
    assert _get(tmp_path, tea.id) == [tea]
    assert _broken(tmp_path) == []


def test_nothing_is_put_where_a_strange_file_lies(tea: Record, tmp_path: Path) -> None:
    strange = sheets(tmp_path)[0].parent / "plain.md"
    strange.write_text("just notes", encoding="utf-8")
    record = a_record(ANA, "anything", id="plain", session_id="monday")
    with pytest.raises(StoreCorrupt, match=r"plain\.md"):
        with_store(tmp_path, lambda store: keep(store, record))
    assert strange.read_text(encoding="utf-8") == "just notes"


def test_of_two_files_with_one_id_the_known_one_counts(tea: Record, tmp_path: Path) -> None:
    (file,) = sheets(tmp_path)
    copy = file.with_name("0-copy.md")
    copy.write_text(file.read_text(encoding="utf-8").replace("five", "noon"), encoding="utf-8")
    assert _get(tmp_path, tea.id) == [tea]
    (said,) = _broken(tmp_path)
    assert said.startswith(copy.relative_to(tmp_path).as_posix())


def test_a_file_cannot_move_a_memory_to_another_user_or_agent(tea: Record, tmp_path: Path) -> None:
    (file,) = sheets(tmp_path)
    edit(file, "user: ana", "user: ben")
    assert _get(tmp_path, tea.id) == []
    assert "another agent or user" in _broken(tmp_path)[0]
    edit(file, "user: ben", "user: ana")
    edit(file, "agent: assistant", "agent: somebody")
    assert "another agent" in _broken(tmp_path)[0]
    assert with_store(tmp_path, lambda store: store.count(everything(Scope(agent="somebody")))) == 0


def test_an_erased_memory_does_not_come_back_with_its_file(tea: Record, tmp_path: Path) -> None:
    (file,) = sheets(tmp_path)
    kept = file.read_bytes()
    assert b"five" in kept
    with_store(tmp_path, lambda store: store.write(a_change(ANA, erase=(tea.id,))))
    assert not any(b"five" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(kept)
    assert _get(tmp_path, tea.id) == []
    assert "was erased" in _broken(tmp_path)[0]


def test_a_forgotten_memory_comes_back_with_its_file(tea: Record, tmp_path: Path) -> None:
    (file,) = sheets(tmp_path)
    kept = file.read_bytes()
    with_store(tmp_path, lambda store: store.write(a_change(ANA, ending(tea))))
    assert _get(tmp_path, tea.id) == []
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(kept)
    (found,) = _get(tmp_path, tea.id)
    assert (found.content, found.version) == (tea.content, 2)


def test_git_sees_one_file_for_one_memory_and_none_of_ours(tea: Record, tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=ana", "-c", "user.email=ana@example.com")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    with_store(tmp_path, lambda store: keep(store, a_record(ANA, "the kettle is blue", id="kettle")))
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "memories")
    tracked = git("ls-files").split()
    assert tracked == sorted(sheet.relative_to(tmp_path).as_posix() for sheet in sheets(tmp_path))
    with_store(tmp_path, lambda store: store.write(a_change(ANA, revising(tea, content="tea is at six"))))
    (file,) = [sheet for sheet in sheets(tmp_path) if sheet.stem != "kettle"]
    assert git("status", "--porcelain") == f" M {file.relative_to(tmp_path).as_posix()}\n"
    changed = [line for line in git("diff", "--unified=0").splitlines() if line.startswith("+")]
    assert "+tea is at six" in changed
    assert len(changed) <= 4


def test_a_folder_cloned_without_our_files_is_the_same_store(tea: Record, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    (clone / "memories").parent.mkdir()
    (tmp_path / "memories").rename(clone / "memories")
    assert _get(clone, tea.id) == [tea]
    found = with_store(clone, lambda store: store.search(a_query(ANA, "tea", a_vector(1)), 5))
    assert ids(found) == [tea.id]


def test_two_stores_in_one_folder_see_each_other(tea: Record, tmp_path: Path) -> None:
    async def work(first: MarkdownStore) -> None:
        second = await open_store(f"markdown://{tmp_path}", space=SPACE)
        record = a_record(ANA, "said by the first")
        await first.write(a_change(ANA, beginning(record)))
        assert await second.get(ANA, [record.id]) == [record]
        await second.write(a_change(ANA, ending(record), revising(tea, content="said by the second")))
        assert [one.content for one in await first.find(everything(ANA))] == ["said by the second"]
        await second.close()

    with_store(tmp_path, work)


def test_a_link_that_leads_out_of_the_folder_is_not_read(tmp_path: Path, tea: Record) -> None:
    [file] = sheets(tmp_path)
    outside = tmp_path.parent / f"{tmp_path.name}-outside.md"
    edit(file, "tea is at five", "the vault opens with 7731")
    outside.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(outside)
    assert _get(tmp_path, tea.id) == []


def test_the_names_of_files_keep_their_underscores(tmp_path: Path) -> None:
    record = a_record(Scope(agent="my_agent"), "tea", id="mem_8f2a1c", session_id="sess_2026/a")
    with_store(tmp_path, lambda store: keep(store, record))
    assert sheets(tmp_path) == [tmp_path / "memories/default/my_agent/sess_2026%2fa/mem_8f2a1c.md"]


def test_a_folder_that_an_earlier_release_named_is_read_and_written_on(tmp_path: Path) -> None:
    old, new = (a_record(Scope(agent="my_agent"), text, id=text) for text in ("tea", "coffee"))
    with_store(tmp_path, lambda store: keep(store, old))
    shutil.move(tmp_path / "memories/default/my_agent", tmp_path / "memories/default/my_5fagent")

    async def story(store: MarkdownStore) -> set[object]:
        await keep(store, new)
        return {record.content for record in await store.get(old.scope, ["tea", "coffee"])}

    assert with_store(tmp_path, story) == {"tea", "coffee"}
    assert {file.parts[-3] for file in sheets(tmp_path)} == {"my_5fagent"}


def test_the_doctor_names_files_outside_of_the_layout(tmp_path: Path, shell: Shell) -> None:
    record = a_record(Scope(agent="agent"), "tea")
    with_store(tmp_path, lambda store: keep(store, record))
    for name in (
        "notes.md",
        "memories/loose.md",
        "memories/default/loose.md",
        "memories/default/agent/in.md",
    ):
        (tmp_path / name).write_text("tea", encoding="utf-8")
    health = with_store(tmp_path, lambda store: store.health())
    assert sorted(health["strays"]) == ["memories/default/loose.md", "memories/loose.md", "notes.md"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.md").write_text("tea", encoding="utf-8")
    seen = shell("doctor", "--json", "--store", f"markdown://{tmp_path}/other").json
    assert [one["what"] for one in seen["findings"] if "notes.md is outside" in one["what"]]
