"""Builds the image of deploy/Containerfile without a daemon, measures it and runs the first page on it.

    python tools/container.py                     on a base that Debian's packages make
    python tools/container.py --base IMAGE        on an image that can be fetched

`buildah` builds with chroot isolation, as root; Debian's packages `buildah` and `mmdebstrap` are installed
where they are missing. The result is started as the user of the image, without capabilities, its root
mounted read-only, in namespaces of its own for mounts and the network: what an engine does, less the
namespace of processes. Needs the root of the repository in PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.gates.pages import commands

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "start" / "first-five-minutes.md"
LIMIT = 250
# Where this machine has its package index and certificates: a build needs them, the image does not get them.
OF_THE_MACHINE = ("/etc/pip.conf", "/root/.config/pip", "/opt/pypi", "/opt/pypi-more", "/opt/wheels")
CERTIFICATES = "/etc/ssl/certs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--base", help="an image with Python and apt; without it, one is made of packages")
    options = parser.parse_args()
    if os.geteuid():
        raise SystemExit("buildah needs root for the isolation by chroot: sudo env PYTHONPATH=. python ...")
    for command, *others in (("buildah",), ("mmdebstrap", "debian-archive-keyring")):
        find = [ROOT / "scripts" / "debian-command", command, command, *others]
        subprocess.run(find, check=True, stdout=subprocess.DEVNULL)
    with TemporaryDirectory(prefix="memorywire-container-", dir="/var/tmp") as name:
        folder = Path(name)
        buildah = Buildah(folder)
        base = options.base or buildah.make_base(folder / "base")
        image = buildah.build(base)
        with buildah.mounted(image) as root:
            megabytes = sum(path.lstat().st_size for path in root.rglob("*") if not path.is_dir()) / 1_000_000
            print(f"image: {megabytes:.0f} MB unpacked, limit {LIMIT} MB", flush=True)
            if megabytes > LIMIT:
                raise SystemExit("the image is too large")
            container = Container(root, folder, buildah.settings(image))
            container.check_rights()
            container.run_page()
            container.run_server()


class Buildah:
    """buildah with a storage of its own, without a daemon."""

    def __init__(self, folder: Path) -> None:
        where = ("--root", str(folder / "storage"), "--runroot", str(folder / "run"))
        self.command = ("buildah", "--storage-driver", "vfs", *where)

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run([*self.command, *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        if done.returncode:
            raise SystemExit(f"buildah {arguments[0]} failed")
        return done.stdout.strip()

    def make_base(self, folder: Path) -> str:
        """Make a base of Debian's packages, in place of the one in the Containerfile, which is fetched."""
        folder.mkdir()
        packages = "python3,python3-venv,ca-certificates"
        print("making a base of Debian's packages ...", flush=True)
        make = ("mmdebstrap", "--quiet", "--variant=apt", f"--include={packages}", "trixie")
        subprocess.run([*make, folder / "root.tar"], check=True)
        (folder / "Containerfile").write_text("FROM scratch\nADD root.tar /\n", encoding="utf-8")
        self("build", "--isolation", "chroot", "--tag", "localhost/memorywire-base", str(folder))
        (folder / "root.tar").unlink()
        return "localhost/memorywire-base"

    def build(self, base: str) -> str:
        mounts = [option for path in OF_THE_MACHINE if Path(path).exists() for option in _volume(path, path)]
        mounts += _volume(CERTIFICATES, CERTIFICATES)
        print("building deploy/Containerfile ...", flush=True)
        options = ("--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={base}", *mounts)
        self("build", *options, "--file", "deploy/Containerfile", "--tag", "localhost/memorywire", ".")
        return "localhost/memorywire"

    def settings(self, image: str) -> dict[str, Any]:
        return json.loads(self("inspect", "--type", "image", image))["Docker"]["config"]

    @contextmanager
    def mounted(self, image: str) -> Iterator[Path]:
        name = self("from", image)
        try:
            yield Path(self("mount", name))
        finally:
            self("rm", name)


def _volume(source: str, target: str) -> list[str]:
    return ["--volume", f"{source}:{target}:ro"]


