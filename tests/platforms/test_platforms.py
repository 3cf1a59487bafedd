"""The default memory on other systems: without the modules that only POSIX has, and on Windows' Python."""

import socket
import subprocess
import threading
from pathlib import Path

import pytest

from memorywire.journal.recall_log import RecallBuffer, find_orphans
from tests.journal.test_recall_log import a_note
from tests.platforms.pythons import ROOT, command, environment, place

PLATFORMS = ["here", "without POSIX", pytest.param("windows", marks=pytest.mark.products)]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def _start(platform: str, home: Path, script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(platform, script, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(platform, home),
    )


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_default_memory_writes_recalls_signs_and_copies(platform: str, tmp_path: Path):
    home = tmp_path / "a home"
    backup = place(platform, home / "copy.db")
    drive = "/Z:" if platform == "windows" else ""
    folder = f"markdown://{drive}{home.as_uri().removeprefix('file://')}/notes"
    out, err = _start(platform, home, "use_memory", backup, folder).communicate()
    told = [
        "Ana prefers black tea",
        "The deployment happens on Tuesdays",
        "True",
        "Notes lie in a folder",
        "[]",
    ]
    assert out.splitlines() == told, err[-3000:]
    assert (home / "memory.db-checkpoints").stat().st_size
    assert b"\r" not in (home / "memory.db-checkpoints").read_bytes()
    assert (home / "copy.db").stat().st_size
    assert not list(home.glob("*-recalls-*"))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_lock_is_one_process_s_until_that_ends_however_it_ends(platform: str, tmp_path: Path):
    file = place(platform, tmp_path / "locked")

    def ask(seconds: str) -> tuple[subprocess.Popen[str], str]:
        process = _start(platform, tmp_path, "hold_lock", file, seconds)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    first, answer = ask("0")
    assert answer == "held"
    second, answer = ask("0.1")
    assert answer == "refused"
    second.communicate()
    first.kill()
    first.communicate()
    third, answer = ask("5")
    assert answer == "held"
    third.communicate()


def test_every_module_can_be_imported_without_posix(tmp_path: Path):
    out, err = _start("without POSIX", tmp_path, "import_all").communicate()
    assert out.splitlines() == ["imported all"], err[-3000:]


def test_a_server_without_posix_answers_and_ends_when_it_is_told_to(tmp_path: Path):
    process = _start("without POSIX", tmp_path, "serve_once", str(free_port()))
    out, err = process.communicate()
    assert (out.splitlines()[-2:], process.returncode) == (["200", "ended"], 0), err[-3000:]


def test_a_file_that_is_taken_for_an_orphan_before_it_is_locked_is_made_again(tmp_path: Path):
    path = tmp_path / "m.db-recalls-1"
    path.touch()
    (orphan,) = find_orphans(tmp_path / "m.db")
    spool = RecallBuffer(path)
    noting = threading.Thread(target=spool.add, args=(a_note("r1"),))
    noting.start()  # it opens the file that the heir holds, and waits
    noting.join(0.2)
    orphan.bury()
    noting.join()
    assert b"r1" in path.read_bytes()
    spool.close()
