"""Collects the files of the image: `python3 image_root.py ENVIRONMENT FOLDER`, in the build stage.

Takes the interpreter with its standard library, the virtual environment, and the shared libraries that
these need, each at the path that it has. Leaves out pip, tests, headers and documentation. Python files are
compiled, because the image is read-only when it runs.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

USER = 10001
LEFT_OUT = (
    *(
        "__pycache__",
        "test",
        "tests",
        "idlelib",
        "tkinter",
        "turtledemo",
        "lib2to3",
        "ensurepip",
        "pydoc_data",
    ),
    *("config-*", "pip", "pip-*", "setuptools", "setuptools-*", "pkg_resources", "_distutils_hack"),
    *("*.pyi", "*.h", "*.c", "*.a", "dist-packages", "site-packages"),
)
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")


def main(environment: Path, image: Path) -> None:
    interpreter = Path(sys.executable).resolve()
    standard = Path(sysconfig.get_path("stdlib"))
    copy(interpreter, image)
    for name in ("python3", interpreter.name):
        link(interpreter.with_name(name), interpreter, image)
    shutil.copytree(
        standard, image / standard.relative_to("/"), symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT)
    )
    ignored = shutil.ignore_patterns(*(one for one in LEFT_OUT if one != "site-packages"))
    shutil.copytree(environment, image / environment.relative_to("/"), symlinks=True, ignore=ignored)
    for library in sorted(libraries(image)):
        copy(library, image)
    for file in ("/etc/ssl/certs/ca-certificates.crt", "/etc/nsswitch.conf"):
        if Path(file).exists():
            copy(Path(file), image)
    (image / "etc" / "passwd").write_text(f"memorywire:x:{USER}:{USER}::/data:/nonexistent\n")
    (image / "etc" / "group").write_text(f"memorywire:x:{USER}:\n")
    compileall.compile_dir(image, quiet=1, stripdir=str(image))
    for folder, mode in (("data", 0o700), ("tmp", 0o1777), ("dev", 0o755), ("proc", 0o755)):
        (image / folder).mkdir()
        (image / folder).chmod(mode)
    os.chown(image / "data", USER, USER)


def copy(file: Path, image: Path) -> None:
    """Copy a file to the path that it has, and the file that it links to."""
    target = image / file.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)


def link(name: Path, interpreter: Path, image: Path) -> None:
    place = image / name.relative_to("/")
    if name != interpreter and not place.exists():
        place.symlink_to(interpreter.name)


def libraries(image: Path) -> Iterator[Path]:
    """Yield the shared libraries that the programs and modules in the image load from the system."""
    files = [path for path in image.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    for file in files:
        told = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        for found in _LIBRARY.findall(told):
            if not Path(found).is_relative_to(image):
                yield Path(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
