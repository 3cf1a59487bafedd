"""The name of the package `memorywire_testing` in 0.1.0. Importing it gives a DeprecationWarning."""

import sys
import warnings
from importlib import import_module

from memorywire.model.text import install_hint

warnings.warn("memorywire.testing is now memorywire_testing", DeprecationWarning, 2)

_MODULES = """checks expect filters history journals optional oracle paper plugin report run samples
    scenario scopes search writes"""

for _name in _MODULES.split():
    try:
        # The same module under both names, so that there is one class of each name.
        sys.modules[f"{__name__}.{_name}"] = globals()[_name] = import_module(f"memorywire_testing.{_name}")
    except ModuleNotFoundError as error:
        if error.name == "memorywire_testing":
            reason = (
                f"memorywire.testing is the package memorywire-testing; {install_hint('memorywire-testing')}"
            )
            raise ModuleNotFoundError(reason, name=error.name) from error
        if _name != "plugin":  # which needs pytest
            raise
