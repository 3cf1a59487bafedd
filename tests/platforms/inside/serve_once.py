"""Serves until it is told to end, on an event loop that cannot handle signals, as that of Windows."""

import asyncio
import os
import signal
import sys
import threading
import time
import urllib.request
from typing import Any

from memorywire.cli.command import memorywire
from tests.platforms.mcp_sdk import import_mcp

PORT = int(sys.argv[1])


def refuse(*_: Any) -> None:
    raise NotImplementedError


def ask() -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz") as answer:
                print(answer.status, flush=True)
                break
        except OSError:
            time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGTERM)


import_mcp()
loop: Any = asyncio.SelectorEventLoop
loop.add_signal_handler = refuse
threading.Thread(target=ask).start()
memorywire(["serve", "--port", str(PORT), "--quiet"], standalone_mode=False)
print("ended")
