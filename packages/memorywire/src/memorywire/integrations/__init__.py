"""The modules of `memorywire_frameworks` under their names of 0.1.0, and one of 0.5.0."""

import warnings
from importlib import import_module

from memorywire.model.text import install_hint

_PACKAGE = "memorywire_frameworks"


def forward(module: str, name: str) -> object:
    """Give a name of a module of `memorywire_frameworks`, with a DeprecationWarning."""
    target = f"{_PACKAGE}.{module}"
    if name.startswith("__"):  # what the import system looks for
        raise AttributeError(f"module 'memorywire.integrations.{module}' has no attribute {name!r}")
    warnings.warn(f"memorywire.integrations.{module} is now {target}", DeprecationWarning, 3)
    try:
        return getattr(import_module(target), name)
    except ModuleNotFoundError as error:
        if error.name != _PACKAGE:
            raise
        reason = f"{name} is in the package memorywire-frameworks; {install_hint('memorywire-frameworks')}"
        raise ModuleNotFoundError(reason, name=error.name) from error
