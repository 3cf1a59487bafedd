"""The doctor says what is installed, where the data is, and what would be fixed."""

import subprocess
import sys
from pathlib import Path

import apsw

import memorywire_minilm
from tests.cli.shell import COMMAND, Shell, needs_mounts


def test_a_store_that_is_not_there_yet_is_not_made(shell: Shell):
    done = shell("doctor")
    assert done.code == 0
    assert "does not exist yet" in done.out
    assert not shell.home.exists()


def test_a_healthy_installation_is_described(shell: Shell):
    shell.remember("Ana drinks tea")
    seen = shell("doctor", "--json").json
    [store] = seen["stores"]
    assert (seen["ok"], seen["findings"]) == (True, [])
    assert seen["sqlite"]["safe"] is True
    assert seen["embedder"]["kernel"] == memorywire_minilm.kernels()[0]
    assert Path(store["path"]) == shell.home / "memory.db"
    assert (store["integrity"], store["mode"], store["records"]) == ("ok", "0600", 1)


def test_a_slow_kernel_is_named_with_what_is_faster(shell: Shell):
    done = shell("doctor", MEMORYWIRE_EMBEDDER="minilm?kernel=numpy")
    assert "kernel numpy" in done.out
    assert "memorywire-minilm[onnx]" in done.out


def test_a_file_others_can_read_is_advice_with_its_fix(shell: Shell):
    shell.remember("Ana drinks tea")
    file = shell.home / "memory.db"
    file.chmod(0o644)
    done = shell("doctor", "--json")
    assert done.code == 0
    assert [finding["fix"] for finding in done.json["findings"]] == [f"chmod 600 {file}"]


def test_a_damaged_file_is_not_healthy(shell: Shell):
    shell.remember("Ana drinks tea")
    file = shell.home / "memory.db"
    damaged = bytearray(file.read_bytes())
    damaged[4096:] = b"\xa5" * (len(damaged) - 4096)
    file.write_bytes(damaged)
    done = shell("doctor")
    assert done.code == 4
    assert "not healthy" in done.out


def test_a_file_of_another_embedding_space_is_not_healthy(shell: Shell):
    shell.remember("Ana drinks tea")
    other = "openai+http://127.0.0.1:9/v1?model=m&dimension=8"
    done = shell("doctor", "--json", MEMORYWIRE_EMBEDDER=other)
    codes = {store["problem"]["code"] for store in done.json["stores"]}
    assert (done.code, codes) == (4, {"space_mismatch"})


def test_a_file_that_somebody_wrote_and_nobody_reads_is_named(shell: Shell, tmp_path: Path):
    where = ("--store", f"markdown://{tmp_path}/notes")
    shell.remember("Ana drinks tea", *where)
    plain = tmp_path / "notes" / "memories" / "default" / "default" / "kettle.md"
    plain.write_text("The kettle is blue.\n", encoding="utf-8")
    done = shell("doctor", *where)
    assert (done.code, done.out.splitlines()[-1]) == (0, "healthy")
    [advice] = [line for line in done.out.splitlines() if line.startswith("advice")]
    assert "memories/default/default/kettle.md is not read: there is no front matter" in advice
    assert "{'file'" not in done.out
    plain.write_text("---\n---\nThe kettle is blue.\n", encoding="utf-8")
    assert "advice" not in shell("doctor", *where).out
    assert "The kettle is blue." in shell("list", *where).out


def test_passwords_in_a_url_are_not_shown(shell: Shell):
    done = shell("doctor", "--store", "postgresql://ana:secret@db/memories")
    assert done.code == 4
    assert "secret" not in done.out + done.err


@needs_mounts
def test_a_disk_without_room_or_that_cannot_be_written_is_not_healthy(shell: Shell):
    shell.home.mkdir()
    doctor = " ".join([*COMMAND, "doctor"])
    reader = (  # one that ends without closing, so that the file can still be read afterwards
        f"import os, sqlite3; db = sqlite3.connect('{shell.home}/memory.db');"
        "db.execute('SELECT 1 FROM sqlite_master').fetchall(); os._exit(0)"
    )
    script = (
        f"mount -t tmpfs -o size=4m tmpfs {shell.home} && {' '.join(COMMAND)} remember tea > /dev/null;"
        f'{doctor}; {sys.executable} -c "{reader}"; mount -o remount,ro {shell.home}; {doctor}'
    )
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, env=shell.environment())
    full, sealed, _ = done.stdout.split("not healthy")
    assert "KiB are free" in full
    assert "is read-only" in sealed


def test_a_variable_that_is_nearly_a_setting_is_advice(shell: Shell):
    asked = {"MEMORYWIRE_SOTRE": "memory://", "MEMORYWIRE_READER_KEY": "k", "MEMORYWIRE_SERVICE_HOST": "h"}
    told = shell("doctor", "--json", **asked).json
    (finding,) = told["findings"]
    assert (finding["what"], finding["fix"]) == (
        "MEMORYWIRE_SOTRE is not a setting and has no effect",
        "did you mean MEMORYWIRE_STORE?",
    )
    assert told["ok"]
    assert shell("doctor", "--json").json["findings"] == []


def _kept_words(file: Path) -> list[object]:
    db = apsw.Connection(str(file))
    try:
        return db.execute("SELECT length, terms FROM version ORDER BY position").fetchall()
    finally:
        db.close()


def test_what_an_earlier_release_wrote_is_advice_and_one_command_indexes_it_anew(shell: Shell):
    for fact in ("Ana drinks tea", "Ben: where is the camera?"):
        shell.remember(fact)
    file = shell.home / "memory.db"
    right = _kept_words(file)
    db = apsw.Connection(str(file))
    db.execute("UPDATE version SET terms = x'', length = 0; DELETE FROM meta WHERE key = 'words'")
    db.close()
    [found] = shell("doctor", "--json").json["findings"]
    assert found["serious"] is False
    assert found["fix"].startswith("memorywire reembed")
    [done] = shell("reembed", "--json").json["stores"]
    assert (done["reindexed"], done["reembedded"]) == (2, 0)
    assert _kept_words(file) == right
    assert shell("doctor", "--json").json["findings"] == []
    assert "nothing to do" in shell("reembed").out


def test_another_product_with_the_same_import_is_named(shell: Shell, tmp_path: Path):
    info = tmp_path / "memorywire-0.5.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: memorywire\nVersion: 0.5.0\n")
    (info / "RECORD").write_text("memorywire/__init__.py,,\n")
    path = f"{tmp_path}:{shell.environment()['PYTHONPATH']}"
    done = shell("doctor", PYTHONPATH=path)
    assert done.code == 4
    [problem] = [line for line in done.out.splitlines() if line.startswith("problem")]
    assert "memorywire 0.5.0 is another product" in problem
    (info / "RECORD").write_text("another/__init__.py,,\n")
    assert shell("doctor", PYTHONPATH=path).code == 0
