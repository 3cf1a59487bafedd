"""Many memories at once, from a file or a pipe."""

from pathlib import Path

from tests.cli.shell import Shell


def test_plain_lines_and_objects_are_remembered(shell: Shell, tmp_path: Path):
    notes = tmp_path / "notes.txt"
    notes.write_text(
        "Ana drinks tea\n\n  Ben runs \n"
        '{"content": "Stop, then start", "type": "procedural", "tags": ["own"]}\n',
        encoding="utf-8",
    )
    done = shell("import-lines", str(notes), "--source", "notes", "--tag", "import", "--json")
    assert (done.code, done.json) == (0, {"committed": 3, "duplicate": 0, "failed": []})
    items = shell("list", "--json").json["items"]
    assert {item["content"]: (item["type"], item["tags"], item["source"]) for item in items} == {
        "Ana drinks tea": ("semantic", ["import"], "notes"),
        "Ben runs": ("semantic", ["import"], "notes"),
        "Stop, then start": ("procedural", ["own"], "notes"),
    }


def test_importing_twice_writes_once(shell: Shell):
    lines = b"Ana drinks tea\nBen runs\nAna drinks tea\n"
    assert shell("import-lines", "-", stdin=lines).out == "remembered 2, already known 1, failed 0\n"
    assert shell("import-lines", "-", stdin=lines).out == "remembered 0, already known 3, failed 0\n"


def test_bad_lines_are_named_and_the_others_are_kept(shell: Shell):
    lines = b'good\n\xff\xfe\n{"contnt": "misspelt"}\n{"broken\n{"content": ""}\nalso good\n'
    done = shell("import-lines", "-", "--json", stdin=lines)
    assert done.code == 3
    assert done.json["committed"] == 2
    assert [(fault["line"], fault["problem"]["code"]) for fault in done.json["failed"]] == [
        (2, "validation_error"),
        (3, "validation_error"),
        (4, "invalid_json"),
        (5, "validation_error"),
    ]


def test_a_missing_file_is_wrong_usage(shell: Shell):
    assert shell("import-lines", "no-such-file").code == 2
