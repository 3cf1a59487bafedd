"""The figures of `make figures` keep their limits, or do not get worse where a limit is not reached yet."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.gates.source import ROOT

# Where the limit is not reached yet: what was measured last. Each may only fall; record what it falls to.
RECORDED: dict[str, float] = {}
_ROUNDS = 3


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures", Path(ROOT, "tools", "figures.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["figures"] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def test_the_source_gets_no_worse(figures: ModuleType) -> None:
    assert not _over(figures, figures.measure_source())


def test_the_paths_of_remember_and_recall_get_no_longer(figures: ModuleType) -> None:
    # A busy machine adds steps (a wait, a second look): the shortest of a few traces is the path.
    rounds = [figures.measure_paths() for _ in range(_ROUNDS)]
    assert not _over(figures, {name: min(one[name] for one in rounds) for name in rounds[0]})


def _over(figures: ModuleType, measured: dict[str, float]) -> dict[str, str]:
    """The figures over what is allowed, each beside it."""
    allowed = {name: RECORDED.get(name, limit) for name, limit in figures.LIMITS.items()}
    return {
        name: f"{value}, at most {allowed[name]}" for name, value in measured.items() if value > allowed[name]
    }


def test_a_participle_is_told_from_a_noun_or_a_verb(figures: ModuleType) -> None:
    assert all(map(figures.is_participle, ("found", "kept", "asked", "merged", "written")))
    assert not any(map(figures.is_participle, ("record", "embed", "seed", "hits", "is_live", "need")))
