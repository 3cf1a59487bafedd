"""Builds every distribution, checks it, installs it and runs the first page of the documentation on it.

    python tools/release.py                 into dist/: wheels and source distributions, checked by twine
    python tools/release.py --build-only    stops after that

The environment for the page is new and empty; our packages come from dist/, all others from the package
index. Needs the dependency group `release`, and the root of the repository in PYTHONPATH.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.gates.pages import commands

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "start" / "first-five-minutes.md"
LEFT_OUT = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "*.so")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    wheels = build(options.dist)
    print(f"{len(wheels)} wheels in {options.dist}")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *options.dist.iterdir()], check=True)
    if not options.build_only:
        run_page(options.dist)


def build(dist: Path) -> list[Path]:
    """Build a wheel and a source distribution of each package; return the wheels."""
    shutil.rmtree(dist, ignore_errors=True)
    for project in sorted((ROOT / "packages").glob("*/pyproject.toml")):
        print(f"building {project.parent.name} ...", flush=True)
        with TemporaryDirectory() as folder:  # a copy: an earlier build leaves files that would be packed
            source = shutil.copytree(project.parent, Path(folder) / project.parent.name, ignore=LEFT_OUT)
            command = [sys.executable, "-m", "build", "--outdir", str(dist), str(source)]
            built = subprocess.run(command, capture_output=True, text=True)
            if built.returncode:
                raise SystemExit(built.stdout + built.stderr)
    return sorted(dist.glob("*.whl"))


def create_environment(folder: Path) -> Path:
    """Create an empty virtual environment; return its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def run_page(dist: Path) -> None:
    with TemporaryDirectory(prefix="memorywire-release-") as name:
        folder = Path(name)
        programs = create_environment(folder / "venv")
        install = [programs / "python", "-m", "pip", "install", "--quiet", "--find-links", dist]
        print("installing memorywire-core[server] into an empty environment ...", flush=True)
        subprocess.run([*install, "memorywire-core[server]"], check=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("MEMORYWIRE_")}
        environment = kept | {
            "MEMORYWIRE_HOME": str(folder / "home"),
            "PATH": f"{programs}{os.pathsep}{kept['PATH']}",
        }
        for command in commands(PAGE.read_text(encoding="utf-8"), str(programs / "python")):
            subprocess.run(command, check=True, cwd=folder, env=environment)
    print(f"every example of {PAGE.relative_to(ROOT)} ran on the wheels")


if __name__ == "__main__":
    main()
