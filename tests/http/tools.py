"""Programs of the folder `tools`, as modules."""

import importlib.util
import sys
from types import ModuleType

from tests.gates.source import ROOT


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there for the module they are in
    spec.loader.exec_module(module)
    return module
