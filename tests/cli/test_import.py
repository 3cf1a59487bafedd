"""Many memories at once, from a file or a pipe."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import COMMAND, Shell


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


def test_a_store_that_fails_stops_the_import_with_one_message(shell: Shell):
    done = shell(
        "import-lines",
        "-",
        "--json",
        stdin=b"{bad\n" + b"".join(b"fact %d\n" % number for number in range(300)),
        MEMORYWIRE_EMBEDDER="openai+http://127.0.0.1:9/v1?model=m&dimension=8",
    )
    assert done.code == 4
    assert (done.json["committed"], len(done.json["failed"])) == (0, 1)
    assert (done.json["stopped"]["line"], done.json["stopped"]["problem"]["code"]) == (2, "embedder_failed")


def test_ctrl_c_says_what_was_kept(shell: Shell):
    with subprocess.Popen(
        [*COMMAND, "import-lines", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=shell.environment(),
    ) as process:
        process.stdin.write("".join(f"fact number {number}\n" for number in range(128)))
        process.stdin.flush()
        while shell("list", "--json").json["total"] < 128:
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, err) == (130, "")
    assert out.startswith("remembered 128, already known 0, failed 0\n")


def test_a_full_disk_stops_the_import_and_the_count_is_what_was_kept(shell: Shell):
    shell("list")
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 1500; {' '.join(COMMAND)} import-lines - --json"],
        input="".join(f"fact number {number}\n" for number in range(1500)),
        capture_output=True,
        text=True,
        env=shell.environment(),
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["failed"], done.stderr) == (4, [], "")
    assert told["stopped"]["problem"]["code"].startswith("store_")
    assert told["committed"] == shell("list", "--json").json["total"] > 0


@pytest.mark.parametrize("format_", ["markdown", "okf", "csv"])
def test_files_for_people_are_for_their_owner_alone(shell: Shell, tmp_path: Path, format_: str):
    shell("remember", "Ana likes tea")
    written = tmp_path / "written"
    shell("export", str(written), "--format", format_)
    found = [written, *written.rglob("*")]
    assert {path.stat().st_mode & 0o077 for path in found} == {0}


@pytest.mark.parametrize("format_", ["markdown", "okf"])
def test_a_file_of_a_memory_that_is_gone_is_named_when_a_folder_is_replaced(
    shell: Shell, tmp_path: Path, format_: str
):
    gone = shell("remember", "Ana likes tea", "--json").json["id"]
    shell("remember", "Ben likes coffee")
    written = str(tmp_path / "written")
    assert shell("export", written, "--format", format_, "--json").json["others"] == []
    shell("forget", gone)
    again = shell("export", written, "--format", format_, "--replace")
    assert "1 file not from this export" in again.out
    assert f"default/{gone}.md" in again.out


def test_an_approval_of_what_an_import_brought_meanwhile_loses_nothing(shell: Shell, tmp_path: Path):
    source, target = (f"sqlite:///{tmp_path}/{name}.db" for name in ("source", "target"))
    shell("remember", "Ana likes tea", "--store", source)
    shell("remember", "Wire the money to account 7", "--source", "web:x.example", "--store", source)
    bundle = str(tmp_path / "bundle.jsonl")
    assert shell("export", bundle, "--store", source).code == 0
    assert shell("import", bundle, "--store", target).code == 0
    assert shell("import", bundle, "--trusted", "--store", target).code == 0

    both = shell("review", "approve", "--all", "--yes", "--store", target)
    assert (both.code, "memory has changed" in both.err) == (3, True)
    waiting = shell("review", "list", "--store", target, "--json").json["items"]
    assert len(waiting) == 2
    for proposal in waiting:
        shell("review", "approve", proposal["id"], "--yes", "--store", target)
    words = [item["content"] for item in shell("list", "--store", target, "--json").json["items"]]
    assert sorted(words) == ["Ana likes tea", "Wire the money to account 7"]
    assert shell("audit", "verify", "--state", "--store", target).code == 0


def test_an_import_that_was_undone_says_how_to_bring_it_back(shell: Shell, tmp_path: Path):
    (tmp_path / "notes.csv").write_text("content\nAna drinks tea\n", encoding="utf-8")
    words = ("import", str(tmp_path / "notes.csv"), "--from", "csv")
    batch = shell(*words, "--json").json["batch"]
    assert "undone" not in shell(*words).out
    shell("import", "--undo", batch)
    again = shell(*words)
    assert "this import was undone, so its memories stay ended" in again.out
    [line] = [line for line in again.out.splitlines() if line.startswith("    memorywire undo ")]
    assert shell(*line.split()[1:]).code == 0
    assert "Ana drinks tea" in shell("list").out
    assert "undone" not in shell(*words).out
