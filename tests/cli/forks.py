"""Commands that begin with everything loaded: each is a process of its own, forked from one that waits.

A test that types fifty commands loads the house once. A fork has the arguments, environment, folder, standard
streams and exit code of a process that was started, and shares nothing that it writes.
"""

import gc
import importlib
import json
import os
import pkgutil
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from memorywire.cli import main

PIPE = 65_536
"""What a pipe takes before anybody reads."""
_ROOT = Path(__file__).parents[2]
_FLOORS = "model runtime search stores.sqlite stores.router policy journal pipeline wire app client cli"
_BESIDE = ("memorywire.sync", "nacl.signing")


class Forks:
    """The process that waits; any thread may ask it for a command."""

    def __init__(self) -> None:
        self._line, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far:
            # Its streams are pipes, as those of a command in a test are.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.forks", str(far.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[far.fileno()],
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join([str(_ROOT / "packages/memorywire/src"), str(_ROOT)])},
            )

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes
    ) -> tuple[int, bytes, bytes]:
        """The exit code, and what was written to standard output and to standard error."""
        said = json.dumps([arguments, environment, os.getcwd()])
        with (
            tempfile.TemporaryFile() as request,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            request.write(said.encode())
            request.seek(0)
            code = self._ask(stdin, [out.fileno(), err.fileno(), request.fileno()])
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    def _ask(self, stdin: bytes, files: list[int]) -> int:
        assert len(stdin) <= PIPE
        read, write = os.pipe()
        answer, ending = os.pipe()
        os.write(write, stdin)
        os.close(write)
        socket.send_fds(self._line, [b"fork"], [read, *files, ending])
        os.close(read)
        os.close(ending)
        with os.fdopen(answer) as told:
            return int(told.read())


@cache
def forks() -> Forks:
    """The one of this process, which ends when this process does."""
    return Forks()


def _wait(line: socket.socket) -> NoReturn:
    with selectors.DefaultSelector() as events:
        events.register(line, selectors.EVENT_READ)
        while True:
            for key, _ in events.select():
                if key.fileobj is not line:
                    events.unregister(key.fd)
                    _tell(key.fd, *key.data)
                    continue
                asked, streams, *_ = socket.recv_fds(line, 16, 5)
                if not asked:
                    sys.exit()
                process = os.fork()
                if not process:
                    _command(*streams)
                *own, ending = streams
                for stream in own:
                    os.close(stream)
                events.register(os.pidfd_open(process), selectors.EVENT_READ, (process, ending))


def _tell(ended: int, process: int, ending: int) -> None:
    os.close(ended)
    _, status = os.waitpid(process, 0)
    os.write(ending, str(os.waitstatus_to_exitcode(status)).encode())
    os.close(ending)


def _command(stdin: int, out: int, err: int, request: int, _: int) -> NoReturn:
    with os.fdopen(request, "rb", closefd=False) as file:
        sys.argv[1:], environment, folder = json.load(file)
    for number, stream in enumerate((stdin, out, err)):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    code = _ended()
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    sys.stdout.flush()
    sys.stderr.flush()
    # At once: to take apart all that was loaded would cost more than most commands do.
    os._exit(code)


def _ended() -> int:
    try:
        main()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    return 0


def _load() -> None:
    for module in _BESIDE:
        importlib.import_module(module)
    for floor in _FLOORS.split():
        package = importlib.import_module(f"memorywire.{floor}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    gc.freeze()  # what every fork shares is not looked through by each


if __name__ == "__main__":
    _load()
    _wait(socket.socket(fileno=int(sys.argv[1])))
