"""A real PgBouncer in transaction mode in front of a real server."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import psycopg

from tests.gates.source import ROOT
from tests.postgres.desk import Server

_PORT = 6432
_CONFIGURATION = """
[databases]
{database} = host={host} {port} dbname={database} user={user}
[pgbouncer]
listen_addr =
listen_port = {own_port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 4
logfile = {folder}/log
pidfile = {folder}/pid
"""


@contextmanager
def pooled(server: Server) -> Iterator[Server]:
    """The same server through a pooler that gives every transaction another of four connections."""
    folder = Path(f"/tmp/memorywire-pgbouncer-{os.getpid()}")
    folder.mkdir()
    parts = urlsplit(server.dsn)
    options = dict(parse_qsl(parts.query))
    database = parts.path.strip("/") or "postgres"
    (folder / "pgbouncer.ini").write_text(
        _CONFIGURATION.format(
            database=database,
            host=options.get("host", parts.hostname),
            port=f"port={parts.port}" if parts.port else "",
            user=parts.username or "postgres",
            own_port=_PORT,
            folder=folder,
        )
    )
    program = subprocess.run([ROOT / "scripts" / "pgbouncer"], stdout=subprocess.PIPE, text=True, check=True)
    command = [program.stdout.strip(), str(folder / "pgbouncer.ini")]
    if os.geteuid() == 0:  # it refuses to run as root
        shutil.chown(folder, "nobody")
        command = ["setpriv", "--reuid=nobody", "--clear-groups", *command]
    process = subprocess.Popen(command, stdout=sys.stderr)
    try:
        dsn = f"postgresql://{parts.username or 'postgres'}@/{database}?host={folder}&port={_PORT}"
        _wait_for(dsn)
        yield Server(dsn)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _wait_for(dsn: str) -> None:
    while True:
        try:
            psycopg.connect(dsn).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
