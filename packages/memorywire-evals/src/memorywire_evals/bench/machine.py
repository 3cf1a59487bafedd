"""What the figures were measured on."""

import os
import platform
from pathlib import Path

import apsw
import numpy as np

import memorywire_minilm
from memorywire import __version__

_PROCESSORS = Path("/proc/cpuinfo")


def describe() -> dict[str, str | int]:
    """Machine, engines and the kernel that embeds."""
    return {
        "memorywire": __version__,
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "numpy": np.__version__,
        "embedder": f"{memorywire_minilm.MODEL} {memorywire_minilm.REVISION}",
        "kernel": memorywire_minilm.kernels()[0],
        "load": _load(),
    }


def _cpu() -> str:
    """The processor's own name where the system tells it."""
    if _PROCESSORS.is_file():
        for line in _PROCESSORS.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _load() -> str:
    """How busy the machine was before: figures from a busy one mean little."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