_ENTER = """set -e
root=$1 data=$2; shift 2
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$data" "$root/data"
mount -o remount,ro,bind "$root"
exec "$@"
"""
# The image has no programs for this: its own Python, still root, brings the loopback up and gives all up.
_DROP = """
import ctypes, fcntl, os, socket, struct, sys
user, group = map(int, sys.argv[1:3])
with socket.socket() as one:
    fcntl.ioctl(one, 0x8914, struct.pack("16sh14x", b"lo", 1))
libc = ctypes.CDLL(None)
for number in range(64):
    libc.prctl(24, number, 0, 0, 0)
libc.prctl(38, 1, 0, 0, 0)
os.setgroups([]); os.setgid(group); os.setuid(user); os.chdir("/")
os.execvp(sys.argv[3], sys.argv[3:])
"""
_RIGHTS = """
import os
names = ("CapEff", "CapBnd", "NoNewPrivs")
told = [line.split() for line in open("/proc/self/status") if line.startswith(names)]
print("user", os.getuid(), *(" ".join(line) for line in told))
open("/data/file", "w").close()
try:
    open("/opt/file", "w")
except OSError as error:
    print(error)
else:
    raise SystemExit("the root can be written")
"""
_CLIENT = """
import json, sys, urllib.request
def call(path, body):
    head = {"Content-Type": "application/json", "Authorization": "Bearer " + sys.argv[1]}
    address = "http://127.0.0.1:8377/v0/" + path
    request = urllib.request.Request(address, json.dumps(body).encode(), head)
    return json.load(urllib.request.urlopen(request))
call("remember", {"agent_id": "a", "type": "semantic", "content": "Ana prefers green tea to coffee"})
found = call("recall", {"agent_id": "a", "query": "what does Ana like to drink?"})
print(found["results"][0]["content"])
"""


class Container:
    """Starts programs in the image as an engine would: its user, its variables, a root that is read-only."""

    def __init__(self, root: Path, folder: Path, settings: Mapping[str, Any]) -> None:
        self.root, self.folder = root, folder
        self.user, self.group = settings["User"].split(":")
        self.variables: list[str] = settings["Env"]
        self.health: list[str] = settings["Healthcheck"]["Test"][1:]
        self.start: list[str] = settings["Entrypoint"]
        self.usual: list[str] = settings["Cmd"]

    def make_volume(self, name: str) -> Path:
        volume = self.folder / name
        volume.mkdir(mode=0o700)
        os.chown(volume, int(self.user), int(self.group))
        return volume

    def command(self, volume: Path, *program: str) -> list[str]:
        """Return how to run a program in the image, with a volume for /data."""
        spaces = ("unshare", "--mount", "--net", "--propagation", "private")
        return [*spaces, "sh", "-c", _ENTER, "sh", str(self.root), str(volume), *self._inside(*program)]

    def beside(self, server: int, *program: str) -> list[str]:
        """Return how to run a program in the namespaces of a process that runs in the image."""
        return ["nsenter", "--target", str(server), "--mount", "--net", *self._inside(*program)]

    def _inside(self, *program: str) -> list[str]:
        chroot = shutil.which("chroot") or "/usr/sbin/chroot"
        python = "/opt/memorywire/bin/python"
        return [
            *("env", "-i", *self.variables, chroot, str(self.root)),
            *(python, "-c", _DROP, self.user, self.group, *program),
        ]

    def check_rights(self) -> None:
        """Print who runs, and see that neither the root can be written nor a right be had."""
        subprocess.run(self.command(self.make_volume("rights"), "python", "-c", _RIGHTS), check=True)

    def run_page(self) -> None:
        """Run the examples of the first page: `memorywire` and Python are those of the image."""
        volume, programs = self.make_volume("page"), self.folder / "bin"
        programs.mkdir()
        for name in ("memorywire", "python"):
            line = shlex.join(self.command(volume, name))
            (programs / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
            (programs / name).chmod(0o755)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        for command in commands(PAGE.read_text(encoding="utf-8"), str(programs / "python")):
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        print(f"every example of {PAGE.relative_to(ROOT)} ran in the image", flush=True)

    def run_server(self) -> None:
        """Start what the image starts; ask its health check, store and recall a memory, and end it."""
        volume = self.make_volume("served")
        refused = subprocess.run(self.command(volume, *self.start, *self.usual), capture_output=True)
        if refused.returncode != 2:
            raise SystemExit("a server that is open to all started without an operator")
        add = ("operator", "add", "root", "--role", "admin", "--tenants", "*", "--json")
        told = subprocess.run(self.command(volume, *self.start, *add), check=True, stdout=subprocess.PIPE)
        server = subprocess.Popen(self.command(volume, *self.start, *self.usual), stderr=subprocess.DEVNULL)
        try:
            for _ in range(120):
                time.sleep(1)
                healthy = subprocess.run(self.beside(server.pid, *self.health), capture_output=True)
                if healthy.returncode == 0:
                    break
            else:
                raise SystemExit("the health check never passed")
            print("healthy", flush=True)
            token = json.loads(told.stdout)["token"]
            subprocess.run(self.beside(server.pid, "python", "-c", _CLIENT, token), check=True)
        finally:
            server.send_signal(signal.SIGTERM)
            print("ended by SIGTERM with", server.wait(60))


if __name__ == "__main__":
    main()
