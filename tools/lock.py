"""Writes deploy/requirements.txt: the versions and hashes of what the image installs besides our packages.

    python tools/lock.py            keeps the versions that are there, unless a package needs others
    python tools/lock.py --upgrade  takes the newest ones
    python tools/lock.py --check    only says whether each requirement of our packages is met by the file

The file holds for every system and Python that we support, and names neither an index nor an address.
Writing it needs `uv`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "deploy" / "requirements.txt"
INSTALLED = re.compile(r"/src/packages/([\w-]+)")
_PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
HEAD = (
    "# What the image installs besides our packages, with hashes; written by `python tools/lock.py`.\n"
    "# To install it yourself: `pip install --require-hashes -r`, then our packages by `--no-deps`.\n"
)


def main() -> None:
    if "--check" in sys.argv:
        unmet = check(TARGET.read_text(encoding="utf-8"))
        if unmet:
            raise SystemExit("\n".join([*unmet, "write it again: python tools/lock.py"]))
        return
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate", "--no-header"]
    command = ["uv", "pip", "compile", *options, "--no-emit-index-url", "--no-emit-find-links", "--quiet"]
    if "--upgrade" in sys.argv:
        command.append("--upgrade")
    told = "\n".join(requirements())
    done = subprocess.run(
        [*command, "--output-file", TARGET, "-"], input=told, text=True, stdout=subprocess.DEVNULL
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    text = TARGET.read_text(encoding="utf-8").removeprefix(HEAD)
    TARGET.write_text(HEAD + text, encoding="utf-8")


def requirements() -> list[str]:
    """Return what the packages in the image need from others."""
    names = INSTALLED.findall((ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8"))
    files = [ROOT / "packages" / name / "pyproject.toml" for name in names]
    projects = [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files]
    ours = {project["name"] for project in projects}
    needed = {one for project in projects for one in project["dependencies"]}
    return sorted(one for one in needed if canonicalize_name(Requirement(one).name) not in ours)


def check(text: str) -> list[str]:
    """Return the requirements that no pin of the file meets."""
    pins: dict[str, set[str]] = {}
    for name, version in _PIN.findall(text):
        pins.setdefault(canonicalize_name(name), set()).add(version)
    return [
        one
        for one in requirements()
        for requirement in (Requirement(one),)
        if not pins.get(canonicalize_name(requirement.name))
        or not all(map(requirement.specifier.contains, pins[canonicalize_name(requirement.name)]))
    ]


if __name__ == "__main__":
    main()
