"""Installs memorywire into a fresh environment and prints what it weighs and how fast it starts.

    python tools/footprint.py

Nothing is asserted: each figure stands beside the limit it should keep.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
MEGABYTE = 1_000_000
TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils", "wheel")
IMPORTS, COMMANDS = 15, 7
BIGGEST = 8
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")


def main() -> None:
    with TemporaryDirectory(prefix="memorywire-footprint-") as name:
        folder = Path(name)
        python = install(folder)
        print_sizes(next(folder.glob("venv/lib/python*/site-packages")))
        print_imports(python)
        print_commands(folder)
        print_hooks(folder, python)
        add_server(folder, python)
        total = sum(sizes(next(folder.glob("venv/lib/python*/site-packages"))).values())
        show("installed size with the server", total / MEGABYTE, "MB", 190)


def install(folder: Path) -> Path:
    """A fresh environment with what a plain install brings; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    copies = [copy(folder, name) for name in ("memorywire-minilm", "memorywire")]
    started = time.perf_counter()
    subprocess.run([python, *PIP, *copies], check=True)
    print(f"installed in {time.perf_counter() - started:.0f} s with {sys.version.split()[0]}")
    return python


def add_server(folder: Path, python: Path) -> None:
    subprocess.run([python, *PIP, copy(folder, "memorywire-server")], check=True)


def copy(folder: Path, name: str) -> Path:
    """Copy a package: building in place would leave files in the checkout, or take stale ones from it."""
    leave = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", ".venv", ".git", "tests", "*.so")
    return Path(shutil.copytree(ROOT / "packages" / name, folder / name, ignore=leave))


def sizes(packages: Path) -> dict[str, int]:
    return {
        path.name: size_on_disk(path)
        for path in packages.iterdir()
        if not any(path.name == tool or path.name.startswith(f"{tool}-") for tool in TOOLS)
    }


def print_sizes(packages: Path) -> None:
    parts = sizes(packages)
    show("installed size", sum(parts.values()) / MEGABYTE, "MB", 150)
    for name, size in sorted(parts.items(), key=lambda part: -part[1])[:BIGGEST]:
        print(f"    {size / MEGABYTE:8.1f} MB  {name}")


def size_on_disk(path: Path) -> int:
    """What the blocks of a file or folder take, as `du` counts them."""
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(file.lstat().st_blocks * 512 for file in files)


def print_imports(python: Path) -> None:
    """Importing and not importing in turn, so that a busy moment hits both."""
    bare, loaded = [], []
    for _ in range(IMPORTS):
        bare.append(seconds([python, "-c", "pass"]))
        loaded.append(seconds([python, "-c", "import memorywire"]))
    beyond = statistics.median(loaded) - statistics.median(bare)
    show("import memorywire, beyond the interpreter", 1000 * beyond, "ms", 60)
    show("    the interpreter itself", 1000 * statistics.median(bare), "ms", None)


def print_commands(folder: Path) -> None:
    command = folder / "venv" / "bin" / "memorywire"
    store = ("--store", f"sqlite:///{folder}/memory.db")
    first = [
        seconds([command, "remember", f"Ana has {n} green tea cups", *store]) for n in range(COMMANDS + 2)
    ]
    recalls = [seconds([command, "recall", "what does Ana drink from?", *store]) for _ in range(COMMANDS + 2)]
    helps = [seconds([command, "--help"]) for _ in range(COMMANDS)]
    show("memorywire remember", statistics.median(first[2:]), "s", 0.7)
    show("memorywire recall", statistics.median(recalls[2:]), "s", 0.7)
    show("memorywire --help", statistics.median(helps), "s", None)


def print_hooks(folder: Path, python: Path) -> None:
    """Each as a coding agent calls it, with a pinned memory; the model is not counted against the limit."""
    command = folder / "venv" / "bin" / "memorywire"
    env = {**os.environ, "MEMORYWIRE_HOME": str(folder / "home")}
    subprocess.run([command, "remember", "Ana drinks green tea", "--tag", "pinned"], check=True, env=env)
    log = folder / "log.jsonl"
    log.write_text('{"type": "user", "message": {"role": "user", "content": "I like tea"}}\n')
    told = {"session_id": "s", "transcript_path": str(log), "prompt": "what does Ana drink?"}
    loading = "import memorywire_minilm; memorywire_minilm.load().embed(['tea'])"
    bare = statistics.median(seconds([python, "-c", "pass"]) for _ in range(COMMANDS))
    model = statistics.median(seconds([python, "-c", loading]) for _ in range(COMMANDS)) - bare
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact"):
        call = json.dumps({"hook_event_name": event, **told})
        took = statistics.median(seconds([command, "hook"], told=call, env=env) for _ in range(COMMANDS))
        share = model if event == "UserPromptSubmit" else 0
        show(f"memorywire hook, {event}", took - share, "s", 0.3)
    show("    the embedder's model, for a prompt", model, "s", None)


def seconds(
    command: Sequence[str | Path], *, told: str | None = None, env: Mapping[str, str] | None = None
) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, input=told, env=env, text=True)
    return time.perf_counter() - started


def show(what: str, figure: float, unit: str, limit: float | None) -> None:
    beside = "" if limit is None else f"   limit {limit:g} {unit}"
    print(f"{what:45} {figure:8.2f} {unit}{beside}")


if __name__ == "__main__":
    main()
