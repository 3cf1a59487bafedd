"""Imports every module of the packages that a default installation has, and prints those that cannot be."""

import importlib
import pkgutil
import signal

from tests.platforms.mcp_sdk import import_mcp

PACKAGES = ("memorywire", "memorywire_adapters", "memorywire_consolidate", "memorywire_server")
# Signals that Windows does not have.
SIGNALS = ("SIGALRM", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2")

import_mcp()
for name in SIGNALS:
    if hasattr(signal, name):
        delattr(signal, name)
count = 0
for package in PACKAGES:
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if module.name.endswith(".__main__"):
            continue
        try:
            importlib.import_module(module.name)
            count += 1
        except (ImportError, AttributeError) as error:
            print(f"{module.name}: {error}")
print("imported", "all" if count > 300 else count)
